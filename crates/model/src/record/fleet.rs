//! What `netfathom fleet` measured over many hosts.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Cause, Distribution, WatchAccount, WatchedStage};
use crate::plan::{FleetPlan, FleetTest};
use crate::verdict::Verdict;

/// What a measurement over a fleet produced.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct FleetResult {
    /// What was asked for.
    pub plan: FleetPlan,
    /// Every host that was asked for, whether it took part or not, in the order of names.
    pub hosts: Vec<FleetHost>,
    /// Pairs that were to be measured.
    pub planned_pairs: u32,
    /// Every pair that was tried, in the order in which they were.
    pub pairs: Vec<FleetPair>,
    /// How each host stands out from the others, the worst first.
    pub effects: Vec<HostEffect>,
    /// Steps of a load.
    pub steps: Vec<FleetStep>,
    /// What each host measured by itself.
    pub figures: Vec<FleetFigure>,
    /// Round trips of all pairs, their histograms added.
    pub merged: Option<Distribution>,
    /// How close together the senders started; `None` where nothing was to start together.
    pub start: Option<FleetStart>,
    /// Why it ended before all was measured.
    pub cut: Option<String>,
    /// The run that it goes on from, whatever it keeps of that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resumed_from: Option<String>,
}

impl FleetResult {
    /// Hosts that took part to the end.
    #[must_use]
    pub fn took_part(&self) -> usize {
        self.hosts.iter().filter(|host| host.missing.is_none()).count()
    }

    /// Pairs that have a value.
    pub fn measured(&self) -> impl Iterator<Item = &FleetPair> {
        self.pairs.iter().filter(|pair| pair.failed.is_none())
    }

    /// Whether a host, a pair or a sender is missing, or it was cut short.
    #[must_use]
    pub fn is_partial(&self) -> bool {
        self.cut.is_some()
            || self.took_part() < self.hosts.len()
            || self.measured().count() < self.planned_pairs as usize
            || self.steps.iter().any(|step| !step.failed.is_empty())
    }

    /// Whether pairs are enough to judge hosts by.
    #[must_use]
    pub fn has_enough_pairs(&self) -> bool {
        2 * self.measured().count() >= self.planned_pairs as usize
    }

    /// Whether a host has figures of its own, or pairs among enough others.
    #[must_use]
    pub fn is_judged(&self, name: &str) -> bool {
        let has_pair = || self.measured().any(|pair| pair.from == name || pair.to == name);
        let has_figure = || self.figures.iter().any(|figure| figure.hosts.contains_key(name));
        has_figure() || self.has_enough_pairs() && has_pair()
    }

    /// Hosts that are named as different.
    pub fn outliers(&self) -> impl Iterator<Item = &HostEffect> {
        self.effects.iter().filter(|effect| effect.named)
    }
}

/// A host of a fleet.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct FleetHost {
    /// The name of its agent.
    pub name: String,
    /// Labels that its agent was given.
    pub labels: BTreeMap<String, String>,
    /// Where others send to; `None` of a host without an agent.
    pub address: Option<String>,
    /// The netfathom of its agent.
    pub version: Option<String>,
    /// Its kernel.
    pub kernel: Option<String>,
    /// Its CPUs.
    pub cpus: Option<u32>,
    /// What its agent does not take part in, and why.
    pub lacks: Vec<(String, String)>,
    /// Its clock against that of the first host.
    pub clock: Option<FleetClock>,
    /// How far what it measured by itself can be trusted; `None` of one that measured pairs only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verdict: Option<Verdict>,
    /// Why it did not take part, or not to the end.
    pub missing: Option<String>,
}

/// The clock of a host against another one's, by exchanges of datagrams.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FleetClock {
    /// How far CLOCK_REALTIME stands ahead, by the exchange with the shortest round trip.
    pub offset_ns: i64,
    /// How far that may be wrong: half of that round trip.
    pub bound_ns: u64,
}

/// How close together the senders of a round started.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FleetStart {
    /// Rounds, or steps, with at least two senders.
    pub rounds: u32,
    /// From the first start to the last, median of the rounds.
    pub spread_p50_ns: u64,
    /// The largest.
    pub spread_max_ns: u64,
    /// How late the senders were by their own clocks: 99th percentile of all. `None` in records of earlier versions.
    pub late_p99_ns: Option<u64>,
    /// The largest of that.
    pub late_max_ns: u64,
    /// Share of the time by which they were late that they waited for a CPU, 0 to 1; `None` where that is not known of
    /// each.
    pub waited: Option<f64>,
    /// How far the clocks of two hosts may be apart all the same; `None` where those of a host are not known.
    pub bound_ns: Option<u64>,
}

/// One pair of hosts.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct FleetPair {
    /// The sender.
    pub from: String,
    /// The receiver.
    pub to: String,
    /// The round, from 0.
    pub round: u32,
    /// When it started after the planned instant, by the clock of the sender.
    pub late_ns: Option<i64>,
    /// For how long of the last 50 ms before its start the sender was ready and had no CPU; `None` where its kernel does
    /// not count that, and in records of earlier versions.
    pub start_waited_ns: Option<u64>,
    /// Bytes a second that arrived.
    pub bytes_per_s: Option<f64>,
    /// Segments that were sent again.
    pub retransmits: Option<u32>,
    /// Smoothed round trip of the connection.
    pub rtt_us: Option<u32>,
    /// What limited the sender, in words.
    pub send_cause: Option<(Cause, String)>,
    /// What limited the receiver, in words.
    pub receive_cause: Option<(Cause, String)>,
    /// Round trips of messages, from their departure.
    pub round_trip: Option<Distribution>,
    /// Messages that were sent.
    pub sent: Option<u64>,
    /// Messages that did not arrive.
    pub lost: Option<u64>,
    /// Its value, divided by what its two hosts let expect.
    pub residual: Option<f64>,
    /// Why there is no value.
    pub failed: Option<String>,
}

impl FleetPair {
    /// The value that the test is about.
    #[must_use]
    pub fn value(&self, test: FleetTest) -> Option<f64> {
        match test {
            FleetTest::Throughput => self.bytes_per_s,
            FleetTest::Latency => self.round_trip.as_ref().filter(|d| d.n > 0).map(|d| d.p50_ns as f64),
            FleetTest::Loss => Some(self.lost? as f64 / self.sent.filter(|&n| n > 0)? as f64),
            FleetTest::Load | FleetTest::Stack | FleetTest::Capacity => None,
        }
    }
}

/// Which end of a pair.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Side {
    /// Where it sends.
    Send,
    /// Where it receives.
    Receive,
    /// Either.
    Both,
}

named! { Side: Send = "send", Receive = "receive", Both = "both sides" }

/// How a host stands out from the others.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct HostEffect {
    /// The host.
    pub host: String,
    /// On which side it is stronger.
    pub side: Side,
    /// What is compared, where a host measures several things by itself.
    pub figure: Option<String>,
    /// Its value, divided by the median of the pairs without it, or of the other hosts.
    pub ratio: f64,
    /// Pairs with it that are worse than that median.
    pub worse: u32,
    /// Pairs with it.
    pub pairs: u32,
    /// Its effect in units of what chance does to it.
    pub strength: f64,
    /// Whether it is named as different.
    pub named: bool,
    /// What limited most of the pairs with it at its own end.
    pub cause: Option<String>,
}

/// One step of a load from many senders to one receiver.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct FleetStep {
    /// Asked for, all senders together.
    pub rate_per_s: f64,
    /// Senders that took part.
    pub senders: u32,
    /// Messages that were planned.
    pub planned: u64,
    /// Messages that were sent.
    pub sent: u64,
    /// Messages that arrived.
    pub delivered: u64,
    /// Sent, over the time of the step.
    pub sent_per_s: f64,
    /// Delivered, over the time of the step.
    pub delivered_per_s: f64,
    /// The largest 99th percentile of how late a sender was.
    pub lag_p99_ns: i64,
    /// Whether all was sent on schedule and delivered.
    pub sustained: bool,
    /// Why senders failed.
    pub failed: Vec<(String, String)>,
    /// Where the messages of one sender spent their time at the receiver, where that was seen.
    pub received: Option<FleetReceived>,
    /// Why it was not, such as a missing privilege.
    pub unseen: Option<String>,
}

/// What a receiver saw of the messages of one sender.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct FleetReceived {
    /// From the link layer to the end of the copy to the receiver.
    pub total: Distribution,
    /// Every stage, in the order in which a message passes them; they add up to the total.
    pub stages: Vec<WatchedStage>,
    /// Messages that came, and those of them that have times.
    pub seen: u64,
    /// See `seen`.
    pub timed: u64,
    /// What became of them all. Records made before lack it.
    pub account: Option<WatchAccount>,
}

/// What every host measured by itself.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct FleetFigure {
    /// The name of the quantity.
    pub name: String,
    /// What it is, in words.
    pub title: String,
    /// Its unit, as `netfathom runs show` has it.
    pub unit: String,
    /// Whether less is better.
    pub less: bool,
    /// Whether it is one of those that the measurement is made for.
    pub main: bool,
    /// The median of the trials, host by host.
    pub hosts: BTreeMap<String, f64>,
}
