//! Logs in CSV read.

use std::io::Read;

use netfathom_model::print;

use super::{Clock, Columns, LogEntry, Message};
use crate::buffer::Buffer;
use crate::error::CaptureError;
use crate::packet::Resolution;

/// The longest line; twenty columns of the longest numbers have less.
const LONGEST_LINE: usize = 4096;
/// Lines to examine for their digits before the first message, if they are there already.
const LOOKED_AHEAD: usize = 1000;
/// Lines in a row that hold neither a message nor a statement; packed, millions of them take no space.
const MOST_IDLE_LINES: u32 = 1_000_000;
/// Columns beyond these make a line that no log has.
const MOST_COLUMNS: usize = 64;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum CsvColumn {
    Flow,
    Sequence,
    /// One of the three times, and how many ns its unit has as a power of ten.
    Time(usize, u32),
    Other,
}

#[derive(Debug)]
pub struct CsvReader<R: Read> {
    source: Buffer<R>,
    separator: u8,
    layout: Vec<CsvColumn>,
    pub columns: Columns,
    pub clock: Clock,
    /// Of each time, the finest digit that was written so far, as a power of ten of a second. Who leaves zeros out at
    /// the end does not count in longer steps where there are some.
    finest: [Option<u8>; 3],
    line: u64,
    ended: bool,
}

/// The times of a line, and their finest digits.
type Times = [Option<(u64, u8)>; 3];

impl<R: Read> CsvReader<R> {
    /// Reads as far as the line that names the columns.
    pub fn new(source: Buffer<R>) -> Result<Self, CaptureError> {
        let mut reader = Self {
            source,
            separator: b',',
            layout: Vec::new(),
            columns: Columns::default(),
            clock: Clock::default(),
            finest: [None; 3],
            line: 0,
            ended: false,
        };
        let begin = reader.source.have(3)?;
        if begin.starts_with(b"\xef\xbb\xbf") {
            reader.source.consume(3);
        }
        reader.read_header()?;
        Ok(reader)
    }

    fn read_header(&mut self) -> Result<(), CaptureError> {
        let Some(end) = self.next_line()? else {
            return none("no message log: it has no line that names columns".into());
        };
        let line = self.source.bytes()[..end].to_vec();
        self.separator = [b',', b';', b'\t'].into_iter().find(|s| line.contains(s)).unwrap_or(b',');
        let names: Vec<&[u8]> = line.split(|&b| b == self.separator).map(bare).collect();
        self.layout = names.iter().map(|name| column(name)).collect();
        let count = |wanted: &dyn Fn(&CsvColumn) -> bool| self.layout.iter().filter(|c| wanted(c)).count();
        let times =
            [0, 1, 2].map(|which| count(&|c| matches!(c, CsvColumn::Time(time, _) if *time == which)));
        let sequences = count(&|c| *c == CsvColumn::Sequence);
        if sequences == 0 && times == [0; 3] || names.len() > MOST_COLUMNS {
            return none(
                "no message log: it begins neither with `nfmsglog` nor with a line that names columns, such as sequence,sent_ns".into(),
            );
        }
        if sequences == 0 {
            return none(format!("no message log: line {} names no column `sequence`", self.line));
        }
        if times == [0; 3] {
            return none(format!(
                "no message log: line {} names no time; name one of intended_ns, sent_ns, received_ns (or _us, _ms, _s)",
                self.line
            ));
        }
        if sequences > 1 || times.iter().any(|&n| n > 1) || count(&|c| *c == CsvColumn::Flow) > 1 {
            return none(format!("no message log: line {} names a column twice", self.line));
        }
        self.columns = Columns { intended: times[0] > 0, sent: times[1] > 0, received: times[2] > 0 };
        self.source.consume(end);
        self.look_ahead();
        Ok(())
    }

    /// Looks at the digits of the lines that are there already.
    fn look_ahead(&mut self) {
        let lines = self.source.bytes().split(|&b| b == b'\n').take(LOOKED_AHEAD);
        let times: Vec<Times> =
            lines.filter_map(|line| Some(self.parse(line.trim_ascii()).ok()?.1)).collect();
        times.iter().for_each(|times| self.note_digits(times));
    }

    fn note_digits(&mut self, times: &Times) {
        for (finest, time) in self.finest.iter_mut().zip(times) {
            *finest = (*finest).max(time.map(|(_, digits)| digits));
        }
    }

    /// A message with its times, each the middle of its step.
    fn with_times(&mut self, message: Message, times: &Times) -> Result<Message, String> {
        self.note_digits(times);
        let mut resolution = Resolution::NANOSECONDS;
        let mut middle_ns = |which: usize| -> u64 {
            let (Some((time_ns, _)), Some(finest)) = (times[which], self.finest[which]) else { return 0 };
            let own = Resolution::of(finest);
            resolution = resolution.coarser(own);
            time_ns.saturating_add(own.half_step_ns().into())
        };
        let [intended_ns, sent_ns, received_ns] = [0, 1, 2].map(&mut middle_ns);
        let entry = LogEntry { intended_ns, sent_ns, received_ns, ..message.entry };
        match entry.beyond() {
            None => Ok(Message { entry, resolution, ..message }),
            Some(late_ns) => Err(format!("a time of {late_ns} ns, after the year 2116")),
        }
    }

    pub fn next_message(&mut self) -> Result<Option<Message>, CaptureError> {
        if self.ended {
            return Ok(None);
        }
        let message = self.read_message();
        self.ended = !matches!(message, Ok(Some(_)));
        message
    }

    fn read_message(&mut self) -> Result<Option<Message>, CaptureError> {
        let Some(end) = self.next_line()? else { return Ok(None) };
        let parsed = self.parse(&self.source.bytes()[..end]);
        match parsed.and_then(|(message, times)| self.with_times(message, &times)) {
            Ok(message) => {
                self.source.consume(end);
                Ok(Some(message))
            }
            Err(why) => self.damaged(&why),
        }
    }

    fn parse(&self, line: &[u8]) -> Result<(Message, Times), String> {
        let (mut message, mut times) = (Message::default(), Times::default());
        let mut fields = line.split(|&b| b == self.separator);
        for (at, column) in self.layout.iter().enumerate() {
            let Some(field) = fields.next() else {
                return Err(format!("{at} of {} fields", self.layout.len()));
            };
            let field = bare(field);
            match *column {
                CsvColumn::Other => {}
                CsvColumn::Sequence => message.entry.sequence = number(field, 0)?,
                CsvColumn::Flow => {
                    let flow = if field.is_empty() { 0 } else { number(field, 0)? };
                    message.flow =
                        u32::try_from(flow).map_err(|_| format!("flow {flow} is beyond {}", u32::MAX))?;
                }
                CsvColumn::Time(_, _) if field.is_empty() => {}
                CsvColumn::Time(which, power) => {
                    let time_ns = number(field, power)?;
                    // 0 says that there is none.
                    times[which] = (time_ns != 0).then_some((time_ns, digits(field, power)));
                }
            }
        }
        if fields.next().is_some() {
            return Err(format!("more than {} fields", self.layout.len()));
        }
        Ok((message, times))
    }

    /// Where the next line ends that is neither empty nor a comment, in what is peeked; it is still to be consumed.
    fn next_line(&mut self) -> Result<Option<usize>, CaptureError> {
        let mut idle_lines = 0;
        loop {
            let Some(end) = self.line_end()? else { return Ok(None) };
            let statements = self.clock.statements;
            self.line += 1;
            let line = self.source.bytes()[..end].trim_ascii();
            match line.first() {
                None => {}
                Some(b'#') => {
                    let line = String::from_utf8_lossy(line).into_owned();
                    if let Err(why) = self.state(&line) {
                        return self.damaged(&why);
                    }
                }
                Some(_) => return Ok(Some(end)),
            }
            idle_lines = if self.clock.statements == statements { idle_lines + 1 } else { 0 };
            if idle_lines > MOST_IDLE_LINES {
                let idle = print::counted(MOST_IDLE_LINES, "empty line");
                return self.damaged(&format!("over {idle} and comments in a row"));
            }
            self.source.consume(end);
        }
    }

    /// Where the line that comes next ends, its line feed included; `None` at the file's end.
    fn line_end(&mut self) -> Result<Option<usize>, CaptureError> {
        let feed = |bytes: &[u8]| bytes.iter().take(LONGEST_LINE).position(|&b| b == b'\n');
        if let Some(at) = feed(self.source.bytes()) {
            return Ok(Some(at + 1));
        }
        let there = self.source.have(LONGEST_LINE + 1)?;
        if let Some(at) = feed(there) {
            return Ok(Some(at + 1));
        }
        let length = there.len();
        if length > LONGEST_LINE {
            self.line += 1;
            return self.damaged(&format!("longer than {LONGEST_LINE} bytes"));
        }
        Ok((length > 0).then_some(length))
    }

    /// Understands `# clock=...`; every other comment is one.
    fn state(&mut self, comment: &str) -> Result<(), String> {
        let mut words = comment.trim_start_matches('#').split_ascii_whitespace();
        match words.next() {
            Some("clock=realtime") => self.clock.state(0)?,
            Some("clock=monotonic") => {
                let ahead = words.next().and_then(|w| w.strip_prefix("realtime_ahead_ns="));
                let ahead = ahead.and_then(|n| n.parse().ok()).ok_or(
                    "clock=monotonic needs realtime_ahead_ns=N, CLOCK_REALTIME minus CLOCK_MONOTONIC",
                )?;
                self.clock.state(ahead)?;
            }
            Some(word) if word.starts_with("clock=") => {
                return Err(format!("`{word}` is no clock: realtime and monotonic are"));
            }
            _ => {}
        }
        Ok(())
    }

    fn damaged<T>(&mut self, why: &str) -> Result<T, CaptureError> {
        self.ended = true;
        let why = format!("line {}: {why}", self.line);
        Err(CaptureError::Damaged { offset: self.source.offset(), why })
    }
}

fn none<T>(why: String) -> Result<T, CaptureError> {
    Err(CaptureError::NotThis(why))
}

fn column(name: &[u8]) -> CsvColumn {
    let name = String::from_utf8_lossy(name).to_ascii_lowercase();
    let (what, unit) = name.rsplit_once('_').unwrap_or((&name, ""));
    let power = match unit {
        "ns" => 0,
        "us" => 3,
        "ms" => 6,
        "s" => 9,
        _ => {
            return match name.as_str() {
                "flow" => CsvColumn::Flow,
                "sequence" => CsvColumn::Sequence,
                _ => CsvColumn::Other,
            };
        }
    };
    match what {
        "intended" => CsvColumn::Time(0, power),
        "sent" => CsvColumn::Time(1, power),
        "received" => CsvColumn::Time(2, power),
        _ => CsvColumn::Other,
    }
}

/// Without blanks and quotation marks around it.
fn bare(field: &[u8]) -> &[u8] {
    let field = field.trim_ascii();
    field.strip_prefix(b"\"").and_then(|f| f.strip_suffix(b"\"")).map_or(field, <[u8]>::trim_ascii)
}

/// Decimals of a second that a number in units of 10^`power` ns has: 9 for nanoseconds.
fn digits(field: &[u8], power: u32) -> u8 {
    let fraction = field.iter().position(|&b| b == b'.').map_or(0, |at| field.len() - at - 1);
    9 - power.saturating_sub(u32::try_from(fraction).unwrap_or(u32::MAX)) as u8
}

/// A decimal number times a power of ten, exactly; digits below one are left out.
fn number(field: &[u8], power: u32) -> Result<u64, String> {
    let bad = || format!("`{}` is no number", String::from_utf8_lossy(&field[..field.len().min(40)]));
    let large = || format!("`{}` is too large", String::from_utf8_lossy(&field[..field.len().min(40)]));
    let point = field.iter().position(|&b| b == b'.');
    let (whole, fraction) = field.split_at(point.unwrap_or(field.len()));
    let fraction = fraction.get(1..).unwrap_or_default();
    if whole.is_empty() || point.is_some() && fraction.is_empty() {
        return Err(bad());
    }
    let mut value = 0u64;
    let digits = fraction.iter().chain(std::iter::repeat(&b'0')).take(power as usize);
    for &byte in whole.iter().chain(digits) {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 {
            return Err(bad());
        }
        value = value.checked_mul(10).and_then(|v| v.checked_add(digit.into())).ok_or_else(large)?;
    }
    if fraction.iter().any(|b| !b.is_ascii_digit()) { Err(bad()) } else { Ok(value) }
}
