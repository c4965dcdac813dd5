//! The raw samples of a run inside its report: as many as fit, as exactly as fits.

mod pack;
mod read;
mod resolution;

use std::io;
use std::path::Path;

use netfathom_model::record::{Measurement, Record};
use serde::Serialize;

use crate::store::SAMPLES_FILE;
use pack::Packed;
use read::Stream;

/// Most samples that a report carries; of more every n-th is taken.
const MOST: u64 = 1_000_000;

/// What a report has of the raw samples.
#[derive(Default, Serialize)]
pub struct Samples {
    /// Rows of the file.
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
    /// Whether the directory of a run has any.
    pub fn are_in(record: &Record, dir: &Path) -> bool {
        matches!(record.measurement, Measurement::Stack(_))
            && dir.join(SAMPLES_FILE).symlink_metadata().is_ok()
    }

    /// Those in the directory of a run that has some. `room_bytes` is how long the text that
    /// carries them should be at most.
    ///
    /// # Errors
    /// Where they cannot be squeezed. A file that cannot be read is no error: the report says why.
    pub fn of(record: &Record, dir: &Path, room_bytes: usize) -> io::Result<Self> {
        let path = dir.join(SAMPLES_FILE);
        let stream = match &record.measurement {
            // A link may lead anywhere, and a report is given away.
            _ if !path.symlink_metadata()?.is_file() => Err("it is no regular file".into()),
            Measurement::Stack(stack) => read::stream(&path, stack, MOST),
            _ => Err("no other measurement than stack keeps any".into()),
        };
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
