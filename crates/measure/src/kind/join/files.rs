//! The files of a join: which is what, and how each is read.

use std::fs;
use std::io::Read;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use netfathom_capture::error::CaptureError;
use netfathom_capture::input::{Content, Input};
use netfathom_capture::log::{Clock, Columns, LogReader, Message, Messages};
use netfathom_capture::packet::{Packet, Packets};
use netfathom_capture::reader::CaptureReader;
use netfathom_model::plan::{ClockChoice, JoinPlan};

use super::pipe::Pipe;
use crate::ground::error::{Failure, Mistake};
use crate::ground::observer::Live;

/// Progress is reported after this many packets.
const REPORT_EVERY: u64 = 4096;

#[derive(Debug, thiserror::Error)]
pub enum JoinError {
    #[error("{name}: {source}")]
    Unreadable { name: String, source: CaptureError },
    #[error("{0}")]
    Files(String),
}

impl Failure for JoinError {
    fn mistake(&self) -> Option<Mistake> {
        Some(Mistake::Named)
    }
}

impl JoinError {
    fn unreadable(name: &str) -> impl FnOnce(CaptureError) -> Self + '_ {
        move |source| match source {
            // It names the file itself.
            CaptureError::Open { .. } => Self::Files(source.to_string()),
            source => Self::Unreadable { name: name.into(), source },
        }
    }
}

/// Tells captures from logs, by their first bytes. What can be read only once, such as standard
/// input, is what the others are not.
pub fn sort(files: &[String]) -> Result<(Vec<String>, Vec<String>), JoinError> {
    let (mut captures, mut logs, mut unknown) = (Vec::new(), Vec::new(), Vec::new());
    for name in files {
        if !is_lasting(name) {
            unknown.push(name.clone());
            continue;
        }
        let input = Input::open(name).map_err(JoinError::unreadable(name))?;
        if input.content() == Content::Capture { &mut captures } else { &mut logs }.push(name.clone());
    }
    for name in unknown {
        if captures.is_empty() || !logs.is_empty() { &mut captures } else { &mut logs }.push(name);
    }
    if captures.is_empty() {
        return Err(JoinError::Files(format!(
            "no capture (pcap or pcapng) among {}: make one with tcpdump -i any -s 128 -w FILE udp",
            files.join(", ")
        )));
    }
    if logs.is_empty() {
        return Err(JoinError::Files(format!(
            "no message log among {}: `netfathom load send --log FILE` writes one, and a CSV with the columns sequence,sent_ns is one",
            files.join(", ")
        )));
    }
    Ok((captures, logs))
}

/// Whether a file is still there after it was read.
fn is_lasting(name: &str) -> bool {
    // The error for a missing file comes when it is opened.
    name != "-" && fs::metadata(name).map_or(true, |m| m.is_file() || m.is_dir())
}

/// The first file that is there under a second name, or twice under one.
fn named_twice<'a>(names: impl Iterator<Item = &'a String>) -> Option<&'a String> {
    let mut known = Vec::new();
    for name in names.filter(|name| is_lasting(name)) {
        let Ok(file) = fs::canonicalize(name) else { continue };
        if known.contains(&file) {
            return Some(name);
        }
        known.push(file);
    }
    None
}

/// Checks that everything can be read as often as it must be, and is another file than all else.
pub fn check_inputs(plan: &JoinPlan) -> Result<(), JoinError> {
    if let Some(name) = named_twice(plan.captures.iter().chain(&plan.logs)) {
        return Err(JoinError::Files(format!("{name} is named twice: name each capture and each log once")));
    }
    let passing = plan.captures.iter().chain(&plan.logs).find(|name| !is_lasting(name));
    match passing.filter(|_| reads_twice(plan)) {
        None => Ok(()),
        Some(name) => Err(JoinError::Files(format!(
            "{} can be read only once, but with --clock fitted, or with more than one capture or log, files are read several times: put it into a file",
            if name == "-" { "standard input" } else { name }
        ))),
    }
}

/// Whether each file is read more than once.
fn reads_twice(plan: &JoinPlan) -> bool {
    plan.clock == ClockChoice::Fitted || plan.captures.len() > 1 || plan.logs.len() > 1
}

/// A file's bytes, unpacked.
type Bytes<'a> = Box<dyn Read + 'a>;

/// Opens a file, and says how it was packed.
fn open<'a>(name: &str, stop: &'a AtomicBool) -> Result<(Bytes<'a>, Option<&'static str>), JoinError> {
    if is_lasting(name) {
        let input = Input::open(name).map_err(JoinError::unreadable(name))?;
        let packing = input.packing().name();
        return Ok((Box::new(input), packing));
    }
    let (pipe, packing) = Pipe::open(name, stop).map_err(JoinError::unreadable(name))?;
    Ok((Box::new(pipe), packing.name()))
}

/// A capture, and its format in words.
pub fn capture<'a>(
    name: &str,
    stop: &'a AtomicBool,
) -> Result<(CaptureReader<Bytes<'a>>, String), JoinError> {
    let (bytes, packing) = open(name, stop)?;
    let reader = CaptureReader::new(bytes).map_err(JoinError::unreadable(name))?;
    let format = reader.format();
    Ok((reader, packed(format, packing)))
}

/// A log, and its format in words.
pub fn log<'a>(name: &str, stop: &'a AtomicBool) -> Result<(LogReader<Bytes<'a>>, String), JoinError> {
    let (bytes, packing) = open(name, stop)?;
    let reader = LogReader::new(bytes).map_err(JoinError::unreadable(name))?;
    let format = reader.format();
    Ok((reader, packed(format, packing)))
}

fn packed(format: &str, packing: Option<&str>) -> String {
    packing.map_or_else(|| format.into(), |packing| format!("{format}, {packing}"))
}

/// Packets, or messages of a log, that somebody watches, who may want an end.
#[derive(Debug)]
pub struct Watched<'a, S> {
    source: S,
    live: &'a Live,
    stop: &'a AtomicBool,
    count: u64,
}

impl<'a, S> Watched<'a, S> {
    pub fn new(source: S, live: &'a Live, stop: &'a AtomicBool) -> Self {
        Self { source, live, stop, count: 0 }
    }

    /// Counts one more, and adds `reported` to the progress every [`REPORT_EVERY`]. Returns whether an end is wanted.
    #[inline]
    fn ends(&mut self, reported: u64) -> bool {
        self.count += 1;
        if !self.count.is_multiple_of(REPORT_EVERY) {
            return false;
        }
        self.live.sent.fetch_add(reported, Relaxed);
        self.stop.load(Relaxed)
    }
}

impl<P: Packets> Packets for Watched<'_, P> {
    #[inline]
    fn next_packet(&mut self) -> Result<Option<Packet<'_>>, CaptureError> {
        if self.ends(REPORT_EVERY) { Ok(None) } else { self.source.next_packet() }
    }

    #[inline]
    fn without_time(&self) -> u64 {
        self.source.without_time()
    }
}

impl<M: Messages> Messages for Watched<'_, M> {
    /// Progress counts packets, not these.
    #[inline]
    fn next_message(&mut self) -> Result<Option<Message>, CaptureError> {
        if self.ends(0) { Ok(None) } else { self.source.next_message() }
    }

    fn clock(&self) -> Clock {
        self.source.clock()
    }

    fn columns(&self) -> Columns {
        self.source.columns()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A log that never ends.
    struct Endless;

    impl Messages for Endless {
        fn next_message(&mut self) -> Result<Option<Message>, CaptureError> {
            Ok(Some(Message::default()))
        }

        fn clock(&self) -> Clock {
            Clock::default()
        }

        fn columns(&self) -> Columns {
            Columns::ALL
        }
    }

    #[test]
    fn what_is_left_of_a_log_is_not_read_once_an_end_is_wanted() {
        let (live, stop) = (Live::default(), AtomicBool::new(false));
        let mut log = Watched::new(Endless, &live, &stop);
        let mut read = || (0..3 * REPORT_EVERY).take_while(|_| log.next_message().unwrap().is_some()).count();
        assert_eq!(read() as u64, 3 * REPORT_EVERY);
        stop.store(true, Relaxed);
        assert!((read() as u64) < REPORT_EVERY);
        assert_eq!(live.sent.load(Relaxed), 0, "progress counts packets");
    }
}
