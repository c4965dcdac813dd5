//! The log of a trial's messages, written by a thread of its own: who measures only fills
//! blocks of memory.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use netfathom_capture::log::{Columns, LogEntry, LogFormat, LogWriter};
use netfathom_model::message::Header;
use netfathom_sys::clock::{monotonic_ns, realtime_ahead_ns};
use netfathom_sys::file;

use super::tap::{ReceiveTap, SendTap};
use crate::load::error::FlightError;

/// Messages of all ends together in the time in which one of them fills a block: the join need
/// not look farther than this, whatever their number.
const TOGETHER: usize = 4096;
/// Smaller blocks would be more work than the messages.
const LEAST_BLOCK: usize = 64;
/// Blocks that may wait for the disk, all ends together: 8 MB. Then whoever measures waits,
/// which shows as lag.
const WAITING: usize = 64;
/// Between two statements of the clocks.
const CLOCK_EVERY: Duration = Duration::from_millis(100);

pub struct MessageLog {
    path: PathBuf,
    blocks: Option<SyncSender<LogBlock>>,
    writer: Option<JoinHandle<io::Result<()>>>,
}

/// A flow, and messages of it that one end saw after each other.
type LogBlock = (u32, Vec<LogEntry>);

pub struct SenderLog {
    size: usize,
    flow: u32,
    entries: Vec<LogEntry>,
    blocks: Option<SyncSender<LogBlock>>,
}

impl MessageLog {
    /// Begins a log with these columns: CSV where the name ends so, binary otherwise.
    pub fn create(path: &Path, columns: Columns) -> Result<Self, FlightError> {
        Self::begin(file::create(path), path.to_owned(), columns)
    }

    /// The same in a file that was opened, if it could be; `path` is its name.
    pub fn begin(file: io::Result<File>, path: PathBuf, columns: Columns) -> Result<Self, FlightError> {
        let refused = |source| FlightError::Log { path: path.clone(), source };
        let format = LogFormat::of_name(&path.to_string_lossy());
        let log = file.and_then(|file| LogWriter::new(file, format, columns)).map_err(refused)?;
        let (blocks, come) = sync_channel(WAITING);
        let writer = thread::Builder::new()
            .name("log".into())
            .spawn(move || write(log, &come))
            .map_err(|source| FlightError::NoThread { name: "log", source })?;
        Ok(Self { path, blocks: Some(blocks), writer: Some(writer) })
    }

    /// An input for one of `ends` ends of one flow. Its last messages are written when it is dropped.
    pub fn lane(&self, flow: u32, ends: u32) -> SenderLog {
        let size = (TOGETHER / ends.max(1) as usize).max(LEAST_BLOCK);
        SenderLog { size, flow, entries: Vec::with_capacity(size), blocks: self.blocks.clone() }
    }

    /// Ends the log, once all lanes are dropped.
    pub fn finish(mut self) -> Result<(), FlightError> {
        self.blocks = None;
        let written = self.writer.take().map(JoinHandle::join);
        let written = written.unwrap_or(Ok(Ok(()))).map_err(|_| FlightError::Thread("log"))?;
        written.map_err(|source| FlightError::Log { path: self.path.clone(), source })
    }
}

/// Of a run that ends early what was sent is written all the same.
impl Drop for MessageLog {
    fn drop(&mut self) {
        self.blocks = None;
        // Who does not ask for the log does not want its error either.
        let _ = self.writer.take().map(JoinHandle::join);
    }
}

/// Writes blocks until all their senders are gone.
fn write(mut log: LogWriter<File>, blocks: &Receiver<LogBlock>) -> io::Result<()> {
    let mut next_ns = 0;
    loop {
        if monotonic_ns() >= next_ns {
            log.write_clock(monotonic_ns(), realtime_ahead_ns())?;
            next_ns = monotonic_ns() + CLOCK_EVERY.as_nanos() as u64;
        }
        match blocks.recv_timeout(CLOCK_EVERY) {
            Ok((flow, entries)) => log.write_block(flow, &entries)?,
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => break,
        }
    }
    log.write_clock(monotonic_ns(), realtime_ahead_ns())?;
    log.finish().map(drop)
}

impl SenderLog {
    #[inline]
    pub fn add(&mut self, entry: LogEntry) {
        self.entries.push(entry);
        if self.entries.len() == self.size {
            self.flush();
        }
    }

    /// Adds the message with this header; `received_ns` is 0 where it was sent.
    #[inline]
    pub fn message(&mut self, header: &Header, received_ns: u64) {
        let Header { sequence, intended_ns, sent_ns, .. } = *header;
        self.add(LogEntry { sequence, intended_ns, sent_ns, received_ns });
    }

    fn flush(&mut self) {
        let full = std::mem::replace(&mut self.entries, Vec::with_capacity(self.size));
        // A writer that has failed says so at the end.
        let _ = self.blocks.as_ref().map(|blocks| blocks.send((self.flow, full)));
    }
}

impl Drop for SenderLog {
    fn drop(&mut self) {
        self.flush();
    }
}

impl SendTap for Option<SenderLog> {
    #[inline]
    fn sent(&mut self, header: &Header, accepted: bool) {
        if let (Some(lane), true) = (self, accepted) {
            lane.message(header, 0);
        }
    }
}

impl ReceiveTap for Option<SenderLog> {
    #[inline]
    fn delivered(&mut self, header: &Header, received_ns: u64) {
        if let Some(lane) = self {
            lane.message(header, received_ns);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsRawFd;

    use super::*;

    /// The join looks for a message within 65,536 others by default.
    #[test]
    fn many_ends_do_not_scatter_their_messages() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("sent.csv");
        const ENDS: u32 = 64;
        let log = MessageLog::create(&path, Columns::SENT).unwrap();
        let mut lanes: Vec<_> = (0..ENDS).map(|_| log.lane(7, ENDS)).collect();
        for sequence in 0..100_000 {
            let entry = LogEntry { sequence, intended_ns: 1, sent_ns: 2, received_ns: 0 };
            lanes[(sequence % u64::from(ENDS)) as usize].add(entry);
        }
        drop(lanes);
        log.finish().unwrap();
        let text = std::fs::read_to_string(&path).unwrap();
        let messages = text.lines().skip(1).filter(|line| !line.starts_with('#'));
        let numbers: Vec<u64> =
            messages.map(|line| line.split(',').nth(1).unwrap().parse().unwrap()).collect();
        assert_eq!(numbers.len(), 100_000);
        let farthest = (0..).zip(&numbers).map(|(at, &number): (u64, _)| number.abs_diff(at)).max();
        assert!(farthest.unwrap() < 16_384, "{farthest:?}");
    }

    #[test]
    fn a_full_disk_is_an_error_at_once() {
        let error =
            MessageLog::create(Path::new("/dev/full"), Columns::SENT).map(drop).unwrap_err().to_string();
        assert!(error.contains("/dev/full") && error.contains("free some space"), "{error}");
    }

    #[test]
    fn a_later_write_error_is_reported_at_the_end() {
        // A pipe, for its reader can go in the middle.
        let (reader, writer) = io::pipe().unwrap();
        let path = PathBuf::from(format!("/proc/self/fd/{}", writer.as_raw_fd()));
        let log = MessageLog::create(&path, Columns::SENT).unwrap();
        drop(reader);
        let mut lane = log.lane(7, 1);
        for sequence in 0..10_000 {
            lane.add(LogEntry { sequence, intended_ns: 1, sent_ns: 2, received_ns: 0 });
        }
        drop(lane);
        let error = log.finish().unwrap_err().to_string();
        assert!(error.contains(&path.display().to_string()) && error.contains("Broken pipe"), "{error}");
    }
}
