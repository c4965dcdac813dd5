//! What `std::net::UdpSocket` leaves out: buffer sizes, identity, drop counters, time stamps.

use std::io;
use std::net::UdpSocket;
use std::os::fd::AsRawFd;

mod stamps;

pub use stamps::{Received, StampKind, TxStamp, TxStampQueue, enable_rx_stamps, enable_tx_stamps, receive};

fn set_option<T>(socket: &UdpSocket, level: i32, name: i32, value: &T) -> io::Result<()> {
    // SAFETY: the pointer and the length are those of `value`, which the kernel only reads.
    let result = unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            level,
            name,
            std::ptr::from_ref(value).cast(),
            size_of::<T>() as libc::socklen_t,
        )
    };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Reads an option made of integers only, into `value`.
fn get_option<T>(socket: &UdpSocket, level: i32, name: i32, value: &mut T) -> io::Result<()> {
    let mut length = size_of::<T>() as libc::socklen_t;
    // SAFETY: the pointer and the length are those of `value`, of which the kernel writes
    // at most that many bytes; callers pass integers or arrays of them.
    let result = unsafe {
        libc::getsockopt(socket.as_raw_fd(), level, name, std::ptr::from_mut(value).cast(), &raw mut length)
    };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Asks for a receive buffer and returns what was granted, in bytes as the kernel counts
/// them (the packet's whole memory, not the payload).
///
/// With CAP_NET_ADMIN the limit `net.core.rmem_max` does not hold.
///
/// # Errors
/// If the socket is none.
pub fn set_receive_buffer(socket: &UdpSocket, bytes: i32) -> io::Result<i32> {
    // Both double what they are given, to make room for the kernel's own data.
    let half = bytes / 2;
    set_option(socket, libc::SOL_SOCKET, libc::SO_RCVBUFFORCE, &half)
        .or_else(|_| set_option(socket, libc::SOL_SOCKET, libc::SO_RCVBUF, &half))?;
    let mut granted = 0i32;
    get_option(socket, libc::SOL_SOCKET, libc::SO_RCVBUF, &mut granted)?;
    Ok(granted)
}

/// The socket's number in the kernel, unique while the machine runs (SO_COOKIE).
///
/// # Errors
/// If the kernel has none; it came with 4.12.
pub fn cookie(socket: &UdpSocket) -> io::Result<u64> {
    let mut cookie = 0u64;
    get_option(socket, libc::SOL_SOCKET, libc::SO_COOKIE, &mut cookie)?;
    Ok(cookie)
}

/// Messages that this socket dropped since it was made (SO_MEMINFO).
///
/// # Errors
/// If the kernel has no such counter; it came with 4.12.
pub fn drops(socket: &UdpSocket) -> io::Result<u32> {
    const SO_MEMINFO: i32 = 55;
    const SK_MEMINFO_DROPS: usize = 8;
    let mut memory = [0u32; SK_MEMINFO_DROPS + 1];
    get_option(socket, libc::SOL_SOCKET, SO_MEMINFO, &mut memory)?;
    Ok(memory[SK_MEMINFO_DROPS])
}

/// Calls receive once without waiting for, or taking, a message: who watches the socket then
/// knows the thread that reads it.
pub fn show_reader(socket: &UdpSocket) {
    let flags = libc::MSG_PEEK | libc::MSG_DONTWAIT;
    // SAFETY: a buffer of no bytes is never written to; whatever the call answers is fine.
    unsafe { libc::recv(socket.as_raw_fd(), std::ptr::null_mut(), 0, flags) };
}

/// Ends a blocked receive call of another thread: it returns 0 once the buffer is empty.
pub fn end_receiving(socket: &UdpSocket) {
    // SAFETY: a system call on an open descriptor, without memory. An unconnected UDP
    // socket answers ENOTCONN, yet its reader is woken and sees the end (inet_shutdown).
    unsafe { libc::shutdown(socket.as_raw_fd(), libc::SHUT_RD) };
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pair() -> (UdpSocket, UdpSocket) {
        let reader = UdpSocket::bind("127.0.0.1:0").unwrap();
        let sender = UdpSocket::bind("127.0.0.1:0").unwrap();
        sender.connect(reader.local_addr().unwrap()).unwrap();
        (sender, reader)
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
