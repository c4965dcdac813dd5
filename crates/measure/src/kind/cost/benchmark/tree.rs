//! A tree of files like a source tree, for `tar` to read. Some of the files are planted: their opening
//! can be observed from outside (Qian and Wang 2006 planted six into 12,688 entries of about 187 MB).

use std::fs::{self, File};
use std::io::{self, Write};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use netfathom_model::random::SplitMix64;
use netfathom_sys::{file, page_cache};

use super::super::workplace::{self, Workplace};

mod content;
mod layout;

use content::Pool;
use layout::Entry;

pub const MARKS: usize = 6;
/// The fewest entries that have room for the marks.
pub const FEWEST_ENTRIES: u32 = 60;
/// The most: what a run can make in bearable time.
pub const MOST_ENTRIES: u32 = 10_000_000;
/// Files that [`Tree::resident_share`] looks at.
const SAMPLE: usize = 512;

/// How big a tree is, and what it is drawn from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Files and directories, without the root, from [`FEWEST_ENTRIES`] to [`MOST_ENTRIES`].
    pub entries: u32,
    /// Bytes of all files; at least a hundred an entry.
    pub bytes: u64,
    /// The same tree each time.
    pub seed: u64,
    /// Whether marks lie dense at the beginning; a thousand entries at least then.
    pub early: bool,
}

/// Why there is no tree.
#[derive(Debug, thiserror::Error)]
pub enum TreeError {
    #[error("no tree has {} entries of {} bytes: choose {FEWEST_ENTRIES} to {MOST_ENTRIES} entries with 100 bytes each or more", .0.entries, .0.bytes)]
    Shape(Shape),
    #[error("no room for the tree in {}: it takes {needed_bytes} bytes and {entries} files and directories, and there is room for {}; free some space, choose another directory or a smaller tree", .path.display(), room_text(.room))]
    NoRoom {
        path: PathBuf,
        /// What it takes, in whole blocks.
        needed_bytes: u64,
        entries: u64,
        room: file::Room,
    },
    #[error("cannot make or read the tree at {}: {source}{}", .path.display(), remedy(.source))]
    Refused { path: PathBuf, source: io::Error },
    #[error("the tree was not finished: it was broken off")]
    Stopped,
}

/// A tree on a disk, removed when it is dropped.
#[derive(Debug)]
pub struct Tree {
    place: Workplace,
    shape: Shape,
    entries: Vec<Entry>,
}

impl Tree {
    /// Makes a tree in a directory of its own below `parent`, and writes it to the disk, so that no
    /// run has to. Trees that killed runs left there are removed first.
    ///
    /// `progress` hears how many bytes are written, and may break off.
    ///
    /// # Errors
    /// When there is not room enough, or the disk refuses: nothing stays then.
    pub fn create(
        parent: &Path,
        shape: &Shape,
        progress: &mut dyn FnMut(u64) -> ControlFlow<()>,
    ) -> Result<Self, TreeError> {
        let least_bytes = 100 * u64::from(shape.entries);
        if !(FEWEST_ENTRIES..=MOST_ENTRIES).contains(&shape.entries) || shape.bytes < least_bytes {
            return Err(TreeError::Shape(*shape));
        }
        let refused = |source| TreeError::Refused { path: parent.to_owned(), source };
        let place = Workplace::create(parent, workplace::TREE).map_err(refused)?;
        let tree = Self { entries: layout::entries(shape), shape: *shape, place };
        tree.check_room(&file::room(parent).map_err(refused)?, parent)?;
        tree.write(progress)?;
        tree.settle()?;
        Ok(tree)
    }

    fn check_room(&self, room: &file::Room, parent: &Path) -> Result<(), TreeError> {
        // A directory takes a block, as a file's end does.
        let blocks = |entry: &Entry| entry.bytes.unwrap_or(1).div_ceil(room.block_bytes.max(1));
        let needed_bytes = self.entries.iter().map(blocks).sum::<u64>() * room.block_bytes;
        let entries = self.entries.len() as u64;
        let full = needed_bytes > room.free_bytes || room.free_entries.is_some_and(|free| entries > free);
        if !full {
            return Ok(());
        }
        Err(TreeError::NoRoom { path: parent.to_owned(), needed_bytes, entries, room: *room })
    }

    fn write(&self, progress: &mut dyn FnMut(u64) -> ControlFlow<()>) -> Result<(), TreeError> {
        let pool = Pool::new(self.shape.seed);
        let mut random = SplitMix64::new(self.shape.seed.rotate_left(32));
        let (mut written, inside) = (0, self.place.directory().through());
        for entry in &self.entries {
            let path = inside.join(&entry.path);
            let made = match entry.bytes {
                None => fs::create_dir(&path),
                Some(bytes) => write_file(&path, pool.pieces(bytes, &mut random)),
            };
            made.map_err(|source| TreeError::Refused { path: self.root().join(&entry.path), source })?;
            written += entry.bytes.unwrap_or(0);
            if progress(written).is_break() {
                return Err(TreeError::Stopped);
            }
        }
        Ok(())
    }

    /// Has the disk take what was written, and reads a byte of each file: the file system may note
    /// when a file was first read, which is not to fall into a run.
    fn settle(&self) -> Result<(), TreeError> {
        self.each_file(|file| page_cache::write_back(file, false))?;
        self.each_file(|file| page_cache::write_back(file, true))?;
        self.each_file(|mut file| io::Read::read(&mut file, &mut [0]).map(drop))
    }

    fn each_file(&self, act: impl Fn(&File) -> io::Result<()>) -> Result<(), TreeError> {
        self.files().try_for_each(|(path, _)| {
            let done = File::open(&path).and_then(|file| act(&file));
            done.map_err(|source| TreeError::Refused { path, source })
        })
    }

    fn files(&self) -> impl Iterator<Item = (PathBuf, u64)> {
        self.entries.iter().filter_map(|entry| Some((self.root().join(&entry.path), entry.bytes?)))
    }

    pub fn root(&self) -> &Path {
        self.place.path()
    }

    /// The planted files, in the order in which `tar --sort=name` opens them.
    pub fn marks(&self) -> Vec<PathBuf> {
        self.files().map(|(path, _)| path).filter(|path| layout::is_mark(path)).collect()
    }

    /// Reads all of it, so that as much of it lies in memory as the machine has room for.
    pub fn warm(&self) -> Result<(), TreeError> {
        self.each_file(|mut file| io::copy(&mut file, &mut io::sink()).map(drop))
    }

    /// Takes the files' data out of memory; names, sizes and owners stay in it, as only root could
    /// drop those, and everybody else's with them. A file system in memory keeps the data as well.
    pub fn cold(&self) -> Result<(), TreeError> {
        self.each_file(|file| page_cache::write_back(file, true))?;
        self.each_file(page_cache::forget)
    }

    /// The share of the files' pages that lies in memory, of some 500 files spread over the order.
    pub fn resident_share(&self) -> Result<f64, TreeError> {
        let step = (self.entries.len() / SAMPLE).max(1);
        let (mut resident, mut pages) = (0, 0);
        for (path, _) in self.files().step_by(step) {
            let found = File::open(&path).and_then(|file| page_cache::residency(&file));
            let found = found.map_err(|source| TreeError::Refused { path, source })?;
            resident += found.resident_pages;
            pages += found.pages;
        }
        Ok(resident as f64 / pages as f64)
    }
}

fn write_file<'a>(path: &Path, pieces: impl Iterator<Item = &'a [u8]>) -> io::Result<()> {
    let mut file = File::create_new(path)?;
    pieces.into_iter().try_for_each(|piece| file.write_all(piece))
}

fn room_text(room: &file::Room) -> String {
    let entries = room.free_entries.map_or(String::new(), |free| format!(" and {free}"));
    format!("{} bytes{entries}", room.free_bytes)
}

fn remedy(source: &io::Error) -> &'static str {
    match source.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
            "; free some space, choose another directory or a smaller tree"
        }
        io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem | io::ErrorKind::NotFound => {
            "; choose a directory that you may write to"
        }
        _ => "",
    }
}

#[cfg(test)]
mod tests;
