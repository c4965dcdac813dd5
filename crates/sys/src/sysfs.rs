//! sysfs as a network namespace sees it: /sys shows the devices of whoever mounted it.

use std::ffi::CStr;
use std::panic::resume_unwind;
use std::path::Path;
use std::{io, thread};

use rustix::mount::{MountFlags, MountPropagationFlags, mount_change};

use crate::call::done;

/// Mounted over for one thread alone: every host has it, so no directory has to be made, and none is left
/// behind however the program ends.
const MOUNT_POINT: &str = "/sys";

/// Runs `work` in a new thread, with the sysfs of the calling thread's network namespace. Programs that `work`
/// starts see it under `/sys` too; other processes do not.
///
/// # Errors
/// Without CAP_SYS_ADMIN; `work` did not run then.
pub fn with_own<T: Send>(work: impl FnOnce(&Path) -> T + Send) -> io::Result<T> {
    thread::scope(|scope| {
        let mounted = || mount().map(|()| work(Path::new(MOUNT_POINT)));
        let thread = thread::Builder::new().name("sysfs".into()).spawn_scoped(scope, mounted)?;
        thread.join().unwrap_or_else(|panic| resume_unwind(panic))
    })
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
