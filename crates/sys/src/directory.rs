//! A directory that is held open: what is done in it is done there, wherever its name leads by then.
//!
//! Whoever may write to the directory above can put a symbolic link in the place of this one while root works in it.
//! So names are looked up from the descriptor, one component each, and a link is never followed.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::fs::{
    AtFlags, CWD, Dir, FileType, Mode, OFlags, Stat, fstat, linkat, mkdirat, open, openat, readlinkat,
    renameat, statat, unlinkat,
};
use rustix::io::Errno;

use crate::probe::effective_user;

const OPEN: OFlags = OFlags::DIRECTORY.union(OFlags::CLOEXEC);
const ROOT: u32 = 0;
/// As the standard library makes files: what others may do is up to the umask.
const FILE_MODE: Mode = Mode::from_raw_mode(0o666);

#[derive(Clone, Debug)]
pub struct Directory {
    fd: Arc<OwnedFd>,
    path: PathBuf,
}

impl Directory {
    /// Opens a directory that a user has named: links on the way are followed.
    pub fn open(path: &Path) -> io::Result<Self> {
        Ok(Self::of(opened(CWD, or_here(path), OFlags::empty())?, path.to_owned()))
    }

    /// Opens a directory that is to be written to. A link in its place is followed only if it is ours or root's:
    /// anybody else's may be a trap.
    pub fn open_to_write(path: &Path) -> io::Result<Self> {
        // With a slash at its end the kernel would follow a link in spite of NOFOLLOW.
        let plain: PathBuf = path.components().collect();
        let path = plain.as_path();
        match opened(CWD, or_here(path), OFlags::NOFOLLOW) {
            Ok(fd) => Ok(Self::of(fd, path.to_owned())),
            Err(Errno::LOOP | Errno::NOTDIR) if path.is_symlink() => Self::behind_link(path),
            Err(why) => Err(why.into()),
        }
    }

    fn behind_link(path: &Path) -> io::Result<Self> {
        let link = open(path, OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC, Mode::empty())?;
        let owner = fstat(&link)?.st_uid;
        if owner != effective_user() && owner != ROOT {
            return Err(io::Error::other(format!(
                "it is a symbolic link that belongs to user {owner}, and is not followed"
            )));
        }
        // Of the link that was looked at, not of what has its name by now.
        let to = OsString::from_vec(readlinkat(&link, "", Vec::new())?.into_bytes());
        let above = path.parent().unwrap_or(Path::new("")).join(to);
        Ok(Self::of(opened(CWD, &above, OFlags::empty())?, path.to_owned()))
    }

    fn of(fd: OwnedFd, path: PathBuf) -> Self {
        Self { fd: Arc::new(fd), path }
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// A path through the descriptor, for this process alone: for libraries that take nothing else.
    pub fn through(&self) -> PathBuf {
        through(self.fd.as_fd())
    }

    /// A directory in it.
    ///
    /// # Errors
    /// Those of openat(2); `ELOOP` or `ENOTDIR` of a link.
    pub fn within(&self, name: impl AsRef<OsStr>) -> io::Result<Self> {
        let name = plain(name.as_ref())?;
        let fd = opened(self.as_fd(), Path::new(name), OFlags::NOFOLLOW)?;
        Ok(Self::of(fd, self.path.join(name)))
    }

    /// Makes a directory in it; fails if the name exists, so that no other process can have put it there.
    pub fn make(&self, name: impl AsRef<OsStr>) -> io::Result<Self> {
        let name = plain(name.as_ref())?;
        mkdirat(&self.fd, name, Mode::from_raw_mode(0o777))?;
        let made = self.within(name)?;
        match made.is_ours() {
            true => Ok(made),
            false => Err(io::Error::other("somebody put another directory in its place")),
        }
    }

    /// Opens a plain file in it to be read; a pipe is not waited for.
    ///
    /// # Errors
    /// Those of openat(2); `ELOOP` of a link.
    pub fn file(&self, name: impl AsRef<OsStr>) -> io::Result<File> {
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        Ok(openat(&self.fd, plain(name.as_ref())?, flags, Mode::empty())?.into())
    }

    /// The same, refusing what is no regular file.
    pub fn plain_file(&self, name: impl AsRef<OsStr>) -> io::Result<File> {
        let irregular = || io::Error::other("it is no regular file");
        match self.file(name) {
            Ok(file) if file.metadata()?.is_file() => Ok(file),
            Ok(_) => Err(irregular()),
            Err(why) if Errno::from_io_error(&why) == Some(Errno::LOOP) => Err(irregular()),
            Err(why) => Err(why),
        }
    }

    /// Makes a file in it that is not there yet.
    ///
    /// # Errors
    /// Those of openat(2); `EEXIST` of a link too.
    pub fn create_new(&self, name: impl AsRef<OsStr>) -> io::Result<File> {
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
        Ok(openat(&self.fd, plain(name.as_ref())?, flags, FILE_MODE)?.into())
    }

    /// Makes a file without a name, which goes with the process. `None` where there are none, or where it could not be
    /// given one later.
    pub fn nameless(&self) -> Option<File> {
        self.through().symlink_metadata().ok()?;
        let flags = OFlags::TMPFILE | OFlags::RDWR | OFlags::CLOEXEC;
        Some(openat(&self.fd, ".", flags, FILE_MODE).ok()?.into())
    }

    /// Gives a file another name, in this directory.
    pub fn link(&self, file: &File, name: impl AsRef<OsStr>) -> io::Result<()> {
        // Without privilege that goes only by way of /proc.
        let flags = AtFlags::SYMLINK_FOLLOW;
        Ok(linkat(CWD, through(file.as_fd()), &self.fd, plain(name.as_ref())?, flags)?)
    }

    /// Gives a file in it a second name in it.
    pub fn link_again(&self, from: impl AsRef<OsStr>, to: impl AsRef<OsStr>) -> io::Result<()> {
        let (from, to) = (plain(from.as_ref())?, plain(to.as_ref())?);
        Ok(linkat(&self.fd, from, &self.fd, to, AtFlags::empty())?)
    }

    /// Gives a file in it another name in it, in the place of what has that name.
    pub fn rename(&self, from: impl AsRef<OsStr>, to: impl AsRef<OsStr>) -> io::Result<()> {
        Ok(renameat(&self.fd, plain(from.as_ref())?, &self.fd, plain(to.as_ref())?)?)
    }

    /// Removes a file, or a link itself.
    pub fn remove(&self, name: impl AsRef<OsStr>) -> io::Result<()> {
        Ok(unlinkat(&self.fd, plain(name.as_ref())?, AtFlags::empty())?)
    }

    pub fn remove_empty(&self, name: impl AsRef<OsStr>) -> io::Result<()> {
        Ok(unlinkat(&self.fd, plain(name.as_ref())?, AtFlags::REMOVEDIR)?)
    }

    /// Removes all that is in it, and nothing that a link leads to.
    pub fn clear(&self) -> io::Result<()> {
        for name in self.names()? {
            if self.is_directory(&name) {
                self.within(&name)?.clear()?;
                self.remove_empty(&name)?;
            } else {
                self.remove(&name)?;
            }
        }
        Ok(())
    }

    pub fn names(&self) -> io::Result<Vec<OsString>> {
        let names = Dir::read_from(&self.fd)?
            .map(|entry| entry.map(|entry| OsStr::from_bytes(entry.file_name().to_bytes()).to_owned()));
        let own = |name: &OsString| name == "." || name == "..";
        Ok(names.filter(|name| !name.as_ref().is_ok_and(own)).collect::<Result<_, _>>()?)
    }

    pub fn is_ours(&self) -> bool {
        fstat(&self.fd).is_ok_and(|about| about.st_uid == effective_user())
    }

    /// Whether anything has that name, a link that leads nowhere included.
    pub fn holds(&self, name: impl AsRef<OsStr>) -> bool {
        self.kind(name.as_ref()).is_some()
    }

    /// Whether a plain file has that name.
    pub fn is_file(&self, name: impl AsRef<OsStr>) -> bool {
        self.kind(name.as_ref()) == Some(FileType::RegularFile)
    }

    /// Whether a directory has that name, and no link.
    pub fn is_directory(&self, name: impl AsRef<OsStr>) -> bool {
        self.kind(name.as_ref()) == Some(FileType::Directory)
    }

    fn kind(&self, name: &OsStr) -> Option<FileType> {
        let about: Stat = statat(&self.fd, plain(name).ok()?, AtFlags::SYMLINK_NOFOLLOW).ok()?;
        Some(FileType::from_raw_mode(about.st_mode))
    }

    /// Opens it once more, with a descriptor that has its own lock.
    pub fn again(&self) -> io::Result<File> {
        Ok(openat(&self.fd, ".", OPEN, Mode::empty())?.into())
    }

    /// Sees to it that its names survive a crash of the machine, as far as the file system can.
    pub fn sync(&self) -> io::Result<()> {
        match rustix::fs::fsync(&self.fd) {
            // Some file systems cannot sync a directory; nor can who may not read it.
            Ok(()) | Err(Errno::BADF | Errno::INVAL | Errno::NOTSUP) => Ok(()),
            Err(why) => Err(why.into()),
        }
    }
}

impl AsFd for Directory {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

/// `a` has the parent ``, which cannot be opened.
fn or_here(path: &Path) -> &Path {
    if path.as_os_str().is_empty() { Path::new(".") } else { path }
}

/// One may write into a directory without being allowed to read it.
fn opened(at: BorrowedFd<'_>, path: &Path, flags: OFlags) -> Result<OwnedFd, Errno> {
    match openat(at, path, OPEN | flags, Mode::empty()) {
        Err(Errno::ACCESS) => openat(at, path, OPEN | flags | OFlags::PATH, Mode::empty()),
        outcome => outcome,
    }
}

fn through(fd: BorrowedFd<'_>) -> PathBuf {
    PathBuf::from(format!("/proc/self/fd/{}", fd.as_raw_fd()))
}

/// A name of one component: anything else could lead elsewhere.
fn plain(name: &OsStr) -> Result<&OsStr, Errno> {
    let leads_elsewhere = matches!(name.as_bytes(), b"" | b"." | b"..") || name.as_bytes().contains(&b'/');
    if leads_elsewhere { Err(Errno::INVAL) } else { Ok(name) }
}

#[cfg(test)]
mod tests;
