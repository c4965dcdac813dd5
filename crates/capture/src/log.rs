//! Message logs: when an application sent its messages, or received them.
//!
//! A log is binary, as `netfathom load --log` writes it, or CSV, as anybody may. All numbers of
//! a binary log are little-endian; one begins with a header of 16 bytes:
//!
//! | offset | bytes | field |
//! |-------:|------:|-------|
//! | 0 | 8 | magic `nfmsglog` |
//! | 8 | 4 | version: 1 |
//! | 12 | 4 | which times each message has, a sum: 1 intended, 2 sent, 4 received |
//!
//! Then come blocks in any number and order, until the file ends. Messages of one flow:
//!
//! | offset | bytes | field |
//! |-------:|------:|-------|
//! | 0 | 4 | 1: a block of messages |
//! | 4 | 4 | flow |
//! | 8 | 4 | how many, 0 to 65,536 |
//! | 12 | 4 | 0 |
//! | 16 | 16, 24 or 32 each | sequence (8), then the times that the header names (8 each): intended, sent, received |
//!
//! A statement about the clock, which holds for the messages after it until the next one:
//!
//! | offset | bytes | field |
//! |-------:|------:|-------|
//! | 0 | 4 | 2: a statement about the clock |
//! | 4 | 4 | 0 |
//! | 8 | 8 | when it was made, on the clock of the log, ns |
//! | 16 | 8 | CLOCK_REALTIME minus the clock of the log at that moment, ns, signed |
//!
//! Times are ns; 0 says that there is none, such as when a message that was lost was received.
//! A log without a statement has times since 1970. `docs/message-log.md` has the same for those
//! who write logs, and the form of CSV.

use std::io::Read;

use crate::buffer::Buffer;
use crate::error::CaptureError;
use crate::packet::{MOST_NS, Resolution};

mod binary;
mod csv;
#[cfg(test)]
mod tests;
mod write;

pub use write::{LogFormat, LogWriter};

use binary::BinaryReader;
use csv::CsvReader;

pub const MAGIC: [u8; 8] = *b"nfmsglog";
/// The version of the binary format that this build writes and reads.
pub const VERSION: u32 = 1;
pub const MOST_OF_A_BLOCK: usize = 65_536;

const MESSAGES: u32 = 1;
const STATEMENT: u32 = 2;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Columns {
    pub intended: bool,
    /// When each was sent.
    pub sent: bool,
    /// When each was received.
    pub received: bool,
}

impl Columns {
    /// Messages that were sent, and should have been.
    pub const SENT: Self = Self { intended: true, sent: true, received: false };
    pub const RECEIVED: Self = Self { intended: false, sent: false, received: true };
    pub const ALL: Self = Self { intended: true, sent: true, received: true };

    fn bits(self) -> u32 {
        u32::from(self.intended) | u32::from(self.sent) << 1 | u32::from(self.received) << 2
    }

    /// From the bits of a header; `None` if there is no time, or an unknown one.
    fn of_bits(bits: u32) -> Option<Self> {
        let columns = Self { intended: bits & 1 != 0, sent: bits & 2 != 0, received: bits & 4 != 0 };
        (1..8).contains(&bits).then_some(columns)
    }

    /// Bytes of a message in a binary log.
    fn stride(self) -> usize {
        8 + 8 * self.bits().count_ones() as usize
    }
}

/// One message of a log; a time that is 0 is not there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LogEntry {
    pub sequence: u64,
    /// When it should have been sent.
    pub intended_ns: u64,
    pub sent_ns: u64,
    pub received_ns: u64,
}

impl LogEntry {
    /// The time that is beyond all that there can be, if one is.
    #[inline]
    fn beyond(&self) -> Option<u64> {
        [self.intended_ns, self.sent_ns, self.received_ns].into_iter().find(|&ns| ns > MOST_NS)
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Message {
    /// The flow; 0 where a log does not tell them apart.
    pub flow: u32,
    /// What the coarsest of its times counted in; they are the middle of such a step.
    pub resolution: Resolution,
    pub entry: LogEntry,
}

/// The statements of a log about its clock so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Clock {
    /// CLOCK_REALTIME minus the log's clock, by the latest statement; 0 where there is none.
    pub ahead_ns: i64,
    /// The same by the first statement.
    pub first_ahead_ns: i64,
    pub statements: u64,
}

impl Clock {
    fn state(&mut self, ahead_ns: i64) -> Result<(), String> {
        let first_ns = if self.statements == 0 { ahead_ns } else { self.first_ahead_ns };
        let moved_ns = ahead_ns.checked_sub(first_ns);
        if [Some(ahead_ns), moved_ns].iter().any(|ns| ns.is_none_or(|ns| ns.unsigned_abs() > MOST_NS)) {
            return Err(format!(
                "a clock that CLOCK_REALTIME is {ahead_ns} ns ahead of: no two clocks are so far apart"
            ));
        }
        (self.first_ahead_ns, self.ahead_ns) = (first_ns, ahead_ns);
        self.statements += 1;
        Ok(())
    }

    pub fn clock_source(&self) -> String {
        match self.statements {
            0 => "since 1970, as none is stated".into(),
            _ if self.ahead_ns == 0 && self.first_ahead_ns == 0 => "CLOCK_REALTIME, stated".into(),
            1 => "CLOCK_MONOTONIC, stated once".into(),
            n => format!("CLOCK_MONOTONIC, stated {n} times"),
        }
    }
}

/// Somewhere that messages come from, one after the other.
pub trait Messages {
    /// The next message; `None` at the end. After an error there is none any more.
    ///
    /// # Errors
    /// If what comes next cannot be read. Everything before it was as it should be.
    fn next_message(&mut self) -> Result<Option<Message>, CaptureError>;
    /// The statements about the clock, as of the last message.
    fn clock(&self) -> Clock;
    /// Which times there are. Sending times are by the clock that messages are stamped with.
    fn columns(&self) -> Columns;
}

#[derive(Debug)]
pub struct LogReader<R: Read>(Form<R>);

#[derive(Debug)]
enum Form<R: Read> {
    Binary(BinaryReader<R>),
    Csv(CsvReader<R>),
}

impl<R: Read> LogReader<R> {
    /// Begins to read: finds out which form it has, and reads the header.
    pub fn new(read: R) -> Result<Self, CaptureError> {
        let mut source = Buffer::new(read);
        let begin = source.have(MAGIC.len())?;
        if begin.is_empty() {
            return Err(CaptureError::NotThis("no message log: it is empty".into()));
        }
        // A log that was cut within its magic is a damaged one, not CSV.
        let binary = MAGIC.starts_with(&begin[..begin.len().min(MAGIC.len())]);
        Ok(Self(if binary {
            Form::Binary(BinaryReader::new(source)?)
        } else {
            Form::Csv(CsvReader::new(source)?)
        }))
    }

    pub fn format(&self) -> &'static str {
        match self.0 {
            Form::Binary(_) => "netfathom log",
            Form::Csv(_) => "CSV",
        }
    }
}

impl<R: Read> Messages for LogReader<R> {
    #[inline]
    fn next_message(&mut self) -> Result<Option<Message>, CaptureError> {
        match &mut self.0 {
            Form::Binary(reader) => reader.next_message(),
            Form::Csv(reader) => reader.next_message(),
        }
    }

    #[inline]
    fn clock(&self) -> Clock {
        match &self.0 {
            Form::Binary(reader) => reader.clock,
            Form::Csv(reader) => reader.clock,
        }
    }

    fn columns(&self) -> Columns {
        match &self.0 {
            Form::Binary(reader) => reader.columns,
            Form::Csv(reader) => reader.columns,
        }
    }
}
