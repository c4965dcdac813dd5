//! sysfs as a network namespace sees it: /sys shows the devices of whoever mounted it.

use std::ffi::CStr;
use std::io;
use std::path::Path;

use rustix::mount::{MountFlags, MountPropagationFlags, mount_change};

use crate::call::{done, in_new_thread};

/// Mounted over for one thread alone: every host has it, so no directory has to be made, and none is left
/// behind however the program ends.
const MOUNT_POINT: &str = "/sys";

/// Runs `work` in a new thread, with the sysfs of the calling thread's network namespace. Programs that `work`
/// starts see it under `/sys` too; other processes do not.
///
/// # Errors
/// Without CAP_SYS_ADMIN; `work` did not run then.
pub fn with_own<T: Send>(work: impl FnOnce(&Path) -> T + Send) -> io::Result<T> {
    in_new_thread("sysfs", || mount().map(|()| work(Path::new(MOUNT_POINT))))?
}

/// Gives the calling thread a file system tree of its own, with the sysfs of its network namespace.
fn mount() -> io::Result<()> {
    // SAFETY: no pointers; it concerns the calling thread alone.
    done(unsafe { libc::unshare(libc::CLONE_NEWNS) })?;
    // Private first: in a shared tree the mount would appear in everybody's.
    mount_change("/", MountPropagationFlags::PRIVATE | MountPropagationFlags::REC)?;
    let flags = MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC;
    Ok(rustix::mount::mount("sysfs", MOUNT_POINT, "sysfs", flags, None::<&CStr>)?)
}
