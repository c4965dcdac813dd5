//! Keeps a program known to the kernel's XDP dispatcher.
//!
//! BPF_PROG_RUN of more than one frame enters the program into the dispatcher (code that
//! is patched at run time) and takes it out at the end, and each time waits for all
//! processors (`synchronize_rcu`): 24 ms a call were measured. A program that is attached
//! to any device is there already, and a call takes some tens of microseconds. So it gets
//! a device where nothing ever passes: the loopback device of an empty namespace, down.

use std::fs::File;
use std::os::fd::BorrowedFd;
use std::{io, thread};

use crate::xdp::{self, AttachError, Attachment, Mode};

const LOOPBACK: u32 = 1;

/// A program's place in the dispatcher.
pub(super) struct Attached {
    _attachment: Attachment,
    /// Keeps the namespace, and with it the device.
    _namespace: File,
}

impl Attached {
    pub fn take(program: BorrowedFd<'_>) -> Result<Self, AttachError> {
        let failed = |source| AttachError { ifindex: LOOPBACK, mode: Mode::Generic, source };
        thread::scope(|scope| {
            let thread = thread::Builder::new().name("dispatcher".into()).spawn_scoped(scope, || {
                // SAFETY: no pointers; it moves the calling thread alone, which ends after this.
                if unsafe { libc::unshare(libc::CLONE_NEWNET) } != 0 {
                    return Err(failed(io::Error::last_os_error()));
                }
                let namespace = File::open("/proc/thread-self/ns/net").map_err(failed)?;
                let attachment = xdp::attach(program, LOOPBACK, Mode::Generic)?;
                Ok(Self { _attachment: attachment, _namespace: namespace })
            });
            let thread = thread.map_err(failed)?;
            thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        })
    }
}
