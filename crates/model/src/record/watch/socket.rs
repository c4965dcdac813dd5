//! The messages of single sockets.

use std::net::SocketAddr;

use netfathom_stats::Histogram;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{WatchStage, WatchedProcess};
use crate::path::Direction;
use crate::record::Distribution;
use crate::record::distribution::histogram;

/// Times with a coarse histogram.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WatchTimes {
    /// How many.
    pub n: u64,
    /// How many of them were below zero.
    pub negative: u64,
    /// Sum, exact.
    pub sum_ns: i64,
    /// Mean; 0 if `n` is.
    pub mean_ns: f64,
    /// Median.
    pub p50_ns: i64,
    /// 99th percentile.
    pub p99_ns: i64,
    /// `log2` of the buckets an octave: a bucket is `2^-grain` of its lower bound wide.
    pub grain: u32,
    /// The buckets that hold anything, index and count, as in other times.
    pub buckets: Vec<(u32, u64)>,
}

impl WatchTimes {
    /// Of a histogram and the exact sum of what it holds.
    #[must_use]
    pub fn new(histogram: &Histogram, sum_ns: i64) -> Self {
        let n = histogram.count();
        let quantile = |q| histogram.quantile(q).unwrap_or(0);
        Self {
            n,
            negative: histogram.negative(),
            sum_ns,
            mean_ns: if n > 0 { sum_ns as f64 / n as f64 } else { 0.0 },
            p50_ns: quantile(0.5),
            p99_ns: quantile(0.99),
            grain: histogram.grain(),
            buckets: histogram.buckets().map(|(index, count)| (index as u32, count)).collect(),
        }
    }

    fn histogram(&self) -> Histogram {
        histogram(self.grain, self.negative, &self.buckets)
    }

    /// The middle of the bucket that holds each; 0 if `n` is.
    #[must_use]
    pub fn quantiles_ns<const N: usize>(&self, all: [f64; N]) -> [i64; N] {
        let histogram = self.histogram();
        all.map(|q| histogram.quantile(q).unwrap_or(0))
    }

    /// Both together.
    #[must_use]
    pub fn with(&self, other: &Self) -> Self {
        if self.n == 0 {
            return other.clone();
        }
        let mut histogram = self.histogram();
        histogram.merge(&other.histogram());
        Self::new(&histogram, self.sum_ns.saturating_add(other.sum_ns))
    }

    /// What came since an earlier state of the same times.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        let mut histogram = Histogram::new(self.grain.min(16));
        histogram.add_negative(self.negative.saturating_sub(earlier.negative));
        let mut before = earlier.buckets.iter().peekable();
        for &(index, count) in &self.buckets {
            while before.next_if(|bucket| bucket.0 < index).is_some() {}
            let same = before.next_if(|bucket| bucket.0 == index).map_or(0, |bucket| bucket.1);
            histogram.add_bucket(index as usize, count.saturating_sub(same));
        }
        Self::new(&histogram, self.sum_ns.saturating_sub(earlier.sum_ns))
    }
}

impl From<&Distribution> for WatchTimes {
    fn from(d: &Distribution) -> Self {
        Self {
            n: d.n,
            negative: d.negative,
            sum_ns: d.sum_ns,
            mean_ns: d.mean_ns,
            p50_ns: d.p50_ns,
            p99_ns: d.p99_ns,
            grain: d.grain,
            buckets: d.buckets.clone(),
        }
    }
}

/// The time of all messages in one stage.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WatchedSum {
    /// Which.
    pub stage: WatchStage,
    /// Sum, exact.
    pub sum_ns: i64,
}

/// One direction of a socket.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SocketWay {
    /// Of whole messages.
    pub total: WatchTimes,
    /// The stages that any message passed; they add up to the total.
    pub stages: Vec<WatchedSum>,
}

impl SocketWay {
    /// The stage that takes most, with its share of the whole time; empty where none is known.
    #[must_use]
    pub fn largest(&self) -> String {
        let most = self.stages.iter().max_by_key(|sum| sum.sum_ns).filter(|sum| sum.sum_ns > 0);
        most.map_or_else(String::new, |most| {
            let share = most.sum_ns as f64 / (self.total.sum_ns as f64).max(1.0);
            format!("{} {}", most.stage.name(), crate::print::percent(share))
        })
    }

    /// Both together.
    #[must_use]
    pub fn with(&self, other: &Self) -> Self {
        let both = |stage: WatchStage| {
            let sums = self.stages.iter().chain(&other.stages).filter(|sum| sum.stage == stage);
            let sum_ns = sums.map(|sum| sum.sum_ns).reduce(i64::saturating_add)?;
            Some(WatchedSum { stage, sum_ns })
        };
        let stages = WatchStage::ALL.into_iter().filter_map(both).collect();
        Self { total: self.total.with(&other.total), stages }
    }

    /// What came since an earlier state of the same socket.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        let before = |stage| earlier.stages.iter().find(|sum| sum.stage == stage).map_or(0, |sum| sum.sum_ns);
        let since = |sum: &WatchedSum| {
            let sum_ns = sum.sum_ns.saturating_sub(before(sum.stage));
            WatchedSum { sum_ns, ..*sum }
        };
        Self { total: self.total.since(&earlier.total), stages: self.stages.iter().map(since).collect() }
    }
}

/// The other end of a socket, or `own` and its address of one that has none, such as a server's of UDP.
#[must_use]
pub fn end_named(peer: Option<&str>, local: Option<&str>) -> String {
    match (peer, local) {
        (Some(peer), _) => peer.into(),
        // Of Unix it is no address.
        (None, Some(local)) if local.parse::<SocketAddr>().is_ok() => format!("own {local}"),
        (None, local) => local.unwrap_or_default().into(),
    }
}

/// A socket, or several together.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WatchSocket {
    /// Its number in this run; 0 of several sockets together.
    pub id: u64,
    /// Its own address and port; `None` of several.
    pub local: Option<String>,
    /// Those at the other end; `None` of several, or if it has none.
    pub peer: Option<String>,
    /// The process that used it first.
    pub process: Option<WatchedProcess>,
    /// What came in.
    pub receive: SocketWay,
    /// What was sent.
    pub send: SocketWay,
}

impl WatchSocket {
    /// What went that way.
    #[must_use]
    pub fn way(&self, direction: Direction) -> &SocketWay {
        match direction {
            Direction::Rx => &self.receive,
            Direction::Tx => &self.send,
        }
    }

    /// How many messages went either way.
    #[must_use]
    pub fn messages(&self) -> u64 {
        self.receive.total.n.saturating_add(self.send.total.n)
    }

    /// Adds the messages of another one.
    pub fn add(&mut self, other: &Self) {
        self.receive = self.receive.with(&other.receive);
        self.send = self.send.with(&other.send);
    }

    /// What came since an earlier state of the same socket.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        Self {
            receive: self.receive.since(&earlier.receive),
            send: self.send.since(&earlier.send),
            ..self.clone()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn times(values: &[i64]) -> WatchTimes {
        let mut histogram = Histogram::new(2);
        values.iter().for_each(|&value| histogram.add(value));
        WatchTimes::new(&histogram, values.iter().sum())
    }

    #[test]
    fn what_is_added_can_be_taken_away() {
        let (first, later) = (times(&[-3, 5, 900]), times(&[7, 900, 70_000]));
        let both = first.with(&later);
        assert_eq!((both.n, both.sum_ns), (6, first.sum_ns + later.sum_ns));
        assert_eq!(both.since(&first), later);
        assert_eq!(both.since(&WatchTimes::default()), both);
        assert_eq!(WatchTimes::default().with(&later), later);
        assert_eq!(later.since(&later).n, 0);
    }

    #[test]
    fn sums_of_a_forged_record_stay_in_their_types() {
        let total = WatchTimes { n: u64::MAX, sum_ns: i64::MAX, ..WatchTimes::default() };
        let stages = vec![WatchedSum { stage: WatchStage::Read, sum_ns: i64::MAX }; 2];
        let way = SocketWay { total, stages };
        let mut socket = WatchSocket { receive: way.clone(), send: way.clone(), ..WatchSocket::default() };
        assert_eq!(socket.messages(), u64::MAX);
        socket.add(&socket.clone());
        assert_eq!((socket.receive.total.sum_ns, &socket.send.stages[..]), (i64::MAX, &way.stages[..1]));
    }
}
