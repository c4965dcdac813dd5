//! What `std::net::UdpSocket` leaves out: buffer sizes, identity, drop counters, time stamps,
//! and many messages a system call.

use std::io;
use std::net::{SocketAddr, UdpSocket};
use std::os::fd::{AsFd, AsRawFd};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags};
use rustix::net::{RecvFlags, Shutdown, recv, shutdown};

pub use crate::call::retried;
use crate::call::{done, poll};

mod batch;
mod segments;
mod stamps;
mod table;

pub use batch::{ReceiveBatch, ReceivedDatagram, SendBatch, Wait};
pub use segments::{Coalesced, MOST_SEGMENTS, enable_gro, receive_coalesced, set_segment_size};
pub use stamps::{Received, StampKind, TxStamp, TxStampQueue, enable_rx_stamps, enable_tx_stamps, receive};
pub use table::{
    is_udp_port, listening_ports, local_inodes, tcp_clients, tcp_inodes, unix_inodes, unread_udp,
};

pub(crate) fn set_option<T>(socket: &impl AsRawFd, level: i32, name: i32, value: &T) -> io::Result<()> {
    let (pointer, length) = (std::ptr::from_ref(value).cast(), size_of::<T>() as libc::socklen_t);
    // SAFETY: the pointer and the length are those of `value`, which the kernel only reads; what it points to in turn, a
    // filter, the kernel copies during the call, and memory for frames lives as long as its socket.
    done(unsafe { libc::setsockopt(socket.as_raw_fd(), level, name, pointer, length) })
}

/// Reads an option made of integers only; how many bytes the kernel wrote.
pub(crate) fn read_option<T>(socket: &impl AsRawFd, level: i32, name: i32, to: &mut T) -> io::Result<usize> {
    let mut length = size_of::<T>() as libc::socklen_t;
    // SAFETY: the pointer and the length are those of `to`, and the kernel writes
    // at most that many bytes; callers pass integers, or arrays and structs of them.
    done(unsafe {
        libc::getsockopt(socket.as_raw_fd(), level, name, std::ptr::from_mut(to).cast(), &raw mut length)
    })?;
    Ok(length as usize)
}

/// As [`read_option`], where the kernel reads nothing of the value.
pub(crate) fn get_option<T: Default>(socket: &impl AsRawFd, level: i32, name: i32) -> io::Result<T> {
    let mut value = T::default();
    read_option(socket, level, name, &mut value)?;
    Ok(value)
}

/// The error that the kernel had for the socket's next call, which then does not get it any more.
pub(crate) fn pending_error(socket: &impl AsRawFd) -> io::Result<()> {
    let error: i32 = get_option(socket, libc::SOL_SOCKET, libc::SO_ERROR)?;
    if error == 0 { Ok(()) } else { Err(io::Error::from_raw_os_error(error)) }
}

/// Whether a socket is one of TCP; false of what is no socket.
pub fn is_tcp(socket: &impl AsRawFd) -> bool {
    has(socket, libc::SO_PROTOCOL, libc::IPPROTO_TCP)
}

/// Whether a socket is one of UDP; false of what is no socket.
pub fn is_udp(socket: &impl AsRawFd) -> bool {
    has(socket, libc::SO_PROTOCOL, libc::IPPROTO_UDP)
}

/// Whether a socket is one of Unix; false of what is no socket.
pub fn is_unix(socket: &impl AsRawFd) -> bool {
    has(socket, libc::SO_DOMAIN, libc::AF_UNIX)
}

fn has(socket: &impl AsRawFd, name: i32, value: i32) -> bool {
    get_option(socket, libc::SOL_SOCKET, name).is_ok_and(|found: i32| found == value)
}

/// Asks for a receive buffer and returns what was granted, in bytes as the kernel counts
/// them (the packet's whole memory, not the payload).
///
/// With CAP_NET_ADMIN the limit `net.core.rmem_max` does not hold.
pub fn set_receive_buffer(socket: &UdpSocket, bytes: i32) -> io::Result<i32> {
    // Both double what they are given, to make room for the kernel's own data.
    let half = bytes / 2;
    set_option(socket, libc::SOL_SOCKET, libc::SO_RCVBUFFORCE, &half)
        .or_else(|_| set_option(socket, libc::SOL_SOCKET, libc::SO_RCVBUF, &half))?;
    get_option(socket, libc::SOL_SOCKET, libc::SO_RCVBUF)
}

/// Sets how many routers a packet of this socket may pass: the time to live of IPv4, the hop
/// limit of IPv6, whichever the socket speaks. With 1 it does not leave the own network.
pub fn set_hop_limit(socket: &UdpSocket, hops: u8) -> io::Result<()> {
    let (level, name) = match socket.local_addr()? {
        SocketAddr::V4(_) => (libc::IPPROTO_IP, libc::IP_TTL),
        SocketAddr::V6(_) => (libc::IPPROTO_IPV6, libc::IPV6_UNICAST_HOPS),
    };
    // IPv6 would take 0 and send packets that the next host throws away.
    if hops == 0 {
        return Err(io::Error::from_raw_os_error(libc::EINVAL));
    }
    set_option(socket, level, name, &i32::from(hops))
}

/// The socket's number in the kernel, unique while the machine runs (SO_COOKIE).
///
/// # Errors
/// If the kernel has none; it came with 4.12.
pub fn cookie(socket: &UdpSocket) -> io::Result<u64> {
    get_option(socket, libc::SOL_SOCKET, libc::SO_COOKIE)
}

/// The network namespace of a socket, by its cookie (SO_NETNS_COOKIE), and its port; 0: it has none yet.
///
/// # Errors
/// If it is no socket of IP, or the kernel has no such cookie; it came with 5.14.
pub fn netns_and_port(socket: &impl AsFd) -> io::Result<(u64, u16)> {
    const SO_NETNS_COOKIE: i32 = 71;
    let socket = UdpSocket::from(socket.as_fd().try_clone_to_owned()?);
    let netns = get_option(&socket, libc::SOL_SOCKET, SO_NETNS_COOKIE)?;
    Ok((netns, socket.local_addr()?.port()))
}

/// Messages that this socket dropped since it was made (SO_MEMINFO).
///
/// # Errors
/// If the kernel has no such counter; it came with 4.12.
pub fn drops(socket: impl AsFd) -> io::Result<u32> {
    const SO_MEMINFO: i32 = 55;
    const SK_MEMINFO_DROPS: usize = 8;
    let memory: [u32; SK_MEMINFO_DROPS + 1] = get_option(&socket.as_fd(), libc::SOL_SOCKET, SO_MEMINFO)?;
    Ok(memory[SK_MEMINFO_DROPS])
}

/// Receives into the whole buffer: a datagram, or as many bytes of a stream, for which it waits. Fewer at its end.
#[inline]
pub fn receive_whole(socket: &UdpSocket, buffer: &mut [u8]) -> io::Result<usize> {
    Ok(recv(socket, buffer, RecvFlags::WAITALL)?.1)
}

/// Waits until there is something to receive on one of these sockets; false if nothing comes in time.
pub fn await_any<'a>(sockets: impl Iterator<Item = &'a UdpSocket>, most: Duration) -> io::Result<bool> {
    let mut all: Vec<PollFd<'_>> = sockets.map(|socket| PollFd::new(socket, PollFlags::IN)).collect();
    poll(&mut all, Some(most))
}

/// The sequence number that the next byte of a TCP connection gets. It is read in repair mode, which changes nothing else.
///
/// # Errors
/// Without CAP_NET_ADMIN in the socket's network namespace.
pub fn next_sequence(socket: &UdpSocket) -> io::Result<u32> {
    const REPAIR_OFF_WITHOUT_PROBE: i32 = -1;
    const SEND_QUEUE: i32 = 2;
    set_option(socket, libc::IPPROTO_TCP, libc::TCP_REPAIR, &1)?;
    let sequence = set_option(socket, libc::IPPROTO_TCP, libc::TCP_REPAIR_QUEUE, &SEND_QUEUE)
        .and_then(|()| get_option(socket, libc::IPPROTO_TCP, libc::TCP_QUEUE_SEQ));
    set_option(socket, libc::IPPROTO_TCP, libc::TCP_REPAIR, &REPAIR_OFF_WITHOUT_PROBE)?;
    sequence
}

/// Calls receive once without waiting for, or taking, a message: who watches the socket then
/// knows the thread that reads it.
pub fn show_reader(socket: &UdpSocket) {
    // Whatever the call answers is fine.
    let _ = recv(socket, &mut [0_u8; 0], RecvFlags::PEEK | RecvFlags::DONTWAIT);
}

/// Ends a blocked receive call of another thread: it returns 0 once the buffer is empty.
pub fn end_receiving(socket: &UdpSocket) {
    // An unconnected UDP socket answers ENOTCONN, yet its reader is woken and sees the end (inet_shutdown).
    let _ = shutdown(socket, Shutdown::Read);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A sender and its reader; `None` where the kernel runs without such addresses.
    pub(super) fn pair_at(any: &str) -> Option<(UdpSocket, UdpSocket)> {
        let reader = UdpSocket::bind(any).ok()?;
        let sender = UdpSocket::bind(any).unwrap();
        sender.connect(reader.local_addr().unwrap()).unwrap();
        reader.set_read_timeout(Some(Duration::from_secs(2))).unwrap();
        Some((sender, reader))
    }

    pub(super) fn pair() -> (UdpSocket, UdpSocket) {
        pair_at("127.0.0.1:0").unwrap()
    }

    #[test]
    fn cookies_differ() {
        let (a, b) = pair();
        assert_ne!(cookie(&a).unwrap(), cookie(&b).unwrap());
    }

    #[test]
    fn what_does_not_fit_is_counted() {
        let (sender, reader) = pair();
        set_receive_buffer(&reader, 4096).unwrap();
        (0..1000).for_each(|_| assert_eq!(sender.send(&[0; 64]).unwrap(), 64));
        reader.set_nonblocking(true).unwrap();
        let received = (0..1000).filter(|_| reader.recv(&mut [0; 64]).is_ok()).count();
        assert!(received < 1000);
        assert_eq!(drops(&reader).unwrap() as usize, 1000 - received);
    }

    #[test]
    fn the_hop_limit_is_that_of_the_family() {
        let (v4, _reader) = pair();
        set_hop_limit(&v4, 7).unwrap();
        assert_eq!(v4.ttl().unwrap(), 7);
        assert!(set_hop_limit(&v4, 0).is_err());
        let Ok(v6) = UdpSocket::bind("[::1]:0") else { return };
        set_hop_limit(&v6, 9).unwrap();
        let hops: i32 = get_option(&v6, libc::IPPROTO_IPV6, libc::IPV6_UNICAST_HOPS).unwrap();
        assert_eq!(hops, 9);
        assert!(set_hop_limit(&v6, 0).is_err());
    }

    #[test]
    fn a_blocked_reader_is_woken() {
        let (_sender, reader) = pair();
        let n = std::thread::scope(|s| {
            let blocked = s.spawn(|| reader.recv(&mut [0; 64]));
            std::thread::sleep(std::time::Duration::from_millis(50));
            end_receiving(&reader);
            blocked.join().unwrap().unwrap()
        });
        assert_eq!(n, 0);
    }
}
