//! Where messages wait for their other half.

use super::Sighting;
use crate::packet::{PacketDirection, Resolution};

/// What is known of the message in a slot.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum State {
    #[default]
    Empty,
    Joined,
    /// The log has it, the capture not yet: `sent_ns`, `received_ns`, `ahead_ns`.
    Listed,
    /// The capture has it, the log not yet: `sent_ns` of the message itself, `captured_ns`, and
    /// `again_ns` of its other way.
    Sighted,
}

/// Which way a message was seen, and what else is to be kept of the sight.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Marks(u8);

impl Marks {
    pub const IN: u8 = 1;
    pub const OUT: u8 = 2;
    /// Was seen both ways.
    pub const AGAIN: u8 = 4;
    /// Was captured after a later one.
    pub const REORDERED: u8 = 8;
    /// The capture has no time for it.
    pub const UNTIMED: u8 = 16;

    #[inline]
    pub fn set(&mut self, mark: u8) {
        self.0 |= mark;
    }

    #[inline]
    pub fn set_way(&mut self, way: PacketDirection) {
        self.set(match way {
            PacketDirection::In => Self::IN,
            PacketDirection::Out => Self::OUT,
        });
    }

    pub fn way(self) -> Option<PacketDirection> {
        match (self.has(Self::IN), self.has(Self::OUT)) {
            (true, _) => Some(PacketDirection::In),
            (_, true) => Some(PacketDirection::Out),
            _ => None,
        }
    }

    /// Whether it was noted.
    #[inline]
    pub fn has(self, mark: u8) -> bool {
        self.0 & mark != 0
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Slot {
    pub flow: u32,
    pub state: State,
    pub marks: Marks,
    pub captured: Resolution,
    pub listed: Resolution,
    pub sequence: u64,
    /// When it was sent; 0 if unknown.
    pub sent_ns: u64,
    /// When it was received; 0 if unknown. Of a [`State::Sighted`] one, when it was captured.
    pub second: u64,
    /// What CLOCK_REALTIME was ahead of the log. Of a [`State::Sighted`] one, when it was
    /// captured on its other way.
    pub third: i64,
}

impl Slot {
    /// A sighted message and the same of the log as one. Its own stamp may stand in for a
    /// sending time that the log has not, where both are by one clock.
    #[inline]
    pub fn joined(&self, listed: &Self, stamp_stands_in: bool) -> Self {
        let sent_ns = if listed.sent_ns == 0 && stamp_stands_in { self.sent_ns } else { listed.sent_ns };
        Self { state: State::Joined, marks: self.marks, captured: self.captured, sent_ns, ..*listed }
    }

    /// The first sight of the message of a slot with its entry in the log.
    #[inline]
    pub fn sighting(
        &self,
        stamped_ns: u64,
        captured_ns: Option<i64>,
        way: Option<PacketDirection>,
    ) -> Sighting {
        let known = |time_ns: u64| (time_ns != 0).then_some(time_ns);
        Sighting {
            flow: self.flow,
            sequence: self.sequence,
            sent_ns: known(self.sent_ns),
            stamped_ns: known(stamped_ns),
            received_ns: known(self.second),
            captured_ns,
            uncertainty_ns: self.captured.half_step_ns() + self.listed.half_step_ns(),
            way,
            first: true,
            in_log: true,
        }
    }

    #[inline]
    fn is(&self, flow: u32, sequence: u64) -> bool {
        self.sequence == sequence && self.flow == flow && self.state != State::Empty
    }
}

/// A table of as many sets of two slots as messages may be apart.
#[derive(Debug)]
pub struct Table {
    slots: Box<[Slot]>,
    mask: u64,
}

impl Table {
    /// For messages that are at most so far apart.
    pub fn new(window: u32) -> Self {
        let sets = (window.max(1) as usize).next_power_of_two();
        Self { slots: vec![Slot::default(); 2 * sets].into(), mask: sets as u64 - 1 }
    }

    /// Flows begin at different places, for most begin with the same numbers.
    #[inline]
    fn set(&self, flow: u32, sequence: u64) -> usize {
        let begin = u64::from(flow).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 24;
        2 * (sequence.wrapping_add(begin) & self.mask) as usize
    }

    #[inline]
    pub fn find(&mut self, flow: u32, sequence: u64) -> Option<&mut Slot> {
        let set = self.set(flow, sequence);
        self.slots[set..set + 2].iter_mut().find(|slot| slot.is(flow, sequence))
    }

    /// Puts a message that is not there into its place, and returns the one that had to go.
    #[inline]
    pub fn put(&mut self, new: Slot) -> Slot {
        let set = self.set(new.flow, new.sequence);
        let [a, b] = [&self.slots[set], &self.slots[set + 1]];
        let waits = |slot: &Slot| matches!(slot.state, State::Listed | State::Sighted);
        // A slot that does not wait for its other half goes first. Of two that wait, one of the same flow is farther
        // off than the window, while one of another flow may be recent.
        let b_is_older = a.flow == b.flow && b.sequence < a.sequence;
        let second = match (waits(a), waits(b)) {
            (true, false) => true,
            (false, true) => false,
            (false, false) => a.state != State::Empty && (b.state == State::Empty || b_is_older),
            (true, true) => b_is_older || a.flow != new.flow && b.flow == new.flow,
        };
        std::mem::replace(&mut self.slots[set + usize::from(second)], new)
    }

    pub fn drain(&mut self) -> impl Iterator<Item = Slot> + '_ {
        self.slots.iter_mut().map(std::mem::take).filter(|slot| slot.state != State::Empty)
    }
}
