//! Anonymous network namespaces.
//!
//! A namespace made here has no name in the file system: the descriptor alone keeps it
//! alive, so that the kernel removes it, and the links in it, when the descriptor is closed
//! for whatever reason, kill -9 included.

use std::fs::{self, File};
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::os::unix::fs::MetadataExt;

use crate::call::{self, done};
use crate::process::{self, Process};

/// Where the kernel shows the network namespace of the calling thread (since 3.17).
const OWN: &str = "/proc/thread-self/ns/net";

refusal! {
    /// What could not be done with a network namespace, why, and what to do.
    NamespaceError:
    libc::EPERM => "; this needs CAP_SYS_ADMIN: run as root, or measure over loopback",
    libc::ENOSPC => "; the limit is reached: raise sysctl user.max_net_namespaces",
    libc::EINVAL | libc::ENOSYS => "; this kernel has no network namespaces: use loopback",
    libc::ENOENT => "; is /proc mounted?",
}

/// A network namespace, kept alive by this value, by threads inside it and by sockets made
/// inside it: the kernel removes it some milliseconds after the last of them.
#[derive(Debug)]
pub struct Namespace {
    file: File,
    inode: u64,
}

impl Namespace {
    /// Makes an empty namespace, without a name; the calling thread stays where it is.
    ///
    /// # Errors
    /// Without CAP_SYS_ADMIN, beyond the limits of the system, or without /proc.
    pub fn create() -> Result<Self, NamespaceError> {
        in_new_thread(|| {
            // SAFETY: no pointers; it moves the calling thread alone, which ends after this.
            done(unsafe { libc::unshare(libc::CLONE_NEWNET) })
                .map_err(NamespaceError::new("create a network namespace"))?;
            Self::current()
        })?
    }

    /// The namespace that the calling thread is in.
    pub fn current() -> Result<Self, NamespaceError> {
        // The standard library opens with O_CLOEXEC: no child program keeps a lab alive.
        let open = || -> io::Result<Self> {
            let file = File::open(OWN)?;
            let inode = file.metadata()?.ino();
            Ok(Self { file, inode })
        };
        open().map_err(NamespaceError::new("open the network namespace of this thread"))
    }

    /// The processes in it, but for this one.
    pub fn processes(&self) -> io::Result<Vec<Process>> {
        let in_it = |pid: u32| {
            let process = Process::open(pid).ok()?;
            // Looked at once it is held: before, its number could become another's.
            let of = fs::metadata(format!("/proc/{pid}/ns/net")).ok()?;
            (pid != std::process::id() && of.ino() == self.inode).then_some(process)
        };
        Ok(process::all()?.into_iter().filter_map(in_it).collect())
    }

    /// The number by which the kernel tells namespaces apart while they live, as in
    /// `net:[4026531833]` and in `struct net.ns.inum`.
    pub fn inode(&self) -> u64 {
        self.inode
    }

    /// Runs `work` in a new thread inside this namespace and waits for it. Sockets made
    /// there stay in this namespace wherever they are used. A panic of `work` goes on in
    /// the caller. No privilege is needed for the namespace that the caller is in.
    ///
    /// # Errors
    /// When the namespace cannot be entered; `work` did not run then.
    pub fn run<T: Send>(&self, work: impl FnOnce() -> T + Send) -> Result<T, NamespaceError> {
        in_new_thread(|| {
            self.enter()?;
            Ok(work())
        })?
    }

    /// Moves the calling thread into this namespace for good.
    ///
    /// # Errors
    /// Without CAP_SYS_ADMIN, unless the thread is there already.
    pub fn enter(&self) -> Result<(), NamespaceError> {
        // setns asks for privilege even when nothing would change.
        if Self::current()?.inode == self.inode {
            return Ok(());
        }
        // SAFETY: no pointers, and the descriptor is open as long as self lives.
        done(unsafe { libc::setns(self.file.as_raw_fd(), libc::CLONE_NEWNET) })
            .map_err(NamespaceError::new("enter a network namespace"))
    }
}

impl AsFd for Namespace {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }
}

fn in_new_thread<T: Send>(work: impl FnOnce() -> T + Send) -> Result<T, NamespaceError> {
    call::in_new_thread("namespace", work)
        .map_err(NamespaceError::new("start a thread for a network namespace"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_own_namespace_needs_no_privilege() {
        let own = Namespace::current().unwrap();
        let seen = own.run(|| Namespace::current().unwrap().inode()).unwrap();
        assert_eq!(seen, own.inode());
    }

    #[test]
    fn a_panic_reaches_the_caller() {
        let own = Namespace::current().unwrap();
        let caught = std::panic::catch_unwind(|| own.run(|| panic!("as planned")));
        assert_eq!(caught.unwrap_err().downcast_ref(), Some(&"as planned"));
    }

    #[test]
    fn errors_say_what_to_do() {
        let error =
            NamespaceError::new("enter a network namespace")(io::Error::from_raw_os_error(libc::EPERM));
        assert!(error.to_string().contains("CAP_SYS_ADMIN"), "{error}");
    }
}
