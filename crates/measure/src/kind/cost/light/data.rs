//! A file's data, written and read through the page cache.

use std::io;
use std::os::unix::fs::FileExt;

use netfathom_sys::directory::Directory;
use netfathom_sys::splice::memory_file;

use super::{Phase, Work};

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

/// A file in memory: one on a disk is written to it now and then, and who writes to it meanwhile waits for the disk.
fn prepare(_place: &Directory) -> io::Result<Work> {
    let (file, mut block, mut at) = (memory_file(&[])?, vec![0x5a; BLOCK_BYTES], 0);
    let mut work = move |size| {
        (0..size).try_for_each(|_| {
            file.write_all_at(&block, at)?;
            file.read_exact_at(&mut block, at)?;
            at = (at + BLOCK_BYTES as u64) % FILE_BYTES;
            Ok(())
        })
    };
    // The first to write has the system find a place for it.
    work(FILE_BYTES / BLOCK_BYTES as u64)?;
    Ok(Box::new(work))
}
