//! Names of a file that are made, looked at, renamed and removed.
//!
//! The file itself stays (they are links to it): ext4 does not use the place of a removed file again
//! for some seconds, and looks for another the longer the more were removed, so that the same work
//! would take several times as long on one run as on the next.

use std::io;

use netfathom_sys::directory::Directory;

use super::{Phase, Work};

pub const PHASE: Phase = Phase {
    name: "metadata",
    resource: "names and attributes of files: locks and journal of the file system",
    unit: "names",
    constant_ns: 0,
    prepare,
};

fn prepare(place: &Directory) -> io::Result<Work> {
    place.create_new("file")?;
    let place = place.clone();
    Ok(Box::new(move |size| {
        (0..size).try_for_each(|_| {
            place.link_again("file", "made")?;
            if !place.is_file("made") {
                return Err(io::ErrorKind::NotFound.into());
            }
            place.rename("made", "renamed")?;
            place.remove("renamed")
        })
    }))
}
