//! Programs at a device's driver (XDP) as links that vanish with their descriptor (since
//! Linux 5.9). libbpf-rs has a call for it that cannot choose the mode.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

use libbpf_rs::libbpf_sys;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Native where the driver can, else generic.
    Auto,
    /// By the driver, before the kernel has made a packet buffer (skb) of the frame.
    Native,
    /// By the kernel on behalf of the driver, after that: slower, and nothing that tells
    /// what the driver could do.
    Generic,
}

/// Why a program is not attached to a device's driver.
#[derive(Debug, thiserror::Error)]
#[error("cannot attach an XDP program to device {ifindex} in {mode:?} mode: {source}{}", remedy(.source))]
pub struct AttachError {
    /// The device's number in the namespace of the calling thread.
    pub ifindex: u32,
    pub mode: Mode,
    pub source: io::Error,
}

fn remedy(source: &io::Error) -> &'static str {
    match source.raw_os_error() {
        Some(libc::EPERM | libc::EACCES) => "; this needs CAP_BPF and CAP_NET_ADMIN: run as root",
        Some(libc::EBUSY | libc::EEXIST) => {
            "; another XDP program is attached to it: see `ip link show`, and detach that one first"
        }
        Some(libc::EOPNOTSUPP) => "; its driver has no XDP: use generic mode",
        Some(libc::ERANGE) => {
            "; its MTU, or for veth that of its peer, is too large for XDP: at most about 3500"
        }
        Some(libc::EINVAL) => "; is there such a device in this network namespace?",
        _ => "",
    }
}

/// A program that is attached until this is dropped.
#[derive(Debug)]
pub(crate) struct Attachment {
    _link: OwnedFd,
}

/// Attaches a loaded program to a device of the calling thread's network namespace.
pub(crate) fn attach(program: BorrowedFd<'_>, ifindex: u32, mode: Mode) -> Result<Attachment, AttachError> {
    match mode {
        Mode::Auto => match link(program, ifindex, Mode::Native) {
            Err(e) if is_for_want_of_driver(&e) => link(program, ifindex, Mode::Generic),
            other => other,
        },
        wanted => link(program, ifindex, wanted),
    }
}

/// Whether generic mode may work where native mode failed like this: no XDP in the driver,
/// or not with this MTU (some drivers say EINVAL then).
fn is_for_want_of_driver(error: &AttachError) -> bool {
    matches!(error.source.raw_os_error(), Some(libc::EOPNOTSUPP | libc::ERANGE | libc::EINVAL))
}

fn link(program: BorrowedFd<'_>, ifindex: u32, mode: Mode) -> Result<Attachment, AttachError> {
    let flags =
        if mode == Mode::Generic { libbpf_sys::XDP_FLAGS_SKB_MODE } else { libbpf_sys::XDP_FLAGS_DRV_MODE };
    let options = libbpf_sys::bpf_link_create_opts {
        sz: size_of::<libbpf_sys::bpf_link_create_opts>() as _,
        flags,
        ..Default::default()
    };
    // SAFETY: the descriptor is open, and the options outlive the call.
    let link = unsafe {
        libbpf_sys::bpf_link_create(program.as_raw_fd(), ifindex as i32, libbpf_sys::BPF_XDP, &options)
    };
    if link < 0 {
        return Err(AttachError { ifindex, mode, source: io::Error::from_raw_os_error(-link) });
    }
    // SAFETY: the kernel has just opened this descriptor for us, and it has no other owner.
    let link = unsafe { OwnedFd::from_raw_fd(link) };
    Ok(Attachment { _link: link })
}
