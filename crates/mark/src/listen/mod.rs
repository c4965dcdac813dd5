//! The other side: who records marks.
//!
//! ```no_run
//! use netfathom_mark::listen::Listener;
//! use std::process::Command;
//!
//! let mut listener = Listener::create()?;
//! let mut program = Command::new("./server");
//! listener.attach(&mut program);
//! program.status().expect("a server");
//! let mut marks = Vec::new();
//! listener.drain_rest(&mut marks);
//! for mark in marks {
//!     println!("{} ns: {}", mark.at_ns, mark.name);
//! }
//! # Ok::<(), netfathom_mark::listen::ListenError>(())
//! ```

use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::fs::FileExt;
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::time::Duration;

use crate::layout::{self, OWN_SLOTS, VARIABLE, ring_bytes};
use crate::os;
use crate::ring::Ring;

mod error;
mod find;
mod reader;

pub use error::ListenError;
use reader::{PATIENCE, Reader};

#[cfg(test)]
mod tests;

/// A point that a program passed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mark {
    /// As the program wrote it. Cut ones end with `…`, what is no UTF-8 is replaced.
    pub name: String,
    /// Whether the name was longer than what is kept of one.
    pub cut: bool,
    /// When: CLOCK_MONOTONIC, ns.
    pub at_ns: u64,
    /// Process, by its own number: in a container that is not the host's.
    pub process: u32,
    /// Thread, by its own number.
    pub thread: u32,
}

/// Who listens to marks. While there is one, they are recorded; a ring has one at most.
pub struct Listener {
    readers: Vec<Reader>,
    /// Where programs that are started find the ring.
    inherited: Option<OwnedFd>,
    /// `/proc/PID/stat` of who is listened to, opened when listening began.
    stat: Option<File>,
}

impl Listener {
    /// A ring for programs that are started with it: see [`Listener::attach`].
    ///
    /// # Errors
    /// [`ListenError::Ring`].
    pub fn create() -> Result<Self, ListenError> {
        let failed = |tried| move || ListenError::Ring { tried, source: io::Error::last_os_error() };
        let (fd, base) = Ring::create(OWN_SLOTS).ok_or_else(failed("make a ring for marks"))?;
        // SAFETY: just made, with no other owner.
        let inherited = unsafe { OwnedFd::from_raw_fd(fd) };
        os::populate(base, ring_bytes(OWN_SLOTS));
        // SAFETY: mapped there with this length, and used no more: the reader maps it anew.
        unsafe { os::unmap(base, ring_bytes(OWN_SLOTS)) };
        // Opened once more: programs inherit the first opening, so a lock on it would outlive this process.
        let path = format!("/proc/self/fd/{}", inherited.as_raw_fd());
        let file = File::options().read(true).write(true).open(path);
        let tried = "open a ring for marks through /proc/self/fd";
        let file = file.map_err(|source| ListenError::Ring { tried, source })?;
        let reader = Reader::open(file).map_err(|_| failed("map a ring for marks")())?;
        Ok(Self { readers: vec![reader.of_all_times()], inherited: Some(inherited), stat: None })
    }

    /// The rings of a process that runs already and has made a mark. Its children that it forked
    /// after its first mark share them: their marks come too.
    ///
    /// # Errors
    /// Why there is no listening to it.
    pub fn of_process(pid: u32) -> Result<Self, ListenError> {
        let stat = File::open(format!("/proc/{pid}/stat")).ok();
        Ok(Self { readers: find::readers(pid)?, inherited: None, stat })
    }

    /// Has a program record into this ring from its first mark on, and all programs that it
    /// starts, as long as they leave it the descriptor and the variable `NETFATHOM_MARK_FD`.
    ///
    /// Does nothing if this listener is of a process that runs already.
    pub fn attach<'c>(&self, command: &'c mut Command) -> &'c mut Command {
        let Some(fd) = self.inherited.as_ref().map(AsRawFd::as_raw_fd) else { return command };
        command.env(VARIABLE.to_string_lossy().as_ref(), fd.to_string());
        let before_exec = move || {
            if os::inherit(fd) { Ok(()) } else { Err(io::Error::last_os_error()) }
        };
        // SAFETY: the closure makes one system call and allocates nothing.
        unsafe { command.pre_exec(before_exec) }
    }

    /// Adds the marks since the last call, in the order of their times, and returns
    /// their number. Never waits.
    ///
    /// The order is that of each call: a mark of a thread that is interrupted while it makes it may
    /// come with the next one. A mark that stays half written for 20 ms is given up.
    /// A ring holds 65,536: call it often enough, every few milliseconds if many come.
    pub fn drain(&mut self, marks: &mut Vec<Mark>) -> usize {
        self.drain_within(marks, PATIENCE)
    }

    /// The same once all who make marks have ended: it waits for none that is half written.
    pub fn drain_rest(&mut self, marks: &mut Vec<Mark>) -> usize {
        self.drain_within(marks, Duration::ZERO)
    }

    fn drain_within(&mut self, marks: &mut Vec<Mark>, patience: Duration) -> usize {
        let before = marks.len();
        self.readers.iter_mut().for_each(|reader| reader.drain(marks, patience));
        marks[before..].sort_by_key(|mark| mark.at_ns);
        marks.len() - before
    }

    /// Marks that were made and did not come, as of the last call of [`Listener::drain`]: the ring was full or not
    /// there yet, or who made them was killed in the middle of it. Never more than can have been made meanwhile.
    #[must_use]
    pub fn lost(&self) -> u64 {
        self.readers.iter().map(Reader::lost).fold(0, u64::saturating_add)
    }

    /// How often a ring held what no mark leaves there: another program has written into it, and
    /// the number of lost marks is unknown. 0 otherwise.
    #[must_use]
    pub fn damaged(&self) -> u64 {
        self.readers.iter().map(Reader::damaged).fold(0, u64::saturating_add)
    }

    /// Whether the process that is listened to has ended. Never so of a listener of its own ring.
    #[must_use]
    pub fn ended(&self) -> bool {
        let Some(stat) = &self.stat else { return false };
        let mut text = [0; 512];
        // Of a process that is gone it cannot be read, and its number may be another's by now.
        let Ok(length) = stat.read_at(&mut text, 0) else { return true };
        // PID (NAME) STATE: a name may hold parentheses. Dead ones are not waited for yet.
        let state = text[..length].rsplit(|&byte| byte == b')').next().and_then(|rest| rest.get(1));
        matches!(state, Some(b'Z' | b'X') | None)
    }

    /// Bytes of a name that are kept.
    pub const NAME_BYTES: usize = layout::NAME_BYTES;
}
