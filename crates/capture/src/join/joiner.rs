//! The join itself: packets pull the log along.

use netfathom_model::plan::Numbering;
use netfathom_model::record::PacketKind;

use super::flows::Flows;
use super::number::Number;
use super::table::{Marks, Slot, State, Table};
use super::{Joined, Options, Sighting, Stamp};
use crate::log::{Message, Messages};
use crate::packet::{PacketDirection, Resolution};

/// A run of this many packets, each near the one before, shows that the log has a gap, or the capture
/// begins late. One number alone may be anything.
const RUN: u32 = 32;
/// Times are farther apart only where one clock begins with the machine and the other in 1970:
/// ten years.
const ONE_BEGINNING_NS: u64 = 315_000_000_000_000_000;

pub struct Joiner<'a, M, F> {
    options: &'a Options,
    log: &'a mut M,
    each: F,
    table: Table,
    flows: Flows,
    pub joined: Joined,
    /// Whether the log says when messages were sent, by the clock that they are stamped with.
    log_has_sent: bool,
    /// Whether a stamp can stand in for a sending time that such a log has not. Its times may have
    /// been put on the time of day, which no message is stamped with.
    stamps_stand_in: bool,
    /// The latest time in the log so far.
    newest_ns: u64,
    log_ended: bool,
    /// Messages of other flows that were read in search of one and wait for their packets, since
    /// one was found like this. They are bounded, for the one may have ended, or never begin.
    astray: u32,
    /// Where packets beyond the log's end so far are, and how many came there.
    run: (u64, u32),
}

impl<'a, M: Messages, F: FnMut(&Sighting)> Joiner<'a, M, F> {
    pub fn new(log: &'a mut M, options: &'a Options, each: F) -> Self {
        let log_has_sent = log.columns().sent;
        Self {
            options,
            log,
            each,
            table: Table::new(options.window),
            flows: Flows::default(),
            joined: Joined::default(),
            log_has_sent,
            stamps_stand_in: log_has_sent,
            newest_ns: 0,
            log_ended: false,
            astray: 0,
            run: (0, 0),
        }
    }

    /// A packet with the number of a message.
    #[inline]
    pub fn packet(&mut self, number: Number, stamp: Option<Stamp>, way: Option<PacketDirection>) {
        let Number { flow, sequence, .. } = number;
        let captured_ns = stamp.map(|stamp| stamp.middle_ns);
        let mut marks = Marks::default();
        if let Some(way) = way {
            marks.set_way(way);
        }
        if captured_ns.is_none() {
            marks.set(Marks::UNTIMED);
        }
        let waiting = self.table.find(flow, sequence);
        if waiting.as_ref().is_some_and(|slot| slot.state != State::Listed) {
            return self.again(number, stamp, way);
        }
        let highest = self.flows.of(flow).sighted.get_or_insert(sequence);
        if sequence < *highest {
            marks.set(Marks::REORDERED);
        }
        *highest = sequence.max(*highest);
        let sighted = Slot {
            flow,
            state: State::Sighted,
            marks,
            captured: stamp.map(|stamp| stamp.resolution).unwrap_or_default(),
            listed: Resolution::default(),
            sequence,
            sent_ns: number.sent_ns,
            second: captured_ns.unwrap_or(0) as u64,
            third: 0,
        };
        match waiting {
            // The log was ahead.
            Some(slot) => {
                let both = sighted.joined(slot, self.stamps_stand_in);
                *slot = both;
                self.astray = self.astray.saturating_sub(1);
                self.meet(&sighted, &both);
            }
            None => self.read_on(sighted),
        }
    }

    /// Reads the log as far as it should have this message by now, which waits if it has not.
    #[inline]
    fn read_on(&mut self, sighted: Slot) {
        while self.is_behind(&sighted) {
            let Some(listed) = self.next_listed() else { break };
            if listed.sequence == sighted.sequence && listed.flow == sighted.flow {
                self.astray = 0;
                let both = sighted.joined(&listed, self.stamps_stand_in);
                let gone = self.table.put(both);
                self.leaves(&gone);
                return self.meet(&sighted, &both);
            }
            self.astray += u32::from(listed.flow != sighted.flow);
            self.list(listed);
        }
        let gone = self.table.put(sighted);
        self.leaves(&gone);
    }

    /// Whether the log has not come to this message yet.
    #[inline]
    fn is_behind(&mut self, sighted: &Slot) -> bool {
        if self.log_ended {
            return false;
        }
        let sequence = sighted.sequence;
        let listed = self.flows.of(sighted.flow).listed;
        if listed.is_some_and(|listed| listed >= sequence) {
            return false;
        }
        let may_stray = self.astray < self.options.window / 2;
        // Usually near the last number of the log.
        let near = |listed: u64| sequence - listed <= u64::from(self.options.window);
        if listed.is_some_and(near) && may_stray {
            return true;
        }
        match listed {
            _ if self.is_log_older(sighted) => true,
            // A clock that is not what it is taken for must not keep the log from being read.
            None => may_stray,
            Some(_) => may_stray && self.is_run(sequence),
        }
    }

    /// Whether all entries of the log so far are older than this message: then reading on loses
    /// nothing, because packets of older messages have come. Unknown if clocks differ.
    fn is_log_older(&self, sighted: &Slot) -> bool {
        // The number of somebody else's message may be anything.
        if self.options.numbering != Numbering::Netfathom {
            return false;
        }
        let this_ns = if self.log_has_sent {
            sighted.sent_ns
        } else {
            // It was captured on its way in before it was received.
            let captured_ns = self.captured_ns(sighted, self.log.clock().ahead_ns);
            let Some(captured_ns) = captured_ns else { return false };
            captured_ns as u64
        };
        // A log without times never grows old.
        let tells = self.newest_ns != 0 || self.joined.messages == 0;
        tells && self.newest_ns <= this_ns && this_ns - self.newest_ns < ONE_BEGINNING_NS
    }

    /// Whether packets of such numbers have come for a while.
    #[cold]
    fn is_run(&mut self, sequence: u64) -> bool {
        let (at, length) = self.run;
        // Asked again for the same packet, while the log is read on.
        if at != sequence {
            let near = sequence.abs_diff(at) <= u64::from(self.options.window);
            self.run = (sequence, if near { length.saturating_add(1) } else { 1 });
        }
        self.run.1 >= RUN
    }

    #[inline]
    fn next_listed(&mut self) -> Option<Slot> {
        let Message { flow, resolution, entry } = match self.log.next_message() {
            Ok(Some(message)) => message,
            Ok(None) => {
                self.log_ended = true;
                return None;
            }
            Err(error) => {
                (self.log_ended, self.joined.log_damage) = (true, Some(error));
                return None;
            }
        };
        self.joined.messages += 1;
        self.joined.log_resolution = self.joined.log_resolution.coarser(resolution);
        self.joined.received += u64::from(entry.received_ns != 0);
        // Other people's messages say nothing of flows.
        let flow = if self.options.numbering == Numbering::Netfathom { flow } else { 0 };
        self.newest_ns = self.newest_ns.max(entry.intended_ns).max(entry.sent_ns).max(entry.received_ns);
        let listed = self.flows.of(flow).listed.get_or_insert(entry.sequence);
        *listed = entry.sequence.max(*listed);
        Some(Slot {
            flow,
            state: State::Listed,
            marks: Marks::default(),
            captured: Resolution::default(),
            listed: resolution,
            sequence: entry.sequence,
            sent_ns: entry.sent_ns,
            second: entry.received_ns,
            third: self.log.clock().ahead_ns,
        })
    }

    /// Puts a message of the log to the packet that waits for it, or lets it wait for one.
    fn list(&mut self, listed: Slot) {
        let Some(slot) = self.table.find(listed.flow, listed.sequence) else {
            let gone = self.table.put(listed);
            return self.leaves(&gone);
        };
        if slot.state != State::Sighted {
            return self.joined.repeat(listed.second != 0);
        }
        let sighted = *slot;
        let both = sighted.joined(&listed, self.stamps_stand_in);
        *slot = both;
        self.meet(&sighted, &both);
    }

    /// A message with both halves: its packet and its log entry.
    #[inline]
    fn meet(&mut self, sighted: &Slot, both: &Slot) {
        self.joined.kinds.add(PacketKind::Joined);
        if both.sent_ns != 0 {
            let apart_ns = both.sent_ns.abs_diff(sighted.sent_ns);
            self.stamps_stand_in = self.log_has_sent && apart_ns < ONE_BEGINNING_NS;
        }
        self.joined.reordered += u64::from(sighted.marks.has(Marks::REORDERED));
        let captured_ns = self.captured_ns(sighted, both.third);
        let first = both.sighting(sighted.sent_ns, captured_ns, sighted.marks.way());
        (self.each)(&first);
        if sighted.marks.has(Marks::AGAIN) {
            let captured_ns = Some(self.on_log(sighted.third, both.third));
            (self.each)(&Sighting { captured_ns, way: first.way.map(other), first: false, ..first });
        }
    }

    /// A packet of a message that was captured before. In the other direction it is reported, once.
    #[cold]
    fn again(&mut self, number: Number, stamp: Option<Stamp>, way_now: Option<PacketDirection>) {
        self.joined.kinds.add(PacketKind::Duplicate);
        let Some(Stamp { middle_ns: captured_ns, resolution }) = stamp else { return };
        let Some(slot) = self.table.find(number.flow, number.sequence) else { return };
        let is_other = slot.marks.way().zip(way_now).is_some_and(|(before, now)| before != now);
        if !is_other || slot.marks.has(Marks::AGAIN) {
            return;
        }
        slot.marks.set(Marks::AGAIN);
        // There is one for both sights.
        slot.captured = slot.captured.coarser(resolution);
        if slot.state == State::Sighted {
            slot.third = captured_ns;
            return;
        }
        let slot = *slot;
        let captured_ns = Some(self.on_log(captured_ns, slot.third));
        (self.each)(&Sighting { first: false, ..slot.sighting(number.sent_ns, captured_ns, way_now) });
    }

    /// A message that leaves the table, with one half or both.
    #[inline]
    fn leaves(&mut self, gone: &Slot) {
        match gone.state {
            State::Empty | State::Joined => {}
            State::Listed => self.joined.missing += 1,
            State::Sighted => self.unlisted(gone),
        }
    }

    /// A message that the log has not.
    #[cold]
    fn unlisted(&mut self, sighted: &Slot) {
        self.joined.kinds.add(PacketKind::NotInLog);
        if self.flows.of(sighted.flow).listed.is_none() {
            return;
        }
        self.joined.unlogged += 1;
        let ahead_ns = self.log.clock().ahead_ns;
        let captured_ns = self.captured_ns(sighted, ahead_ns);
        let stamped = sighted.sighting(sighted.sent_ns, captured_ns, sighted.marks.way());
        let sent_ns = stamped.sent_ns.filter(|_| self.stamps_stand_in);
        (self.each)(&Sighting { sent_ns, received_ns: None, in_log: false, ..stamped });
    }

    /// When a packet was captured, on the clock of the log.
    #[inline]
    fn captured_ns(&self, sighted: &Slot, ahead_ns: i64) -> Option<i64> {
        let timed = !sighted.marks.has(Marks::UNTIMED);
        timed.then(|| self.on_log(sighted.second as i64, ahead_ns))
    }

    /// A time of the capture on the clock of the log.
    #[inline]
    fn on_log(&self, captured_ns: i64, ahead_ns: i64) -> i64 {
        match &self.options.fitted {
            None => captured_ns.wrapping_sub(ahead_ns),
            Some(fitted) => captured_ns.wrapping_sub(fitted.ahead_ns(captured_ns)),
        }
    }

    /// Reads the rest of the log, and tells what is left.
    pub fn finish(mut self) -> Joined {
        while let Some(listed) = if self.log_ended { None } else { self.next_listed() } {
            self.list(listed);
        }
        let mut table = std::mem::replace(&mut self.table, Table::new(1));
        table.drain().for_each(|slot| self.leaves(&slot));
        Joined { clock: self.log.clock(), ..self.joined }
    }
}

fn other(way: PacketDirection) -> PacketDirection {
    match way {
        PacketDirection::In => PacketDirection::Out,
        PacketDirection::Out => PacketDirection::In,
    }
}
