//! Writing a file that is whole, or as it was before.

use std::fs::{self, File, TryLockError};
use std::io::{self, Seek};
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, CWD, Mode, OFlags, linkat, open};

/// Writes a file beside its place, and moves it there once it is on the disk. What `write` returns is returned.
///
/// Until then the new file has no name, so that it goes with its process, however that ends. Where the file system
/// has no such files it has the name of its place with our process id and `.tmp` behind it, from the beginning, by
/// which [`super::sweep`] finds it in the directory of a run. The lock says the same to processes that do not see our
/// ids.
///
/// A symbolic link that stands at `path` is replaced, not followed.
///
/// # Errors
/// What `write` says, or the disk. What stood at `path` then stands unharmed, unless it is only the name of the new
/// file that may not survive a crash of the machine.
pub fn write_whole<T, E: From<io::Error>>(
    path: &Path,
    write: impl FnOnce(&mut File) -> Result<T, E>,
) -> Result<T, E> {
    let mut new = New::beside(path)?;
    // Not every file system has locks; the process id alone does there.
    let _ = new.file.try_lock();
    let told = write(&mut new.file)?;
    new.file.sync_all()?;
    new.take_place_of(path)?;
    sync(directory(path))?;
    Ok(told)
}

/// A file that is written. Its name goes with it, unless it takes the place of another.
struct New {
    file: File,
    name: PathBuf,
    named: bool,
}

impl New {
    fn beside(path: &Path) -> io::Result<Self> {
        let name = temporary(path);
        Ok(match nameless(directory(path)) {
            Some(file) => Self { file, name, named: false },
            None => Self { file: create(&name)?, name, named: true },
        })
    }

    fn take_place_of(mut self, path: &Path) -> io::Result<()> {
        if !self.named {
            make_room(&self.name)?;
            // Without privilege that goes only by way of /proc.
            match linkat(CWD, through(&self.file), CWD, &self.name, AtFlags::SYMLINK_FOLLOW) {
                Ok(()) => self.named = true,
                // Links may be forbidden (by AppArmor, say): what was written is not lost for that.
                Err(_) => self.copy()?,
            }
        }
        fs::rename(&self.name, path)?;
        self.named = false;
        Ok(())
    }

    fn copy(&mut self) -> io::Result<()> {
        let mut copy = create(&self.name)?;
        self.named = true;
        self.file.rewind()?;
        io::copy(&mut self.file, &mut copy)?;
        copy.sync_all()
    }
}

impl Drop for New {
    fn drop(&mut self) {
        if self.named {
            // Best effort: what cannot be removed is found by its name.
            let _ = fs::remove_file(&self.name);
        }
    }
}

/// A file without a name; `None` where there are none, or where it could not be given one later.
fn nameless(directory: &Path) -> Option<File> {
    let flags = OFlags::TMPFILE | OFlags::RDWR | OFlags::CLOEXEC;
    // As the standard library makes files: what others may do is up to the umask.
    let file = File::from(open(directory, flags, Mode::from_raw_mode(0o666)).ok()?);
    fs::symlink_metadata(through(&file)).is_ok().then_some(file)
}

fn create(name: &Path) -> io::Result<File> {
    make_room(name)?;
    File::options().write(true).create_new(true).open(name)
}

/// What a process of our id left, or a link that somebody put there, is not written to. What another process still
/// writes, in a container say, where it may have our id, is left to it.
fn make_room(name: &Path) -> io::Result<()> {
    let is_written = |file: File| matches!(file.try_lock(), Err(TryLockError::WouldBlock));
    let is_file = fs::symlink_metadata(name).is_ok_and(|there| there.is_file());
    if is_file && File::open(name).is_ok_and(is_written) {
        let why = format!("another process writes {}", name.display());
        return Err(io::Error::new(io::ErrorKind::AlreadyExists, why));
    }
    // If it is not there, or cannot be removed, making the new one says so.
    let _ = fs::remove_file(name);
    Ok(())
}

fn through(file: &File) -> PathBuf {
    PathBuf::from(format!("/proc/self/fd/{}", file.as_raw_fd()))
}

/// `record.json.4711.tmp` for `record.json` and process 4711.
fn temporary(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(format!(".{}.tmp", std::process::id()));
    name.into()
}

fn directory(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        // `a` has the parent ``, which cannot be opened.
        _ => Path::new("."),
    }
}

/// Sees to it that the name itself survives a crash of the machine, as far as the file system can.
pub(super) fn sync(directory: &Path) -> io::Result<()> {
    let synced = File::open(directory).and_then(|directory| directory.sync_all());
    synced.or_else(|e| match e.kind() {
        // One may write into a directory without being allowed to read it; some file systems cannot sync one.
        io::ErrorKind::PermissionDenied | io::ErrorKind::InvalidInput | io::ErrorKind::Unsupported => Ok(()),
        _ => Err(e),
    })
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    #[test]
    fn what_another_process_writes_is_left_to_it() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("x");
        let theirs = File::create(temporary(&path)).unwrap();
        theirs.lock().unwrap();
        let ours = || write_whole::<_, io::Error>(&path, |file| file.write_all(b"ours"));
        assert_eq!(ours().unwrap_err().kind(), io::ErrorKind::AlreadyExists);
        assert!(temporary(&path).exists() && !path.exists());
        // It has died.
        drop(theirs);
        ours().unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"ours");
        assert!(!temporary(&path).exists());
    }

    #[test]
    fn a_file_that_can_have_no_second_name_is_copied() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("x");
        // A file that was removed cannot be linked again (linkat(2)).
        let mut file = File::options().read(true).write(true).create_new(true).open(&path).unwrap();
        fs::remove_file(&path).unwrap();
        file.write_all(b"whole").unwrap();
        New { file, name: temporary(&path), named: false }.take_place_of(&path).unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"whole");
        assert!(!temporary(&path).exists());
    }
}
