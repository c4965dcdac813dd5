//! TUN devices: what the kernel sends into one is read here, and what is written here comes
//! into the kernel by it, as if a wire were there.
//!
//! A packet has [`HEADER_BYTES`] of `struct virtio_net_hdr` in front, which says what is left
//! to do with it: checksums and segments. Whoever writes a packet into another device just
//! as it was read leaves that to whoever really needs it, as a veth pair does.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::fd::{AsRawFd, BorrowedFd, RawFd};
use std::os::unix::fs::OpenOptionsExt;
use std::time::Duration;

use netlink_packet_route::RouteNetlinkMessage;
use netlink_packet_route::link::{LinkAttribute, LinkMessage};
use rustix::event::{PollFd, PollFlags};

use crate::call::{self, done};
use crate::{clock, rtnetlink};

/// Where the kernel hands out such devices.
const DOOR: &str = "/dev/net/tun";
/// In front of each packet: `struct virtio_net_hdr`, which a device has unless it is asked for more.
pub const HEADER_BYTES: usize = 10;
/// The largest packet with its header: what IP itself can carry, as segments that are still
/// whole are no longer than that.
pub const MOST_BYTES: usize = HEADER_BYTES + 65_535;
/// Packets that wait in a device until they are read. The kernel's own 500 are 0.5 ms of a
/// small-packet load, which is less than a reader may wait for a processor.
const QUEUE_PACKETS: u32 = 10_000;

refusal! {
    /// What could not be done with a TUN device, why, and what to do.
    TunError:
    libc::EPERM => "; this needs CAP_NET_ADMIN: run as root",
    libc::EACCES => "; the mode of /dev/net/tun keeps this user out: run as root, or chmod 666 /dev/net/tun",
    libc::ENOENT | libc::ENODEV | libc::ENXIO => "; this kernel has no TUN devices: load the module tun, or bring /dev/net/tun into the container",
    libc::EBUSY | libc::EEXIST => "; a device of this name or number is there already",
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Packets {
    /// Those that would pass a wire, none larger than the device's MTU.
    Single,
    /// Also many segments as one packet, if the kernel has coalesced them: TCP, and UDP
    /// since Linux 6.2.
    Whole,
}

/// A TUN device, removed when this value is dropped or the process ends.
#[derive(Debug)]
pub struct Tun {
    file: File,
}

impl Tun {
    /// Makes a device in the calling thread's namespace, down and without addresses; this
    /// value reads and writes it from wherever it is. Number 0 leaves the choice to the kernel.
    ///
    /// # Errors
    /// Without CAP_NET_ADMIN, where the mode of /dev/net/tun forbids it, when the name or number is taken, or when the
    /// kernel has no TUN.
    pub fn create(name: &str, index: u32, packets: Packets) -> Result<Self, TunError> {
        let fail = |action: &str| TunError::new(format!("{action} the TUN device {name}"));
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .custom_flags(libc::O_NONBLOCK)
            .open(DOOR)
            .map_err(fail(&format!("open {DOOR} for")))?;
        let fd = file.as_raw_fd();
        if index != 0 {
            set_index(fd, index).map_err(fail(&format!("choose the number {index} for")))?;
        }
        attach(fd, name).map_err(fail("create"))?;
        set_offloads(fd, packets).map_err(fail("set the offloads of"))?;
        set_queue(name).map_err(fail("lengthen the queue of"))?;
        Ok(Self { file })
    }

    /// Reads one packet, header first, into a buffer of [`MOST_BYTES`]; 0 when none waits.
    /// A shorter buffer cuts packets off.
    #[inline]
    pub fn read(&self, buffer: &mut [u8]) -> io::Result<usize> {
        match (&self.file).read(buffer) {
            Err(e) if e.kind() == io::ErrorKind::WouldBlock => Ok(0),
            other => other,
        }
    }

    /// Writes one packet, header first. The kernel's receive path runs within this call.
    ///
    /// # Errors
    /// EIO when the device is down, EINVAL for what is no packet.
    #[inline]
    pub fn write(&self, packet: &[u8]) -> io::Result<()> {
        (&self.file).write(packet).map(|_| ())
    }

    /// Waits until a packet can be read, the other end of `stop` is closed, or CLOCK_MONOTONIC
    /// comes near `until_ns`: call it again until that is reached, which it then is as
    /// punctually as a wake-up can be ([`clock::wait_punctually`]). Whether to go on: not once `stop`
    /// is closed.
    pub fn wait(&self, stop: BorrowedFd<'_>, until_ns: Option<u64>) -> io::Result<bool> {
        let mut files =
            [PollFd::new(&self.file, PollFlags::IN), PollFd::from_borrowed_fd(stop, PollFlags::empty())];
        let left = until_ns.map(|until| {
            let left = until.saturating_sub(clock::monotonic_ns());
            // The kernel allows itself a thousandth of a poll's time on top. Less twice that, the
            // time is not exceeded, and what is left is waited for with a thousandth of its own.
            Duration::from_nanos(left - left / 500)
        });
        match call::poll(&mut files, left) {
            Err(e) if e.kind() != io::ErrorKind::Interrupted => Err(e),
            Err(_) => Ok(true),
            Ok(_) => Ok(files[1].revents().is_empty()),
        }
    }
}

/// Says which number the device is to have; the kernel takes it only before the device is made.
fn set_index(fd: RawFd, index: u32) -> io::Result<()> {
    // SAFETY: the kernel reads one number, which lives through the call.
    done(unsafe { libc::ioctl(fd, libc::TUNSETIFINDEX, &raw const index) })
}

/// Makes the device that the descriptor stands for.
fn attach(fd: RawFd, name: &str) -> io::Result<()> {
    let mut request = libc::ifreq {
        ifr_name: call::c_text(name).ok_or_else(|| io::Error::from_raw_os_error(libc::EINVAL))?,
        ifr_ifru: libc::__c_anonymous_ifr_ifru {
            // Exclusive: a device of that name that somebody keeps is not taken over.
            ifru_flags: (libc::IFF_TUN | libc::IFF_NO_PI | libc::IFF_VNET_HDR | libc::IFF_TUN_EXCL)
                as libc::c_short,
        },
    };
    // SAFETY: the request is a whole ifreq that lives through the call; its name ends in zero.
    done(unsafe { libc::ioctl(fd, libc::TUNSETIFF, &raw mut request) })
}

/// Says what this reader takes over from the device: checksums always, as they are left to
/// the far end, and segments if asked for.
fn set_offloads(fd: RawFd, packets: Packets) -> io::Result<()> {
    let set = |offloads: libc::c_uint| {
        // SAFETY: the argument is a number, not a pointer.
        done(unsafe { libc::ioctl(fd, libc::TUNSETOFFLOAD, libc::c_ulong::from(offloads)) })
    };
    let tcp = libc::TUN_F_CSUM | libc::TUN_F_TSO4 | libc::TUN_F_TSO6 | libc::TUN_F_TSO_ECN;
    match packets {
        Packets::Single => set(libc::TUN_F_CSUM),
        // Before Linux 6.2 no such thing as segments of UDP is known.
        Packets::Whole => set(tcp | libc::TUN_F_USO4 | libc::TUN_F_USO6).or_else(|_| set(tcp)),
    }
}

fn set_queue(name: &str) -> io::Result<()> {
    let mut message = LinkMessage::default();
    message.attributes = vec![LinkAttribute::IfName(name.into()), LinkAttribute::TxQueueLen(QUEUE_PACKETS)];
    rtnetlink::change(RouteNetlinkMessage::SetLink(message), 0)
}

#[cfg(test)]
mod tests;
