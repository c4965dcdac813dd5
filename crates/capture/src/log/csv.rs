//! Logs in CSV read.

use std::io::Read;

use super::source::Source;
use super::{Clock, Columns, Message};
use crate::error::CaptureError;

/// The longest line; twenty columns of the longest numbers have less.
const LONGEST_LINE: usize = 4096;
/// Columns beyond these make a line that no log has.
const MOST_COLUMNS: usize = 64;

/// What a column is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Column {
    Flow,
    Sequence,
    /// A time, and how many ns its unit has as a power of ten.
    Intended(u32),
    Sent(u32),
    Received(u32),
    Other,
}

/// Reads a log in CSV.
#[derive(Debug)]
pub struct CsvReader<R: Read> {
    source: Source<R>,
    separator: u8,
    layout: Vec<Column>,
    columns: Columns,
    clock: Clock,
    /// Lines that were read.
    line: u64,
    ended: bool,
}

impl<R: Read> CsvReader<R> {
    /// Reads as far as the line that names the columns.
    pub fn new(source: Source<R>) -> Result<Self, CaptureError> {
        let mut reader = Self {
            source,
            separator: b',',
            layout: Vec::new(),
            columns: Columns::default(),
            clock: Clock::default(),
            line: 0,
            ended: false,
        };
        let begin = reader.source.peek(3)?;
        if begin.starts_with(b"\xef\xbb\xbf") {
            reader.source.consume(3);
        }
        reader.read_header()?;
        Ok(reader)
    }

    /// See [`super::Messages::clock`].
    #[inline]
    pub fn clock(&self) -> Clock {
        self.clock
    }

    /// See [`super::Messages::columns`].
    pub fn columns(&self) -> Columns {
        self.columns
    }

    fn read_header(&mut self) -> Result<(), CaptureError> {
        let Some((start, end)) = self.next_line()? else {
            return none("no message log: it has no line that names columns".into());
        };
        let line = self.source.ready()[start..end].to_vec();
        self.separator = [b',', b';', b'\t'].into_iter().find(|s| line.contains(s)).unwrap_or(b',');
        let names: Vec<&[u8]> = line.split(|&b| b == self.separator).map(bare).collect();
        self.layout = names.iter().map(|name| column(name)).collect();
        let count = |wanted: fn(&Column) -> bool| self.layout.iter().filter(|c| wanted(c)).count();
        let times = [
            count(|c| matches!(c, Column::Intended(_))),
            count(|c| matches!(c, Column::Sent(_))),
            count(|c| matches!(c, Column::Received(_))),
        ];
        let sequences = count(|c| *c == Column::Sequence);
        if sequences == 0 && times == [0; 3] || names.len() > MOST_COLUMNS {
            return none(
                "no message log: it begins neither with `nfmsglog` nor with a line that names columns, such as sequence,sent_ns".into(),
            );
        }
        if sequences == 0 {
            return none(
                "no message log: line 1 names no column `sequence`".replace('1', &self.line.to_string()),
            );
        }
        if times == [0; 3] {
            return none(format!(
                "no message log: line {} names no time; name one of intended_ns, sent_ns, received_ns (or _us, _ms, _s)",
                self.line
            ));
        }
        if sequences > 1 || times.iter().any(|&n| n > 1) || count(|c| *c == Column::Flow) > 1 {
            return none(format!("no message log: line {} names a column twice", self.line));
        }
        self.columns = Columns { intended: times[0] > 0, sent: times[1] > 0, received: times[2] > 0 };
        self.source.consume(end);
        Ok(())
    }

    /// See [`super::Messages::next_message`].
    pub fn next_message(&mut self) -> Result<Option<Message>, CaptureError> {
        if self.ended {
            return Ok(None);
        }
        let message = self.read_message();
        self.ended = !matches!(message, Ok(Some(_)));
        message
    }

    fn read_message(&mut self) -> Result<Option<Message>, CaptureError> {
        let Some((start, end)) = self.next_line()? else { return Ok(None) };
        let parsed = self.parse(&self.source.ready()[start..end]);
        match parsed {
            Ok(message) => {
                self.source.consume(end);
                Ok(Some(message))
            }
            Err(why) => self.damaged(&why),
        }
    }

    fn parse(&self, line: &[u8]) -> Result<Message, String> {
        let mut message = Message::default();
        let mut fields = line.split(|&b| b == self.separator);
        for (at, column) in self.layout.iter().enumerate() {
            let Some(field) = fields.next() else {
                return Err(format!("{at} of {} fields", self.layout.len()));
            };
            let field = bare(field);
            let time = |power| if field.is_empty() { Ok(0) } else { number(field, power) };
            match *column {
                Column::Other => {}
                Column::Sequence => message.entry.sequence = number(field, 0)?,
                Column::Flow => {
                    let flow = if field.is_empty() { 0 } else { number(field, 0)? };
                    message.flow =
                        u32::try_from(flow).map_err(|_| format!("flow {flow} is beyond {}", u32::MAX))?;
                }
                Column::Intended(power) => message.entry.intended_ns = time(power)?,
                Column::Sent(power) => message.entry.sent_ns = time(power)?,
                Column::Received(power) => message.entry.received_ns = time(power)?,
            }
        }
        if fields.next().is_some() {
            return Err(format!("more than {} fields", self.layout.len()));
        }
        Ok(message)
    }

    /// The next line that is neither empty nor a comment, as a range of what is peeked; its
    /// end is still to be consumed.
    fn next_line(&mut self) -> Result<Option<(usize, usize)>, CaptureError> {
        loop {
            let Some(end) = self.line_end()? else { return Ok(None) };
            self.line += 1;
            let line = trimmed(&self.source.ready()[..end]);
            match line.first() {
                None => {}
                Some(b'#') => {
                    let line = String::from_utf8_lossy(line).into_owned();
                    if let Err(why) = self.state(&line) {
                        return self.damaged(&why);
                    }
                }
                Some(_) => return Ok(Some((0, end))),
            }
            self.source.consume(end);
        }
    }

    /// Where the line that comes next ends, its line feed included; `None` at the file's end.
    fn line_end(&mut self) -> Result<Option<usize>, CaptureError> {
        let feed = |bytes: &[u8]| bytes.iter().take(LONGEST_LINE).position(|&b| b == b'\n');
        if let Some(at) = feed(self.source.ready()) {
            return Ok(Some(at + 1));
        }
        let ready = self.source.peek(LONGEST_LINE + 1)?;
        if let Some(at) = feed(ready) {
            return Ok(Some(at + 1));
        }
        let length = ready.len();
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
            Some("clock=realtime") => self.clock.state(0),
            Some("clock=monotonic") => {
                let ahead = words.next().and_then(|w| w.strip_prefix("realtime_ahead_ns="));
                let ahead = ahead.and_then(|n| n.parse().ok()).ok_or(
                    "clock=monotonic needs realtime_ahead_ns=N, CLOCK_REALTIME minus CLOCK_MONOTONIC",
                )?;
                self.clock.state(ahead);
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

fn column(name: &[u8]) -> Column {
    let name = String::from_utf8_lossy(name).to_ascii_lowercase();
    let (what, unit) = name.rsplit_once('_').unwrap_or((&name, ""));
    let power = match unit {
        "ns" => 0,
        "us" => 3,
        "ms" => 6,
        "s" => 9,
        _ => {
            return match name.as_str() {
                "flow" => Column::Flow,
                "sequence" => Column::Sequence,
                _ => Column::Other,
            };
        }
    };
    match what {
        "intended" => Column::Intended(power),
        "sent" => Column::Sent(power),
        "received" => Column::Received(power),
        _ => Column::Other,
    }
}

fn trimmed(field: &[u8]) -> &[u8] {
    field.trim_ascii()
}

/// Without blanks and quotation marks around it.
fn bare(field: &[u8]) -> &[u8] {
    let field = trimmed(field);
    field.strip_prefix(b"\"").and_then(|f| f.strip_suffix(b"\"")).map_or(field, trimmed)
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
    if fraction.iter().any(|b| !b.is_ascii_digit()) {
        return Err(bad());
    }
    Ok(value)
}
