//! Writing a file that is whole, or as it was before.

use std::fs::{self, File};
use std::io;
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
/// What `write` says, or the disk; what stood at `path` then stands unharmed.
pub fn write_whole<T, E: From<io::Error>>(
    path: &Path,
    write: impl FnOnce(&mut File) -> Result<T, E>,
) -> Result<T, E> {
    let temporary = temporary(path);
    let written = fill(path, &temporary, write);
    if written.is_err() {
        // Best effort: what cannot be removed is found by its name.
        let _ = fs::remove_file(&temporary);
    }
    written
}

fn fill<T, E: From<io::Error>>(
    path: &Path,
    temporary: &Path,
    write: impl FnOnce(&mut File) -> Result<T, E>,
) -> Result<T, E> {
    // What a process of our id left, or a link that somebody put there, is not written to.
    let _ = fs::remove_file(temporary);
    let (mut file, named) = match nameless(directory(path)) {
        Some(file) => (file, false),
        None => (File::options().write(true).create_new(true).open(temporary)?, true),
    };
    // Not every file system has locks; the process id alone does there.
    let _ = file.try_lock();
    let told = write(&mut file)?;
    file.sync_all()?;
    if !named {
        name(&file, temporary)?;
    }
    fs::rename(temporary, path)?;
    sync(directory(path))?;
    Ok(told)
}

/// A file without a name; `None` where there are none, or where it could not be given one later.
fn nameless(directory: &Path) -> Option<File> {
    let flags = OFlags::TMPFILE | OFlags::WRONLY | OFlags::CLOEXEC;
    // As the standard library makes files: what others may do is up to the umask.
    let file = File::from(open(directory, flags, Mode::from_raw_mode(0o666)).ok()?);
    fs::symlink_metadata(through(&file)).is_ok().then_some(file)
}

/// Gives a file its first name. Without privilege that goes only by way of /proc.
fn name(file: &File, name: &Path) -> io::Result<()> {
    Ok(linkat(CWD, through(file), CWD, name, AtFlags::SYMLINK_FOLLOW)?)
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

/// Sees to it that the name itself survives a crash of the machine.
pub(super) fn sync(directory: &Path) -> io::Result<()> {
    match File::open(directory) {
        // One may write into a directory without being allowed to read it, and then not sync it either.
        Err(e) if e.kind() == io::ErrorKind::PermissionDenied => Ok(()),
        opened => opened?.sync_all(),
    }
}
