//! What came of a trial's messages at the far end: counts by kind, in constant memory.

use netfathom_model::message::{HEADER_BYTES, Header, MAGIC};
use netfathom_model::record::Contention;
use serde::{Deserialize, Serialize};

use super::sequence_window::{Arrival, SPAN, SequenceWindow};

/// What was read, counted by kind. Each datagram is of exactly one.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Read {
    /// Messages of the trial, each counted once.
    pub delivered: u64,
    pub duplicates: u64,
    /// Of those delivered, the ones received after a later one of the same sender.
    pub reordered: u64,
    /// Messages of another trial.
    pub foreign: u64,
    /// Ours by their first bytes, but cut off before their end.
    pub truncated: u64,
    /// No message at all.
    pub garbage: u64,
    /// Datagrams that the receiver's own buffer had no room for.
    #[serde(rename = "socket_drops")]
    pub dropped: u64,
    /// Datagrams with a wrong checksum that came to the other host, whoever sent them; 0 where the reader is on this one.
    #[serde(default)]
    pub corrupted: u64,
    pub cpu_ns: u64,
    /// How often it slept until something came (voluntary context switches).
    #[serde(skip)]
    pub sleeps: u64,
    /// No far end reports: the counts above are unknown.
    #[serde(skip)]
    pub unreported: bool,
    /// Who had the reader's processor.
    #[serde(skip)]
    pub contention: Option<Contention>,
}

impl Read {
    pub fn datagrams(&self) -> u64 {
        self.delivered + self.duplicates + self.foreign + self.truncated + self.garbage
    }

    /// Adds what somebody else read of the same trial.
    pub fn merge(&mut self, other: &Self) {
        self.delivered += other.delivered;
        self.duplicates += other.duplicates;
        self.reordered += other.reordered;
        self.foreign += other.foreign;
        self.truncated += other.truncated;
        self.garbage += other.garbage;
        self.dropped += other.dropped;
        self.corrupted += other.corrupted;
        self.cpu_ns += other.cpu_ns;
        self.sleeps += other.sleeps;
    }
}

/// Determines each datagram's kind. The messages of one trial come from `lanes` senders. Each sends
/// every `lanes`-th sequence, so order is a matter of each alone.
pub struct Tally {
    flow: u32,
    planned: u64,
    lanes: Vec<SequenceWindow>,
    pub read: Read,
}

/// A message of the trial, the first of its sequence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct New {
    pub header: Header,
    /// How many messages of the same sender are missing right before it.
    pub gap: u64,
}

impl Tally {
    /// For a trial with that flow, `lanes` senders and `planned` messages: a sequence beyond them is damaged.
    pub fn new(flow: u32, lanes: u32, planned: u64) -> Self {
        let lanes = (0..lanes.max(1)).map(|_| SequenceWindow::default()).collect();
        Self { flow, planned, lanes, read: Read::default() }
    }

    /// Counts a datagram; `cut` tells that it was longer than what was received of it.
    #[inline]
    pub fn take(&mut self, payload: &[u8], cut: bool) -> Option<New> {
        let Some(header) = Header::read(payload).filter(|_| !cut) else {
            let ours = payload.starts_with(&MAGIC.to_be_bytes()) && (cut || payload.len() < HEADER_BYTES);
            *(if ours { &mut self.read.truncated } else { &mut self.read.garbage }) += 1;
            return None;
        };
        if header.flow != self.flow {
            self.read.foreign += 1;
            return None;
        }
        if header.sequence >= self.planned {
            self.read.garbage += 1;
            return None;
        }
        let lanes = self.lanes.len() as u64;
        let gap = match self.lanes[(header.sequence % lanes) as usize].arrive(header.sequence / lanes) {
            Arrival::Duplicate => {
                self.read.duplicates += 1;
                return None;
            }
            Arrival::Late => {
                self.read.reordered += 1;
                0
            }
            Arrival::InOrder { gap } => gap,
        };
        self.read.delivered += 1;
        Some(New { header, gap })
    }

    /// The sequences that are missing right before a message: the latest 65,536 of them.
    pub fn missing_before(&self, new: &New) -> impl Iterator<Item = u64> + use<> {
        let lanes = self.lanes.len() as u64;
        let sequence = new.header.sequence;
        (1..=new.gap.min(SPAN)).rev().map(move |back| sequence - back * lanes)
    }

    /// The sequences of one sender that are missing at the end, of `tried` that it sent.
    pub fn missing_at_end(&self, lane: u32, tried: u64) -> impl Iterator<Item = u64> + use<> {
        let lanes = self.lanes.len() as u64;
        let next = self.lanes.get(lane as usize).map_or(tried, |window| window.next);
        (next.max(tried.saturating_sub(SPAN))..tried).map(move |n| n * lanes + u64::from(lane))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(flow: u32, sequence: u64) -> Vec<u8> {
        let mut payload = vec![0; 64];
        Header { flow, sequence, intended_ns: 1, sent_ns: 2 }.write(&mut payload);
        payload
    }

    #[test]
    fn each_kind_of_datagram_is_counted_as_what_it_is() {
        let mut tally = Tally::new(5, 1, 1000);
        for (payload, cut) in [
            (message(5, 0), false),
            (message(5, 2), false),
            (message(5, 2), false),
            (message(5, 1), false),
            (message(6, 3), false),
            (message(5, 4), true),
            (message(5, 4)[..31].to_vec(), false),
            (vec![], false),
            (vec![1; 31], false),
            (vec![0xff; 4000], true),
        ] {
            tally.take(&payload, cut);
        }
        let want = Read {
            delivered: 3,
            duplicates: 1,
            reordered: 1,
            foreign: 1,
            truncated: 2,
            garbage: 3,
            ..Read::default()
        };
        assert_eq!(tally.read, want);
        assert_eq!(tally.read.datagrams(), 10);
    }

    #[test]
    fn order_is_a_matter_of_each_sender_alone() {
        let mut tally = Tally::new(5, 2, 1000);
        // One sender is far ahead of the other.
        for sequence in [0, 2, 4, 6, 1, 3, 5] {
            assert!(tally.take(&message(5, sequence), false).is_some());
        }
        assert_eq!((tally.read.delivered, tally.read.reordered), (7, 0));
        let new = tally.take(&message(5, 11), false).unwrap();
        assert_eq!(tally.missing_before(&new).collect::<Vec<_>>(), [7, 9]);
        assert_eq!(tally.missing_at_end(0, 6).collect::<Vec<_>>(), [8, 10]);
        assert_eq!(tally.missing_at_end(1, 6).count(), 0);
    }

    #[test]
    fn a_damaged_sequence_is_garbage() {
        let mut tally = Tally::new(5, 1, 1000);
        assert!(tally.take(&message(5, u64::MAX), false).is_none());
        assert!(tally.take(&message(5, 1000), false).is_none());
        assert_eq!(tally.read.garbage, 2);
        assert!(tally.take(&message(5, 999), false).is_some());
    }
}
