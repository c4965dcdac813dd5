//! Writing a file that is whole, or as it was before.

use std::ffi::{OsStr, OsString};
use std::fs::{File, TryLockError};
use std::io::{self, Seek};
use std::path::Path;

use netfathom_sys::directory::Directory;

/// Writes a file to a place that a user has named, as [`write_whole_in`] does.
pub fn write_whole<T, E: From<io::Error>>(
    path: &Path,
    write: impl FnOnce(&mut File) -> Result<T, E>,
) -> Result<T, E> {
    // Of `..`, say, which is no file.
    let name = path.file_name().ok_or(io::ErrorKind::IsADirectory).map_err(io::Error::from)?;
    let directory = Directory::open(path.parent().unwrap_or(Path::new("")))?;
    write_whole_in(&directory, name, write)
}

/// Writes a file beside its place, and moves it there once it is on the disk. What `write` returns is returned.
///
/// Until then the new file has no name, so that it goes with its process, however that ends. Where the file system
/// has no such files it has the name of its place with our process id and `.tmp` behind it, from the beginning, by
/// which [`super::sweep`] finds it in the directory of a run. The lock says the same to processes that do not see our
/// ids.
///
/// A symbolic link of that name is replaced, not followed.
///
/// # Errors
/// What `write` says, or the disk. What had the name then stands unharmed, unless it is only the name of the new
/// file that may not survive a crash of the machine.
pub fn write_whole_in<T, E: From<io::Error>>(
    directory: &Directory,
    name: &OsStr,
    write: impl FnOnce(&mut File) -> Result<T, E>,
) -> Result<T, E> {
    let mut new = New::create_in(directory, name)?;
    // Not every file system has locks; the process id alone does there.
    let _ = new.file.try_lock();
    let written = write(&mut new.file)?;
    new.file.sync_all()?;
    new.take_place_of(name)?;
    directory.sync()?;
    Ok(written)
}

/// A file that is written. Its name goes with it, unless it takes the place of another.
struct New<'a> {
    directory: &'a Directory,
    file: File,
    name: OsString,
    named: bool,
}

impl<'a> New<'a> {
    fn create_in(directory: &'a Directory, name: &OsStr) -> io::Result<Self> {
        let name = temporary(name);
        Ok(match directory.nameless() {
            Some(file) => Self { directory, file, name, named: false },
            None => Self { directory, file: create(directory, &name)?, name, named: true },
        })
    }

    fn take_place_of(mut self, name: &OsStr) -> io::Result<()> {
        if !self.named {
            make_room(self.directory, &self.name)?;
            match self.directory.link(&self.file, &self.name) {
                Ok(()) => self.named = true,
                // Links may be forbidden (by AppArmor, say): what was written is not lost for that.
                Err(_) => self.copy()?,
            }
        }
        self.directory.rename(&self.name, name)?;
        self.named = false;
        Ok(())
    }

    fn copy(&mut self) -> io::Result<()> {
        let mut copy = create(self.directory, &self.name)?;
        self.named = true;
        self.file.rewind()?;
        io::copy(&mut self.file, &mut copy)?;
        copy.sync_all()
    }
}

impl Drop for New<'_> {
    fn drop(&mut self) {
        if self.named {
            // Best effort: what cannot be removed is found by its name.
            let _ = self.directory.remove(&self.name);
        }
    }
}

fn create(directory: &Directory, name: &OsStr) -> io::Result<File> {
    make_room(directory, name)?;
    directory.create_new(name)
}

/// What a process of our id left, or a link that somebody put there, is not written to. What another process still
/// writes, in a container say, where it may have our id, is left to it.
fn make_room(directory: &Directory, name: &OsStr) -> io::Result<()> {
    let is_written = |file: File| matches!(file.try_lock(), Err(TryLockError::WouldBlock));
    if directory.is_file(name) && directory.file(name).is_ok_and(is_written) {
        let why = format!("another process writes {}", directory.path().join(name).display());
        return Err(io::Error::new(io::ErrorKind::AlreadyExists, why));
    }
    // If it is not there, or cannot be removed, making the new one says so.
    let _ = directory.remove(name);
    Ok(())
}

/// `record.json.4711.tmp` for `record.json` and process 4711.
fn temporary(name: &OsStr) -> OsString {
    let mut name = name.to_owned();
    name.push(format!(".{}.tmp", std::process::id()));
    name
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::io::Write;

    use super::*;

    #[test]
    fn what_another_process_writes_is_left_to_it() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("x");
        let temporary = directory.path().join(temporary("x".as_ref()));
        let theirs = File::create(&temporary).unwrap();
        theirs.lock().unwrap();
        let ours = || write_whole::<_, io::Error>(&path, |file| file.write_all(b"ours"));
        assert_eq!(ours().unwrap_err().kind(), io::ErrorKind::AlreadyExists);
        assert!(temporary.exists() && !path.exists());
        // It has died.
        drop(theirs);
        ours().unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"ours");
        assert!(!temporary.exists());
    }

    #[test]
    fn a_file_that_can_have_no_second_name_is_copied() {
        let place = tempfile::tempdir().unwrap();
        let directory = Directory::open(place.path()).unwrap();
        // A file that was removed cannot be linked again (linkat(2)).
        let mut file = directory.create_new("x").unwrap();
        directory.remove("x").unwrap();
        file.write_all(b"whole").unwrap();
        let name = temporary("x".as_ref());
        New { directory: &directory, file, name: name.clone(), named: false }
            .take_place_of("x".as_ref())
            .unwrap();
        assert_eq!(fs::read(place.path().join("x")).unwrap(), b"whole");
        assert!(!place.path().join(name).exists());
    }
}
