//! Small files that are made, looked at, renamed and removed.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use super::{Phase, Work};

pub const PHASE: Phase = Phase {
    name: "metadata",
    resource: "names and attributes of files: the file system's own locks and journal, without its disk",
    unit: "files",
    constant_ns: 0,
    prepare,
};

struct Metadata {
    from: PathBuf,
    to: PathBuf,
}

fn prepare(place: &Path) -> io::Result<Box<dyn Work>> {
    Ok(Box::new(Metadata { from: place.join("made"), to: place.join("renamed") }))
}

impl Work for Metadata {
    fn run(&mut self, size: u64) -> io::Result<()> {
        (0..size).try_for_each(|_| {
            File::create_new(&self.from)?;
            fs::metadata(&self.from)?;
            fs::rename(&self.from, &self.to)?;
            fs::remove_file(&self.to)
        })
    }
}
