//! A file's data, written and read through the page cache.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

use netfathom_sys::directory::Directory;
use netfathom_sys::splice::memory_file;

use super::{Phase, PhaseWork};

const FILE_BYTES: u64 = 32 << 20;
/// Bytes of a unit: one call each to write and to read.
const BLOCK_BYTES: usize = 64 << 10;

pub const PHASE: Phase = Phase {
    name: "data",
    resource: "copying file data to and from the page cache, no disk",
    unit: "blocks of 64 KiB",
    constant_ns: 0,
    prepare,
};

struct Data {
    file: File,
    block: Vec<u8>,
    at: u64,
}

/// A file in memory: one on a disk is written to it now and then, and who writes to it meanwhile waits for the disk.
fn prepare(_place: &Directory) -> io::Result<Box<dyn PhaseWork>> {
    let mut data = Data { file: memory_file(&[])?, block: vec![0x5a; BLOCK_BYTES], at: 0 };
    // The first to write has the system find a place for it.
    data.run(FILE_BYTES / BLOCK_BYTES as u64)?;
    Ok(Box::new(data))
}

impl PhaseWork for Data {
    fn run(&mut self, size: u64) -> io::Result<()> {
        (0..size).try_for_each(|_| {
            self.file.write_all_at(&self.block, self.at)?;
            self.file.read_exact_at(&mut self.block, self.at)?;
            self.at = (self.at + BLOCK_BYTES as u64) % FILE_BYTES;
            Ok(())
        })
    }
}
