//! The sockets underneath.

use std::{
    fmt,
    io::{self, IoSlice, IoSliceMut},
    net::TcpStream,
    os::{
        fd::{AsFd, BorrowedFd},
        unix::net::UnixStream,
    },
    time::Duration,
};

use rustix::{
    event::{PollFd, PollFlags, Timespec},
    io::retry_on_intr,
    net::{RecvAncillaryBuffer, RecvFlags, SendAncillaryBuffer, SendFlags},
};

/// What a wait ended with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ready {
    /// There is something to read, or the end.
    pub read: bool,
    /// There is room to write, or the reader is gone.
    pub write: bool,
}

/// A stream socket. Each call says whether it may block, so the socket's own mode does not matter.
///
/// The methods given here serve any stream socket; a transport of another kind brings its own.
pub trait Transport: AsFd + Send + Sync + fmt::Debug + 'static {
    /// Writes as much as goes without blocking.
    ///
    /// # Errors
    /// `WouldBlock` if that is nothing; what the system says otherwise.
    #[inline]
    fn send(&self, parts: &[&[u8]]) -> io::Result<usize> {
        let flags = SendFlags::DONTWAIT | SendFlags::NOSIGNAL;
        if let [part] = parts {
            return Ok(retry_on_intr(|| rustix::net::send(self.as_fd(), part, flags))?);
        }
        let mut filled = parts.iter().filter(|part| !part.is_empty());
        let one = (filled.next(), filled.next());
        let sent = retry_on_intr(|| match one {
            (None, _) => Ok(0),
            // One piece of memory is the common case, and the cheaper call.
            (Some(part), None) => rustix::net::send(self.as_fd(), part, flags),
            _ => {
                let mut slices = [IoSlice::new(&[]); 4];
                let count = parts.len().min(slices.len());
                for (slice, part) in slices.iter_mut().zip(parts) {
                    *slice = IoSlice::new(part);
                }
                let mut no_control = SendAncillaryBuffer::default();
                rustix::net::sendmsg(self.as_fd(), &slices[..count], &mut no_control, flags)
            }
        });
        Ok(sent?)
    }

    /// Reads into the parts, each filled before the next; waits for something to come if `block`
    /// says so. 0 is the end.
    ///
    /// # Errors
    /// `WouldBlock` if nothing is there and it may not block; what the system says otherwise.
    #[inline]
    fn recv(&self, parts: [&mut [u8]; 3], block: bool) -> io::Result<usize> {
        let flags = if block { RecvFlags::empty() } else { RecvFlags::DONTWAIT };
        Ok(match parts {
            // One piece of memory is the common case, and the cheaper call.
            [[], [], part] => retry_on_intr(|| rustix::net::recv(self.as_fd(), &mut *part, flags))?.1,
            parts => {
                let mut slices = parts.map(IoSliceMut::new);
                let mut no_control = RecvAncillaryBuffer::default();
                let once = || rustix::net::recvmsg(self.as_fd(), &mut slices, &mut no_control, flags);
                retry_on_intr(once)?.bytes
            }
        })
    }

    /// Waits until the socket can be read or written, as asked, or the time is over.
    ///
    /// # Errors
    /// What the system says.
    fn wait(&self, read: bool, write: bool, limit: Option<Duration>) -> io::Result<Ready> {
        let mut flags = PollFlags::empty();
        flags.set(PollFlags::IN, read);
        flags.set(PollFlags::OUT, write);
        // More seconds than the system can count are without end.
        let limit = limit.and_then(|limit| Timespec::try_from(limit).ok());
        let mut polled = [PollFd::from_borrowed_fd(self.as_fd(), flags)];
        match rustix::event::poll(&mut polled, limit.as_ref()) {
            // An interrupted wait is one that ended early: the caller looks again.
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        let got = polled[0].revents();
        let broken = got.intersects(PollFlags::ERR | PollFlags::HUP | PollFlags::NVAL);
        Ok(Ready {
            read: broken || got.contains(PollFlags::IN),
            write: broken || got.contains(PollFlags::OUT),
        })
    }

    /// Ends both directions, and so any wait of any thread on this socket.
    fn shutdown(&self) {
        // It fails only if the connection is gone already.
        let _ = rustix::net::shutdown(self.as_fd(), rustix::net::Shutdown::Both);
    }

    /// Is called once if bulk will be sent; at most the given number of its bytes should lie in the system
    /// unsent.
    fn expect_bulk(&self, _unsent: usize) {}
}

/// A TCP connection, with Nagle's algorithm off: what is written is meant to leave.
#[derive(Debug)]
pub struct Tcp(TcpStream);

impl Tcp {
    /// Takes a connected stream.
    ///
    /// # Errors
    /// If `TCP_NODELAY` cannot be set.
    pub fn new(stream: TcpStream) -> io::Result<Self> {
        stream.set_nodelay(true)?;
        stream.set_nonblocking(false)?;
        Ok(Self(stream))
    }
}

impl AsFd for Tcp {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

impl Transport for Tcp {
    /// Bounds what waits in the system unsent, which a message would have to wait for as well; by
    /// default that is megabytes.
    fn expect_bulk(&self, unsent: usize) {
        let unsent = u32::try_from(unsent).unwrap_or(u32::MAX);
        // Without it messages wait longer behind a post; nothing else depends on it.
        let _ = socket2::SockRef::from(&self.0).set_tcp_notsent_lowat(unsent);
    }
}

/// A Unix stream socket.
#[derive(Debug)]
pub struct Unix(UnixStream);

impl Unix {
    /// Takes a connected stream.
    ///
    /// # Errors
    /// If its mode cannot be set.
    pub fn new(stream: UnixStream) -> io::Result<Self> {
        stream.set_nonblocking(false)?;
        Ok(Self(stream))
    }
}

impl AsFd for Unix {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

impl Transport for Unix {}
