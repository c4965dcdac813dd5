//! Trying what the kernel offers, in the smallest way that shows whether it works. Every
//! function here undoes what it did before it returns.

use std::io;
use std::net::{Ipv4Addr, UdpSocket};
use std::os::fd::AsFd;
use std::time::Duration;

use crate::call::{owned, socket};
use crate::perf_event;
use crate::socket::set_segment_size;

/// A datagram over the loopback device takes microseconds; a busy machine may need more.
const PATIENCE: Duration = Duration::from_millis(500);

/// The number of the user that this process acts as; 0 is root.
pub fn effective_user() -> u32 {
    rustix::process::geteuid().as_raw()
}

/// Makes a packet socket, which captures are taken with. Bound to no protocol, it receives
/// nothing.
///
/// # Errors
/// EPERM without CAP_NET_RAW; EAFNOSUPPORT where the kernel has none.
pub fn packet_socket() -> io::Result<()> {
    socket(libc::AF_PACKET, libc::SOCK_RAW).map(drop)
}

/// Makes an AF_XDP socket, bound to no device.
///
/// # Errors
/// EPERM without CAP_NET_RAW; EAFNOSUPPORT where the kernel has none.
pub fn xdp_socket() -> io::Result<()> {
    socket(libc::AF_XDP, libc::SOCK_RAW).map(drop)
}

/// Makes an io_uring with the smallest queue.
///
/// # Errors
/// ENOSYS where the kernel has none or a filter hides it; EPERM where
/// `kernel.io_uring_disabled` or a filter forbids it.
pub fn io_uring() -> io::Result<()> {
    /// The size of struct io_uring_params, fixed since 5.1.
    const PARAMS_BYTES: usize = 120;
    let mut params = [0u64; PARAMS_BYTES / 8];
    // SAFETY: the kernel reads and writes the params alone, which are as long as it takes
    // them for; all zero asks for nothing special. The descriptor is closed at once.
    owned(unsafe { libc::syscall(libc::SYS_io_uring_setup, 1u32, params.as_mut_ptr()) }).map(drop)
}

/// A sender and its reader over the loopback device.
fn pair() -> io::Result<(UdpSocket, UdpSocket)> {
    let reader = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))?;
    let sender = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))?;
    sender.connect(reader.local_addr()?)?;
    reader.set_read_timeout(Some(PATIENCE))?;
    Ok((sender, reader))
}

/// Reads one datagram and checks that it has that many bytes.
fn expect(reader: &UdpSocket, bytes: usize) -> io::Result<()> {
    let received = reader.recv(&mut [0; 64])?;
    if received == bytes {
        return Ok(());
    }
    Err(io::Error::new(io::ErrorKind::InvalidData, format!("a datagram of {received} bytes, not {bytes}")))
}

/// Sends one buffer that the kernel splits into two datagrams (UDP_SEGMENT), and reads both.
///
/// # Errors
/// ENOPROTOOPT before Linux 4.18; a time-out if they do not arrive.
pub fn udp_segment() -> io::Result<()> {
    let (sender, reader) = pair()?;
    set_segment_size(&sender, 8)?;
    sender.send(&[0; 16])?;
    expect(&reader, 8)?;
    expect(&reader, 8)
}

/// Sends a datagram from the caller's own memory (MSG_ZEROCOPY), and reads it. Over the
/// loopback device the kernel copies it after all.
///
/// # Errors
/// ENOTSUPP (524) before Linux 5.0; ENOBUFS beyond `net.core.optmem_max` or the memory that
/// may be locked.
pub fn zero_copy() -> io::Result<()> {
    /// A static, for it must outlive the call: a driver may read it later.
    static PAYLOAD: [u8; 16] = [0; 16];
    let (sender, reader) = pair()?;
    crate::zero_copy::enable(sender.as_fd())?;
    crate::zero_copy::send(sender.as_fd(), &PAYLOAD)?;
    expect(&reader, PAYLOAD.len())
}

/// What a hardware counter of the processor has counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cycles {
    /// Cycles while the probe spun.
    pub count: u64,
    /// Whether those within the kernel can be counted too.
    pub kernel_too: bool,
}

/// Counts the processor's cycles in the calling thread during a short spin.
///
/// # Errors
/// ENOENT where there is no such counter, as on many virtual machines; EACCES or EPERM
/// where `kernel.perf_event_paranoid` forbids it.
pub fn hardware_cycles() -> io::Result<Cycles> {
    match count_cycles(true) {
        Err(e) if perf_event::is_denied(&e) => count_cycles(false),
        counted => counted,
    }
}

fn count_cycles(kernel_too: bool) -> io::Result<Cycles> {
    let counter = perf_event::running_cycles(kernel_too)?;
    std::hint::black_box((0..100_000u64).fold(0, |sum, n| std::hint::black_box(sum ^ n)));
    Ok(Cycles { count: perf_event::count(&counter)?, kernel_too })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each works or says why not; nothing in between, and no descriptor stays open.
    #[test]
    fn a_probe_works_or_names_the_error() {
        let open = || std::fs::read_dir("/proc/self/fd").unwrap().count();
        let probes = [packet_socket, xdp_socket, io_uring, udp_segment, zero_copy];
        for probe in probes {
            if let Err(e) = probe() {
                assert!(e.raw_os_error().is_some(), "{e}");
            }
        }
        // Other tests of this program open some at the same time, but not as many as this.
        let before = open();
        (0..200).for_each(|_| probes.iter().for_each(|probe| drop(probe())));
        assert!(open() < before + 100);
    }

    #[test]
    fn cycles_are_counted_where_there_is_a_counter() {
        match hardware_cycles() {
            Ok(cycles) => assert!(cycles.count > 0, "{cycles:?}"),
            Err(e) => assert!(e.raw_os_error().is_some(), "{e}"),
        }
    }
}
