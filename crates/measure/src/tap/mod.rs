//! How the times of the link layer are taken, and what came of it.

use std::collections::BTreeMap;

use netfathom_bpf::stack::WINDOWS;
use netfathom_model::accounting::{Accounting, Fate};
use netfathom_model::path::{Direction, Stage, Tap};
use netfathom_model::record::{Added, Captured};
use netfathom_model::sample::Sample;
use netfathom_stats::{Distribution, Windowed};

use crate::load::accounting::hook_counts;
use crate::load::lateness::Lateness;
use crate::load::window::{GRAIN, PART_GRAIN};

pub mod bpf;
pub mod capture;
pub mod error;
pub mod pcap;
pub mod probe;
pub mod sampling;
pub mod send_samples;
pub mod timestamping;
pub mod undisturbed;

/// The times of undisturbed messages.
#[derive(Clone, Debug)]
pub struct UndisturbedSums {
    /// Messages that could be judged as disturbed or not.
    pub judged: u64,
    pub times: Windowed,
    /// Those that could be divided into stages.
    pub stages: Vec<(Stage, Distribution)>,
    /// How late they were sent.
    pub lateness: Lateness,
}

/// Stack times of one direction of one trial, as a tap collects them.
#[derive(Clone, Debug)]
pub struct Collected {
    /// Application to link layer or back.
    pub total: Windowed,
    pub stages: Vec<(Stage, Windowed)>,
    /// Messages with a stack time that could not be divided into stages.
    pub unstaged: u64,
    /// The stack times of messages that found nothing foreign on their processors; `None` where that is not known.
    pub undisturbed: Option<UndisturbedSums>,
    /// Stages that this kernel cannot show to the tap, and why.
    pub missing: Vec<(Stage, String)>,
}

impl Collected {
    /// Empty, with room for the stages.
    pub fn new(stages: &[Stage]) -> Self {
        let part = |&stage| (stage, Windowed::new(PART_GRAIN, WINDOWS));
        Self {
            total: Windowed::new(GRAIN, WINDOWS),
            stages: stages.iter().map(part).collect(),
            unstaged: 0,
            undisturbed: None,
            missing: Vec::new(),
        }
    }

    /// Adds what another tap of the same stages collected.
    pub fn merge(&mut self, other: &Self) {
        self.total.merge(&other.total);
        self.stages.iter_mut().zip(&other.stages).for_each(|(a, b)| a.1.merge(&b.1));
        self.unstaged += other.unstaged;
    }
}

/// What a tap has to say after a trial.
#[derive(Default)]
pub struct Tapped {
    pub paths: Vec<(Direction, Collected)>,
    pub samples: Vec<Sample>,
    /// Packets that the kernel dropped, by its own names; `None` if the tap does not watch that.
    pub drops: Option<BTreeMap<String, u64>>,
    /// Messages that a hook saw and could not join.
    pub lost: BTreeMap<&'static str, u64>,
    /// How far the wall clock moved, where stamps were converted.
    pub clock_moved_ns: Option<i64>,
    /// What was captured, where the tap is a capture.
    pub captured: Vec<Captured>,
    /// What the main tap adds, where it was attached alternately.
    pub added: Vec<Added>,
}

impl Tapped {
    /// Adds to the accounting what the tap joined and what it could not.
    pub fn complete(&self, tap: Option<Tap>, mut accounting: Accounting) -> Accounting {
        let Some(tap) = tap else { return accounting };
        let joined = |d| self.paths.iter().find(|p| p.0 == d).map(|p| p.1.total.distribution.moments.n);
        let mut seen = Vec::new();
        if let Some(n) = joined(Direction::Tx) {
            // What a queue dropped did not come to the link layer.
            let left = accounting.sent.saturating_sub(accounting.count(&Fate::QueueDrop));
            accounting.unjoined_tx = left.abs_diff(n);
            seen.push((link_layer(tap, Direction::Tx), n));
        }
        if let Some(n) = joined(Direction::Rx) {
            let delivered = accounting.count(&Fate::Delivered);
            accounting.unjoined_rx = delivered.abs_diff(n);
            seen.push((link_layer(tap, Direction::Rx), n));
        }
        accounting.unstaged_rx = self.paths.iter().map(|p| p.1.unstaged).sum();
        accounting.hooks = hook_counts(&seen, &self.lost);
        accounting
    }
}

pub fn link_layer(tap: Tap, direction: Direction) -> &'static str {
    match (tap, direction) {
        (Tap::Bpf | Tap::Fentry, Direction::Tx) => "net_dev_start_xmit",
        (Tap::Bpf | Tap::Fentry, Direction::Rx) => "netif_receive_skb",
        (Tap::Timestamping, Direction::Tx) => "TX_SOFTWARE",
        (Tap::Timestamping, Direction::Rx) => "RX_SOFTWARE",
        (Tap::Pcap, Direction::Tx) => "capture out",
        (Tap::Pcap, Direction::Rx) => "capture in",
    }
}

/// Why the tap has no times of a stage, other than for want of a hook.
pub fn unavailable(tap: Tap, stage: Stage, qdisc: &str) -> String {
    match (tap, stage) {
        (Tap::Bpf | Tap::Fentry, Stage::Qdisc) => format!("the device has no queue of its own ({qdisc})"),
        (Tap::Bpf | Tap::Fentry, _) => "no message passed it".into(),
        (Tap::Timestamping, s) if s.direction() == Direction::Rx => {
            "SO_TIMESTAMPING has a single stamp on the way in".into()
        }
        (Tap::Pcap, _) => "a capture has a single time at the device".into(),
        (Tap::Timestamping, _) => "SO_TIMESTAMPING has no stamp there".into(),
    }
}

#[cfg(test)]
mod tests {
    use netfathom_model::accounting::FateCount;

    use super::*;

    #[test]
    fn what_a_queue_dropped_needs_no_time() {
        let mut tx = Collected::new(&[]);
        (0..60).for_each(|_| tx.total.distribution.add(1));
        let tapped = Tapped { paths: vec![(Direction::Tx, tx)], ..Tapped::default() };
        let untimed = |fate| {
            let fates = vec![FateCount { fate, count: 40 }];
            let accounting = Accounting { sent: 100, fates, ..Accounting::default() };
            tapped.complete(Some(Tap::Bpf), accounting).unjoined_tx
        };
        assert_eq!([untimed(Fate::QueueDrop), untimed(Fate::OnTheWay)], [0, 40]);
    }
}
