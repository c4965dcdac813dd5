//! Names of a file that are made, looked at, renamed and removed.
//!
//! The file itself stays (they are links to it): ext4 does not use the place of a removed file again
//! for some seconds, and looks for another the longer the more were removed, so that the same work
//! would take several times as long on one run as on the next.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use super::{Phase, Work};

pub const PHASE: Phase = Phase {
    name: "metadata",
    resource: "names and attributes of files: the file system's own locks and journal, without its disk",
    unit: "names",
    constant_ns: 0,
    prepare,
};

struct Metadata {
    file: PathBuf,
    from: PathBuf,
    to: PathBuf,
}

fn prepare(place: &Path) -> io::Result<Box<dyn Work>> {
    let file = place.join("file");
    File::create_new(&file)?;
    Ok(Box::new(Metadata { file, from: place.join("made"), to: place.join("renamed") }))
}

impl Work for Metadata {
    fn run(&mut self, size: u64) -> io::Result<()> {
        (0..size).try_for_each(|_| {
            fs::hard_link(&self.file, &self.from)?;
            fs::metadata(&self.from)?;
            fs::rename(&self.from, &self.to)?;
            fs::remove_file(&self.to)
        })
    }
}
