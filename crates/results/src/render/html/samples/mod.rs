//! The raw samples of a run inside its report: as many as fit, as exactly as fits.

mod pack;
mod read;
mod resolution;

use std::io;

use netfathom_model::record::Record;
use netfathom_sys::directory::Directory;
use serde::Serialize;

use crate::quantity::figures;
use crate::store::SAMPLES_FILE;
use pack::Packed;
use read::Stream;

/// Most samples that a report carries; of more every n-th is taken.
const MOST: u64 = 1_000_000;

#[derive(Default, Serialize)]
pub struct Samples {
    rows: u64,
    /// Every how manieth row is here.
    every: u64,
    /// Rows that have no time by which they could be placed.
    unplaced: u64,
    /// Why nothing is here though there is a file.
    unreadable: Option<String>,
    packed: Option<Packed>,
}

impl Samples {
    pub fn are_in(record: &Record, run: &Directory) -> bool {
        figures(&record.measurement).sampled().is_some() && run.holds(SAMPLES_FILE)
    }

    /// Those in the directory of a run that has some. `room_bytes` is how long the text that
    /// carries them should be at most.
    ///
    /// # Errors
    /// Where they cannot be squeezed. A file that cannot be read is no error: the report says why.
    pub fn of(record: &Record, run: &Directory, room_bytes: usize) -> io::Result<Self> {
        // A link may lead anywhere, and a report is given away.
        let file = run.plain_file(SAMPLES_FILE).map_err(|e| e.to_string());
        let stream = file.and_then(|file| {
            let of = figures(&record.measurement).sampled();
            read::stream(file, of.ok_or("its measurement keeps none")?, MOST)
        });
        Ok(match stream {
            Ok(Stream { rows, every, unplaced, trials }) => {
                let packed = Packed::of(&trials, room_bytes)?;
                Self { rows, every, unplaced, unreadable: None, packed }
            }
            Err(why) => Self { unreadable: Some(why), ..Self::default() },
        })
    }

    /// The packed samples as text; empty where there are none.
    pub fn text(&self) -> &str {
        self.packed.as_ref().map_or("", |packed| &packed.text)
    }
}
