//! What lies in the queues of a socket at a moment.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};

use crate::call::done;

/// What lies in the queue of a socket's send side (SIOCOUTQ). For TCP bytes of payload that the
/// peer has not acknowledged, those that were not sent yet among them; for UDP the memory, with
/// the kernel's own data, of datagrams that the device has not let go.
///
/// # Errors
/// EINVAL for a TCP socket that listens.
pub fn queued_out(socket: BorrowedFd<'_>) -> io::Result<u32> {
    asked(socket, libc::TIOCOUTQ)
}

/// What can be read from the socket (SIOCINQ): the bytes in TCP's receive queue, the end of the
/// stream counting as none; for UDP the bytes of the next datagram alone.
///
/// # Errors
/// EINVAL for a TCP socket that listens.
pub fn queued_in(socket: BorrowedFd<'_>) -> io::Result<u32> {
    asked(socket, libc::FIONREAD)
}

fn asked(socket: BorrowedFd<'_>, request: libc::Ioctl) -> io::Result<u32> {
    let mut bytes = 0_i32;
    // SAFETY: these requests write one int, which `bytes` is.
    let result = unsafe { libc::ioctl(socket.as_raw_fd(), request, &raw mut bytes) };
    done(result)?;
    Ok(bytes.unsigned_abs())
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::net::{TcpListener, UdpSocket};
    use std::os::fd::AsFd;
    use std::time::{Duration, Instant};

    use super::*;
    use crate::endpoint::tests::{deafen, streams};

    #[test]
    fn every_byte_that_was_sent_is_in_one_of_the_queues() {
        let (mut sender, reader) = streams();
        sender.set_nonblocking(true).unwrap();
        let mut sent = 0;
        while let Ok(n) = sender.write(&[1; 10_000]) {
            sent += n;
        }
        // The peer's window is full: the rest waits here. Acknowledgments may still come.
        let deadline = Instant::now() + Duration::from_secs(20);
        loop {
            let held = queued_out(sender.as_fd()).unwrap();
            let read = queued_in(reader.as_fd()).unwrap();
            if held + read == u32::try_from(sent).unwrap() && held > 0 {
                break;
            }
            assert!(Instant::now() < deadline, "{sent} sent, {held} held, {read} to read");
        }
    }

    #[test]
    fn what_is_sent_and_not_acknowledged_is_held() {
        let (mut sender, peer) = streams();
        deafen(&peer);
        sender.write_all(&[1; 100]).unwrap();
        assert_eq!(queued_out(sender.as_fd()).unwrap(), 100);
        assert_eq!(queued_in(peer.as_fd()).unwrap(), 0);
    }

    #[test]
    fn a_datagram_is_as_long_as_it_is() {
        let ends = [(); 2].map(|()| UdpSocket::bind("127.0.0.1:0").unwrap());
        ends[0].connect(ends[1].local_addr().unwrap()).unwrap();
        ends.iter().for_each(|_| assert_eq!(ends[0].send(&[0; 100]).unwrap(), 100));
        assert_eq!(queued_in(ends[1].as_fd()).unwrap(), 100);
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        assert_eq!(queued_in(listener.as_fd()).unwrap_err().kind(), io::ErrorKind::InvalidInput);
    }
}
