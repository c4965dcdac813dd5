//! Programs on a device's way in and out, as links that vanish with their descriptor
//! (tcx, since Linux 6.6). libbpf-rs has no call for it yet.

use std::io;
use std::ptr::{NonNull, null};

use libbpf_rs::{AsRawLibbpf, Link, Object, libbpf_sys};

/// Attaches the one loaded program of an object to a device of the calling thread's
/// network namespace, behind what is attached already; its section says which way.
pub(crate) fn attach(object: &Object, ifindex: u32) -> Result<Link, libbpf_rs::Error> {
    let loaded = object.progs_mut().find(|p| p.autoload());
    let program = loaded.ok_or_else(|| io::Error::from_raw_os_error(libc::ENOENT))?;
    // SAFETY: the program is loaded and outlives the call; there are no options.
    let link = unsafe {
        libbpf_sys::bpf_program__attach_tcx(program.as_libbpf_object().as_ptr(), ifindex as i32, null())
    };
    NonNull::new(link).map_or_else(
        || Err(io::Error::last_os_error().into()),
        // SAFETY: libbpf has just made this link and there is no other pointer to it.
        |link| Ok(unsafe { Link::from_ptr(link) }),
    )
}
