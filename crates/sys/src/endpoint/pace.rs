//! What decides how fast TCP sends: its congestion control and its pacing.

use std::fs;
use std::io;
use std::os::fd::BorrowedFd;

use crate::socket::{get_option, set_option};

/// Where the kernel lists the congestion controls that it has loaded.
const AVAILABLE: &str = "/proc/sys/net/ipv4/tcp_available_congestion_control";
/// TCP_CA_NAME_MAX of net/tcp.h, the end of the string included.
const NAME_BYTES: usize = 16;
/// What the kernel says where there is no limit.
const NO_LIMIT: u64 = u64::MAX;

/// Gives a TCP socket the congestion control of that name (TCP_CONGESTION). What it was
/// connected with by default is `net.ipv4.tcp_congestion_control`.
///
/// # Errors
/// ENOENT if the kernel has none of the name, EPERM for one that the system does not allow
/// without CAP_NET_ADMIN (`net.ipv4.tcp_allowed_congestion_control`); EINVAL for a name that none
/// can have. [`available_congestion_controls`] has the names.
pub fn set_congestion(socket: BorrowedFd<'_>, name: &str) -> io::Result<()> {
    // The kernel would cut a longer name and take an empty one for the default.
    if name.is_empty() || name.len() >= NAME_BYTES || name.contains('\0') {
        return Err(io::Error::from_raw_os_error(libc::EINVAL));
    }
    let mut padded = [0_u8; NAME_BYTES];
    padded[..name.len()].copy_from_slice(name.as_bytes());
    set_option(&socket, libc::IPPROTO_TCP, libc::TCP_CONGESTION, &padded)
}

pub fn congestion(socket: BorrowedFd<'_>) -> io::Result<String> {
    let name: [u8; NAME_BYTES] = get_option(&socket, libc::IPPROTO_TCP, libc::TCP_CONGESTION)?;
    let length = name.iter().position(|&byte| byte == 0).unwrap_or(NAME_BYTES);
    Ok(String::from_utf8_lossy(&name[..length]).into_owned())
}

/// The congestion controls that are loaded. The kernel loads the module of another by its name
/// when a program with CAP_NET_ADMIN asks for it, so that what is missing here may still work.
pub fn available_congestion_controls() -> io::Result<Vec<String>> {
    let names = fs::read_to_string(AVAILABLE)?;
    Ok(names.split_ascii_whitespace().map(String::from).collect())
}

/// Limits the send rate to `bytes_per_s` (SO_MAX_PACING_RATE, 64 bits since Linux 4.20);
/// `u64::MAX` lifts the limit. Since 4.20 TCP counts the payload without headers; for other protocols `fq`
/// counts the headers too.
///
/// TCP paces itself with a timer since 4.13, and leaves it to the queueing discipline where that
/// is `fq`. Its first ten segments, which are 64 KiB each on the loopback device, are not held
/// back. UDP is paced by `fq` alone: without it the rate is taken and has no effect.
///
/// # Errors
/// EINVAL for 0, which the kernel would take for no limit.
pub fn set_pacing(socket: BorrowedFd<'_>, bytes_per_s: u64) -> io::Result<()> {
    if bytes_per_s == 0 {
        return Err(io::Error::from_raw_os_error(libc::EINVAL));
    }
    set_option(&socket, libc::SOL_SOCKET, libc::SO_MAX_PACING_RATE, &bytes_per_s)
}

/// The most that is sent in a second, in bytes; `None` without a limit.
pub fn pacing(socket: BorrowedFd<'_>) -> io::Result<Option<u64>> {
    let bytes_per_s: u64 = get_option(&socket, libc::SOL_SOCKET, libc::SO_MAX_PACING_RATE)?;
    Ok((bytes_per_s != NO_LIMIT).then_some(bytes_per_s))
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::os::fd::AsFd;
    use std::thread;
    use std::time::{Duration, Instant};

    use super::*;
    use crate::endpoint::tests::streams;

    #[test]
    fn the_congestion_control_is_that_asked_for() {
        let (socket, _peer) = streams();
        let names = available_congestion_controls().unwrap();
        assert!(names.iter().any(|name| name == "reno"), "{names:?}");
        for name in &names {
            set_congestion(socket.as_fd(), name).unwrap();
            assert_eq!(&congestion(socket.as_fd()).unwrap(), name);
        }
        let refused = |name| set_congestion(socket.as_fd(), name).unwrap_err();
        assert_eq!(refused("no_such").kind(), io::ErrorKind::NotFound);
        // Cut by the kernel, this would be the name of one.
        for wrong in ["", "reno\0", "a_name_that_is_too_long"] {
            assert_eq!(refused(wrong).kind(), io::ErrorKind::InvalidInput);
        }
    }

    #[test]
    fn what_is_paced_takes_its_time() {
        const BYTES: usize = 4 << 20;
        const RATE: u64 = 8 << 20;
        let (mut sender, mut reader) = streams();
        assert_eq!(pacing(sender.as_fd()).unwrap(), None);
        assert!(set_pacing(sender.as_fd(), 0).is_err());
        set_pacing(sender.as_fd(), RATE).unwrap();
        assert_eq!(pacing(sender.as_fd()).unwrap(), Some(RATE));
        let start = Instant::now();
        thread::scope(|s| {
            s.spawn(move || sender.write_all(&vec![1; BYTES]).unwrap());
            reader.read_exact(&mut vec![0; BYTES]).unwrap();
        });
        // Half a second, less the ten segments that go at once.
        assert!(start.elapsed() > Duration::from_millis(200), "{:?}", start.elapsed());
    }

    #[test]
    fn a_rate_of_more_than_32_bits_is_not_cut() {
        let (socket, _peer) = streams();
        set_pacing(socket.as_fd(), 5 << 32).unwrap();
        assert_eq!(pacing(socket.as_fd()).unwrap(), Some(5 << 32));
        set_pacing(socket.as_fd(), u64::MAX).unwrap();
        assert_eq!(pacing(socket.as_fd()).unwrap(), None);
    }
}
