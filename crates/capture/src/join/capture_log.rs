//! A capture as the log of another one: for the way between the two.

use crate::error::CaptureError;
use crate::log::{Clock, Columns, LogEntry, Message, Messages};
use crate::packet::Packets;

use super::{Options, message};

/// The messages of a capture, sent when they were captured.
#[derive(Debug)]
pub struct Captured<'a, P> {
    packets: P,
    options: &'a Options,
}

impl<'a, P: Packets> Captured<'a, P> {
    /// Takes those packets for messages that a join with these options would.
    pub fn new(packets: P, options: &'a Options) -> Self {
        Self { packets, options }
    }
}

impl<P: Packets> Messages for Captured<'_, P> {
    fn next_message(&mut self) -> Result<Option<Message>, CaptureError> {
        while let Some(packet) = self.packets.next_packet()? {
            let Ok((number, _)) = message(&packet, self.options) else { continue };
            // A capture from before 1970 has no time that a log could have, and a packet without
            // a time has 0, which is none in a log either.
            let timed = packet.time_ns > 0;
            let sent_ns = if timed { u64::try_from(packet.middle_ns()).unwrap_or(0) } else { 0 };
            let entry = LogEntry { sequence: number.sequence, sent_ns, ..LogEntry::default() };
            return Ok(Some(Message { flow: number.flow, resolution: packet.resolution, entry }));
        }
        Ok(None)
    }

    fn clock(&self) -> Clock {
        Clock::default()
    }

    /// None of them: when a message was captured is the time of day, and none of those that it
    /// is stamped with.
    fn columns(&self) -> Columns {
        Columns::default()
    }
}
