//! Why there is no tree.

use std::io;
use std::path::PathBuf;

use netfathom_sys::file::Room;

use super::{FEWEST_ENTRIES, MOST_ENTRIES, Shape};

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
        room: Room,
    },
    #[error("cannot make or read the tree at {}: {source}{}", .path.display(), remedy(.source))]
    Refused { path: PathBuf, source: io::Error },
    #[error("the tree was not finished: it was broken off")]
    Stopped,
}

fn room_text(room: &Room) -> String {
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
