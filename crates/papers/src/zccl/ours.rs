//! What was measured here, found again among the runs, and the words for it.

use netfathom_model::layer::{Form, Layer, SocketOption, Strategy};
use netfathom_model::plan::{MessageTest, Placement};
use netfathom_model::record::{MessageCell, MessageResult, MessageTrial, Shares};

use crate::beside;
use crate::rounds::Rounds;

pub type Ours<'a> = beside::Ours<'a, MessageResult>;

/// What stands for the paper's sockets.
pub fn sockets() -> Layer {
    Layer::reference()
}

/// The paper's sockets of test 3 (7.7.2).
pub fn headerless() -> Layer {
    Layer::Bare { form: Form::Headerless, options: vec![(SocketOption::NoDelay, None)] }
}

/// What stands for the paper's library.
pub fn zccl() -> Layer {
    library(Strategy::Zccl)
}

pub fn library(strategy: Strategy) -> Layer {
    Layer::Library { strategy }
}

impl<'a> Ours<'a> {
    /// The bare sockets that all is compared with.
    pub fn sockets(&self) -> Layer {
        self.result.plan.layers.first().cloned().unwrap_or_else(sockets)
    }

    /// The pairs of processors in order, those that share most first.
    pub fn pairs(&self) -> Vec<usize> {
        let mut pairs: Vec<usize> = (0..self.result.pairs.len()).collect();
        pairs.sort_by_key(|&pair| self.result.pairs[pair].shares);
        pairs
    }

    /// The two that conclusions are drawn on: the one that shares most and the one that shares
    /// least, which is nearest to two machines.
    pub fn extremes(&self) -> Vec<usize> {
        let pairs = self.pairs();
        let last = pairs.last().copied().filter(|_| pairs.len() > 1);
        pairs.first().copied().into_iter().chain(last).collect()
    }

    /// What the processors of a pair share, as it stands in names of rows.
    pub fn on(&self, pair: usize) -> &'static str {
        self.result.pairs[pair].shares.name()
    }

    pub fn where_on(&self, pair: usize) -> &'static str {
        match self.result.pairs[pair].shares {
            Shares::Same => "both ends on one CPU",
            Shares::Core => "ends on one core",
            Shares::Cache => "each end on a CPU of its own, which share a cache",
            Shares::Nothing => "each end on a CPU of its own",
            Shares::Hosts => "each end on a host of its own",
        }
    }

    /// `None` of one that is VOID, too: it decides nothing.
    pub fn cell(
        &self,
        placement: Placement,
        pair: usize,
        bytes: u64,
        layer: &Layer,
    ) -> Option<&'a MessageCell> {
        let wanted = (placement, pair, bytes);
        let is_wanted =
            |c: &&MessageCell| (c.placement, c.pair, c.bytes) == wanted && c.layer == *layer && !c.is_void();
        self.result.cells.iter().find(is_wanted)
    }

    /// A layer's values with both ends in user space, round by round.
    pub fn rounds(&self, pair: usize, bytes: u64, layer: &Layer, value: Value) -> Rounds {
        rounds(self.cell(Placement::UU, pair, bytes, layer), value)
    }
}

/// What is taken from a trial.
pub type Value = fn(&MessageTrial) -> Option<f64>;

/// A cell's values; none where it has no trial.
pub fn rounds(cell: Option<&MessageCell>, value: Value) -> Rounds {
    let trials = cell.into_iter().flat_map(|cell| &cell.trials);
    trials.filter_map(|trial| Some((trial.round, value(trial)?))).collect()
}

/// Messages, round trips or replies a second.
pub fn per_s(trial: &MessageTrial) -> Option<f64> {
    trial.per_s()
}

/// How long one of them took in the mean, µs: time over number, as the paper has it.
pub fn mean_us(trial: &MessageTrial) -> Option<f64> {
    trial.per_s().map(|rate| 1e6 / rate)
}

/// The median of its times, µs.
pub fn median_us(trial: &MessageTrial) -> Option<f64> {
    (trial.messages > 0).then_some(trial.p50_ns as f64 / 1e3)
}

/// Processor time of both ends' threads, µs a message.
pub fn cpu_us(trial: &MessageTrial) -> Option<f64> {
    let both_ns = trial.client.cpu_ns? + trial.server.cpu_ns?;
    a_message_us(trial, both_ns)
}

/// Some of a trial's time, µs a message.
pub fn a_message_us(trial: &MessageTrial, ns: u64) -> Option<f64> {
    (trial.messages > 0).then(|| ns as f64 / 1e3 / trial.messages as f64)
}

/// What a test counts, one of them.
pub fn what(test: MessageTest) -> &'static str {
    match test {
        MessageTest::Oneway => "message",
        MessageTest::Pingpong => "round trip",
        MessageTest::Post => "reply",
    }
}

/// `4 B`, `64 KiB`.
pub fn size(bytes: u64) -> String {
    match bytes {
        b if b > 1024 && b % 1024 == 0 => format!("{} KiB", b / 1024),
        b => format!("{b} B"),
    }
}

#[cfg(test)]
mod tests {
    use super::super::fixture::{PAIRS, result};
    use super::*;

    #[test]
    fn conclusions_are_drawn_on_the_nearest_and_the_farthest_pair() {
        let of = |made: &MessageResult| {
            let ours = Ours { name: "oneway", result: made };
            (ours.pairs(), ours.extremes())
        };
        let mut made = result(MessageTest::Oneway, &[], |_| None);
        assert_eq!(of(&made), (vec![0, 1], vec![0, 1]));
        made.pairs = vec![PAIRS[1], PAIRS[1], PAIRS[0]];
        made.pairs[0].shares = Shares::Cache;
        assert_eq!(of(&made), (vec![2, 0, 1], vec![2, 1]));
        made.pairs.truncate(1);
        assert_eq!(of(&made), (vec![0], vec![0]));
        made.pairs.clear();
        assert_eq!(of(&made), (vec![], vec![]));
    }

    #[test]
    fn sizes_are_written_as_the_paper_has_them() {
        assert_eq!([4, 1024, 2048, 65_536, 1500].map(size), ["4 B", "1024 B", "2 KiB", "64 KiB", "1500 B"]);
    }
}
