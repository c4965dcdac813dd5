//! sysfs as a network namespace sees it: /sys shows the devices of whoever mounted it.

use std::ffi::CStr;
use std::panic::resume_unwind;
use std::path::Path;
use std::{io, ptr, thread};

use crate::call::done;

/// Mounted over for one thread alone: every host has it, so no directory has to be made, and none is left
/// behind however the program ends.
const MOUNT_POINT: &CStr = c"/sys";

/// Runs `work` in a new thread, with the sysfs of the calling thread's network namespace. Programs that `work`
/// starts see it under `/sys` too; other processes do not.
///
/// # Errors
/// Without CAP_SYS_ADMIN; `work` did not run then.
pub fn with_own<T: Send>(work: impl FnOnce(&Path) -> T + Send) -> io::Result<T> {
    thread::scope(|scope| {
        let mounted = || mount().map(|()| work(Path::new("/sys")));
        let thread = thread::Builder::new().name("sysfs".into()).spawn_scoped(scope, mounted)?;
        thread.join().unwrap_or_else(|panic| resume_unwind(panic))
    })
}

/// Gives the calling thread a file system tree of its own, with the sysfs of its network namespace.
fn mount() -> io::Result<()> {
    // SAFETY: no pointers; it concerns the calling thread alone.
    done(unsafe { libc::unshare(libc::CLONE_NEWNS) })?;
    // Private first: in a shared tree the mount would appear in everybody's.
    let private = libc::MS_PRIVATE | libc::MS_REC;
    // SAFETY: the strings end with a zero; null stands for what this call does not use.
    done(unsafe { libc::mount(ptr::null(), c"/".as_ptr(), ptr::null(), private, ptr::null()) })?;
    let sysfs = c"sysfs".as_ptr();
    let flags = libc::MS_NOSUID | libc::MS_NODEV | libc::MS_NOEXEC;
    // SAFETY: as before; sysfs takes no data.
    done(unsafe { libc::mount(sysfs, MOUNT_POINT.as_ptr(), sysfs, flags, ptr::null()) })
}
