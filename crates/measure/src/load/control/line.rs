//! Lines of JSON over TCP, each bounded in length and in time.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::introduction::cut;
use super::{ControlError, LINE_WITHIN};

/// The longest line, its end included.
pub(super) const MOST_BYTES: usize = 4096;
/// So much of a line that cannot be read is shown.
const SHOWN_CHARS: usize = 60;
/// And so much of why, which may repeat some of it.
const REASON_CHARS: usize = 120;
/// A read without any time would not even look.
const LEAST_WAIT: Duration = Duration::from_millis(1);

/// The end of a connection that writes. A line is one write of less than a socket's buffer: if it does
/// not fit there, the peer has not read for long.
#[derive(Debug)]
pub(super) struct Writer {
    stream: TcpStream,
    peer: SocketAddr,
}

impl Writer {
    pub(super) fn say(&mut self, word: &impl Serialize) -> Result<(), ControlError> {
        let mut line = serde_json::to_vec(word).map_err(|e| self.failed(e.into()))?;
        line.push(b'\n');
        if line.len() > MOST_BYTES {
            return Err(self.failed(io::Error::other("a line of more than 4 KiB")));
        }
        self.stream.write_all(&line).map_err(|e| self.failed(e))
    }

    pub(super) fn finish(&self) {
        // If it is closed already, that is as well.
        let _ = self.stream.shutdown(Shutdown::Write);
    }

    /// Ends the conversation for both directions, and wakes who waits for a line.
    pub(super) fn hang_up(&self) {
        let _ = self.stream.shutdown(Shutdown::Both);
    }

    fn failed(&self, source: io::Error) -> ControlError {
        match source.kind() {
            ErrorKind::BrokenPipe | ErrorKind::ConnectionReset => {
                ControlError::Closed { peer: self.peer, awaited: "that it reads on" }
            }
            _ => ControlError::Connection { peer: self.peer, source },
        }
    }
}

/// The end of a connection that reads. Its memory is one line.
#[derive(Debug)]
pub(super) struct Lines {
    stream: TcpStream,
    pub(super) peer: SocketAddr,
    buffer: Box<[u8; MOST_BYTES]>,
    filled: usize,
}

pub(super) fn open(stream: TcpStream, peer: SocketAddr) -> Result<(Lines, Writer), ControlError> {
    let prepare = || {
        // A line must not wait for the acknowledgment of the one before.
        stream.set_nodelay(true)?;
        stream.set_write_timeout(Some(LINE_WITHIN))?;
        // Blocking is inherited by nothing on Linux, but costs nothing to say.
        stream.set_nonblocking(false)?;
        stream.try_clone()
    };
    let writing = prepare().map_err(|source| ControlError::Connection { peer, source })?;
    let lines = Lines { stream, peer, buffer: Box::new([0; MOST_BYTES]), filled: 0 };
    Ok((lines, Writer { stream: writing, peer }))
}

impl Lines {
    pub(super) fn local_addr(&self) -> io::Result<SocketAddr> {
        self.stream.local_addr()
    }

    /// The connection as it was before, if nothing but lines that were read came over it.
    pub(super) fn stream_alone(&self) -> Option<TcpStream> {
        let stream = self.stream.try_clone().ok().filter(|_| self.filled == 0)?;
        stream.set_nodelay(false).ok()?;
        stream.set_write_timeout(None).ok()?;
        stream.set_read_timeout(None).ok()?;
        Some(stream)
    }

    /// The next line, which must be there within a time, however it trickles in.
    pub(super) fn next<T: DeserializeOwned>(
        &mut self,
        within: Duration,
        awaited: &'static str,
    ) -> Result<T, ControlError> {
        let silent = ControlError::Silent { peer: self.peer, awaited, within };
        self.poll(within, awaited)?.ok_or(silent)
    }

    /// The next line; `None` if it is not there in time. What there is of it is kept.
    pub(super) fn poll<T: DeserializeOwned>(
        &mut self,
        within: Duration,
        awaited: &'static str,
    ) -> Result<Option<T>, ControlError> {
        // What has come already is read even if there is no time left.
        let deadline = Instant::now() + within.max(LEAST_WAIT);
        let mut left = within.max(LEAST_WAIT);
        loop {
            if let Some(word) = self.whole(awaited) {
                return word.map(Some);
            }
            if self.filled == MOST_BYTES {
                return Err(self.garbage(awaited, "a line of more than 4 KiB came".to_owned()));
            }
            if left.is_zero() || !self.fill(left, awaited)? {
                return Ok(None);
            }
            left = deadline.saturating_duration_since(Instant::now());
        }
    }

    /// Takes a whole line out of the buffer, if there is one.
    fn whole<T: DeserializeOwned>(&mut self, awaited: &'static str) -> Option<Result<T, ControlError>> {
        let end = self.buffer[..self.filled].iter().position(|&b| b == b'\n')?;
        let word = serde_json::from_slice(&self.buffer[..end]);
        let word = word.map_err(|e| self.garbage(awaited, shown(&self.buffer[..end], &e)));
        self.buffer.copy_within(end + 1..self.filled, 0);
        self.filled -= end + 1;
        Some(word)
    }

    /// Reads what comes within a time; `false` if nothing does.
    fn fill(&mut self, within: Duration, awaited: &'static str) -> Result<bool, ControlError> {
        let peer = self.peer;
        let failed = |source| ControlError::Connection { peer, source };
        self.stream.set_read_timeout(Some(within)).map_err(failed)?;
        match self.stream.read(&mut self.buffer[self.filled..]) {
            Ok(0) => Err(ControlError::Closed { peer, awaited }),
            Ok(read) => {
                self.filled += read;
                Ok(true)
            }
            Err(e) => match e.kind() {
                ErrorKind::WouldBlock | ErrorKind::TimedOut => Ok(false),
                ErrorKind::Interrupted => Ok(true),
                ErrorKind::ConnectionReset => Err(ControlError::Closed { peer, awaited }),
                _ => Err(failed(e)),
            },
        }
    }

    /// Waits until the peer has closed too, so that what was written last is not lost: to
    /// close with unread bytes resets the connection, and its last line with it.
    pub(super) fn linger(&mut self, within: Duration) {
        let deadline = Instant::now() + within;
        loop {
            self.filled = 0;
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() || !matches!(self.fill(left, "its end"), Ok(true)) {
                return;
            }
        }
    }

    pub(super) fn garbage(&self, awaited: &'static str, what: String) -> ControlError {
        ControlError::Garbage { peer: self.peer, awaited, what }
    }
}

/// A stranger's bytes, fit for a terminal.
fn shown(line: &[u8], reason: &serde_json::Error) -> String {
    let line = cut(&String::from_utf8_lossy(line), SHOWN_CHARS);
    format!("`{line}` came ({})", cut(&reason.to_string(), REASON_CHARS))
}

/// Without what would steer a terminal: text of a peer ends up on one.
pub fn printable(text: &str) -> String {
    // Nor what turns the direction of text.
    let turns = |c: char| matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    text.chars().filter(|&c| !c.is_control() && !turns(c)).collect()
}
