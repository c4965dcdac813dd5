//! Binary logs read.

use std::io::Read;

use super::{Clock, Columns, LogEntry, MESSAGES, MOST_OF_A_BLOCK, Message, STATEMENT, VERSION};
use crate::buffer::Buffer;
use crate::error::CaptureError;

#[derive(Debug)]
pub struct BinaryReader<R: Read> {
    source: Buffer<R>,
    pub columns: Columns,
    /// Bytes of a message.
    stride: usize,
    pub clock: Clock,
    flow: u32,
    /// Messages of the block that are still to come.
    left: usize,
    ended: bool,
}

impl<R: Read> BinaryReader<R> {
    pub fn new(mut source: Buffer<R>) -> Result<Self, CaptureError> {
        let there = source.have(16)?;
        let Some(header) = there.first_chunk::<16>().copied() else {
            let why = "the log ends within its header of 16 bytes".into();
            return Err(CaptureError::Damaged { offset: there.len() as u64, why });
        };
        source.consume(16);
        let (version, bits) = (u32_at(&header, 8), u32_at(&header, 12));
        if version != VERSION {
            return Err(CaptureError::NotThis(format!(
                "a netfathom log of version {version}; this build knows only {VERSION}: use the netfathom that wrote it"
            )));
        }
        let Some(columns) = Columns::of_bits(bits) else {
            let why = format!("the header names no times, or unknown ones ({bits:#x}); 1 to 7 can be");
            return Err(CaptureError::Damaged { offset: 12, why });
        };
        let clock = Clock::default();
        Ok(Self { source, columns, stride: columns.stride(), clock, flow: 0, left: 0, ended: false })
    }

    #[inline]
    pub fn next_message(&mut self) -> Result<Option<Message>, CaptureError> {
        while self.left == 0 {
            if self.ended || !self.block().inspect_err(|_| self.ended = true)? {
                self.ended = true;
                return Ok(None);
            }
        }
        let (stride, columns) = (self.stride, self.columns);
        let record = match self.source.bytes().get(..stride) {
            Some(record) => record,
            None => match self.more() {
                Ok(()) => &self.source.bytes()[..stride],
                Err(error) => {
                    (self.ended, self.left) = (true, 0);
                    return Err(error);
                }
            },
        };
        let entry = entry(record, columns);
        if let Some(late_ns) = entry.beyond() {
            (self.ended, self.left) = (true, 0);
            return self.damaged(format!(
                "message {} has a time of {late_ns} ns, after the year 2116",
                entry.sequence
            ));
        }
        self.source.consume(stride);
        self.left -= 1;
        Ok(Some(Message { flow: self.flow, entry, ..Message::default() }))
    }

    /// Sees to it that a whole message is there.
    #[cold]
    fn more(&mut self) -> Result<(), CaptureError> {
        if self.source.have(self.stride)?.len() < self.stride {
            return self.damaged(format!("the log ends with {} messages of a block to come", self.left));
        }
        Ok(())
    }

    /// Reads the head of a block; `false` at the end of the file.
    #[cold]
    fn block(&mut self) -> Result<bool, CaptureError> {
        let head = self.source.have(24)?;
        if head.is_empty() {
            return Ok(false);
        }
        let kind = if head.len() < 4 { 0 } else { u32_at(head, 0) };
        match (kind, head.len()) {
            (MESSAGES, 16..) => {
                let (flow, count, zero) = (u32_at(head, 4), u32_at(head, 8), u32_at(head, 12));
                if count as usize > MOST_OF_A_BLOCK || zero != 0 {
                    return self.damaged(format!(
                        "a block of {count} messages, reserved field {zero}: at most {MOST_OF_A_BLOCK} and 0 can be"
                    ));
                }
                (self.flow, self.left) = (flow, count as usize);
                self.source.consume(16);
                Ok(true)
            }
            (STATEMENT, 24..) => {
                let ahead = u64_at(head, 16) as i64;
                if let Err(why) = self.clock.state(ahead) {
                    return self.damaged(why);
                }
                self.source.consume(24);
                Ok(true)
            }
            (MESSAGES | STATEMENT, _) | (_, ..4) => {
                self.damaged("the log ends within the head of a block".into())
            }
            (kind, _) => self.damaged(format!(
                "a block of kind {kind}: {MESSAGES} (messages) and {STATEMENT} (clock) can be"
            )),
        }
    }

    fn damaged<T>(&self, why: String) -> Result<T, CaptureError> {
        Err(CaptureError::Damaged { offset: self.source.offset(), why })
    }
}

#[inline]
fn entry(record: &[u8], columns: Columns) -> LogEntry {
    let mut at = 8;
    let mut next = |there: bool| {
        if !there {
            return 0;
        }
        at += 8;
        u64_at(record, at - 8)
    };
    let [intended_ns, sent_ns, received_ns] =
        [next(columns.intended), next(columns.sent), next(columns.received)];
    LogEntry { sequence: u64_at(record, 0), intended_ns, sent_ns, received_ns }
}

/// The number at a place that is known to be there; 0 of one that is not.
#[inline]
fn u32_at(bytes: &[u8], at: usize) -> u32 {
    bytes.get(at..at + 4).and_then(|b| b.first_chunk()).map_or(0, |b| u32::from_le_bytes(*b))
}

#[inline]
fn u64_at(bytes: &[u8], at: usize) -> u64 {
    bytes.get(at..at + 8).and_then(|b| b.first_chunk()).map_or(0, |b| u64::from_le_bytes(*b))
}
