//! What agents and controllers say to each other, in JSON: typed, bounded, and never a command or a path.

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};

use netfathom_model::plan::FleetTest;
use netfathom_model::record::{Cause, Distribution, FleetReceived};
use netfathom_model::verdict::Verdict;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

/// Rises when a message changes its meaning. An agent of another version is named and left out.
pub const VERSION: u32 = 6;
/// An order is a few hundred bytes; a longer one is not read.
pub const MOST_ORDER_BYTES: usize = 32 << 10;
/// What a NATS server carries unless it is set up otherwise, with some room.
pub const MOST_REPORT_BYTES: usize = 900 << 10;

/// What an agent is, as it answers a call.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Facts {
    pub version: u32,
    pub name: String,
    /// Drawn when the agent starts: an order to an earlier one of the same name is none to this.
    pub incarnation: String,
    pub labels: BTreeMap<String, String>,
    pub tool: String,
    pub kernel: String,
    pub cpus: u32,
    /// Where other hosts send to.
    pub address: IpAddr,
    /// Its CLOCK_REALTIME at the time of the answer.
    pub now_utc_ns: u64,
    /// What it does not take part in, and why.
    pub lacks: Vec<(String, String)>,
    /// The session that it works for.
    pub busy: bool,
}

/// A controller that is there: agents end what they do for it when it no longer says so.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Beat {
    pub session: String,
    /// It is done: others may begin at once.
    pub over: bool,
}

/// One thing to do, for one agent.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Order {
    pub version: u32,
    /// The agent's name and incarnation.
    pub to: (String, String),
    /// What the controller has drawn, and its round behind a dot.
    pub session: String,
    /// Rises with each order of a session: what does not is a replay.
    pub number: u64,
    /// By the agent's clock; later it is void.
    pub expires_utc_ns: u64,
    pub task: Task,
}

/// What an agent can be asked for.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Task {
    /// Takes what one other host will send, or answers what time it is.
    Serve { what: Service, most_ns: u64 },
    /// Compares its clock with that of another host.
    Compare { with: SocketAddr },
    /// Sends by TCP for a time, from an instant of its own clock on.
    Transfer { to: SocketAddr, start_utc_ns: u64, time_ns: u64, streams: u16, explain: bool },
    /// Sends messages, from an instant of its own clock on; for [`FleetTest::Latency`] they come back.
    Load {
        test: FleetTest,
        to: SocketAddr,
        start_utc_ns: u64,
        time_ns: u64,
        rate_per_s: f64,
        size_bytes: usize,
    },
    /// Measures by itself.
    Alone { what: Alone, time_ns: u64, rate_per_s: f64, size_bytes: usize },
    /// Does nothing, which ends what runs for earlier rounds.
    Rest,
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Service {
    Clock,
    Transfer {
        streams: u16,
        explain: bool,
    },
    /// Messages that come at this rate; for [`FleetTest::Latency`] each is sent back. `stages`: where they spend their
    /// time is seen too, if this host can.
    Load {
        test: FleetTest,
        rate_per_s: f64,
        stages: bool,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Alone {
    Stack,
    Capacity,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Answer {
    /// It is being done; others send to that port.
    Taken {
        port: Option<u16>,
    },
    Refused {
        why: String,
    },
}

/// What came of an order.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Report {
    pub from: (String, String),
    pub session: String,
    pub number: u64,
    pub outcome: Outcome,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Outcome {
    Failed {
        why: String,
    },
    /// Nothing that anybody asked for.
    Served,
    Clock {
        offset_ns: i64,
        bound_ns: u64,
    },
    Transferred(Box<Transferred>),
    Loaded(Box<Loaded>),
    /// Where the messages spent their time, or why that was not seen.
    Received(Result<Box<FleetReceived>, String>),
    /// What a host measured by itself, as far as its verdict vouches for it.
    Figures {
        figures: Vec<Figure>,
        verdict: Verdict,
    },
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Transferred {
    /// When it really started, by the own clock; of a receiver 0.
    pub started_utc_ns: u64,
    /// For how long it waited for a CPU then.
    pub start_waited_ns: Option<u64>,
    pub peer: Option<String>,
    pub bytes: u64,
    pub duration_ns: u64,
    pub retransmits: Option<u32>,
    pub rtt_us: Option<u32>,
    pub cause: Option<(Cause, String)>,
    /// How it broke off, if it did.
    pub broken: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Loaded {
    pub started_utc_ns: u64,
    pub start_waited_ns: Option<u64>,
    pub planned: u64,
    pub sent: u64,
    pub delivered: u64,
    pub lag_p99_ns: i64,
    pub round_trip: Option<Distribution>,
}

/// Times and counts of a report are at most this: sums of counts of all agents stay within their type.
const MOST_NS: i64 = 86_400_000_000_000;
const MOST_COUNT: u64 = 1 << 44;
/// An instant of CLOCK_REALTIME: before the year 2100.
pub const MOST_UTC_NS: u64 = 4_102_444_800_000_000_000;
const MOST_FIGURE: f64 = 1e15;
const MOST_BUCKETS: usize = 1 << 14;
const MOST_REASONS: usize = 64;

impl Outcome {
    /// As it may stand in a record, its texts for print; `None` if no measurement has such figures.
    #[must_use]
    pub fn checked(mut self) -> Option<Self> {
        let is_sound = match &mut self {
            Self::Failed { .. } | Self::Served | Self::Received(Err(_)) => true,
            Self::Clock { offset_ns, bound_ns } => {
                offset_ns.unsigned_abs() <= MOST_UTC_NS && is_time(*bound_ns)
            }
            Self::Transferred(done) => {
                let texts = done.cause.iter_mut().map(|cause| &mut cause.1);
                for text in texts.chain(&mut done.broken).chain(&mut done.peer) {
                    *text = plain(text);
                }
                done.started_utc_ns <= MOST_UTC_NS
                    && done.start_waited_ns.is_none_or(is_time)
                    && is_time(done.duration_ns)
                    && done.bytes <= MOST_COUNT << 12
            }
            Self::Loaded(done) => {
                done.started_utc_ns <= MOST_UTC_NS
                    && done.start_waited_ns.is_none_or(is_time)
                    && [done.planned, done.sent, done.delivered].iter().all(|&n| n <= MOST_COUNT)
                    && done.lag_p99_ns.abs() <= MOST_NS
                    && done.round_trip.as_ref().is_none_or(is_distribution)
            }
            Self::Received(Ok(received)) => {
                let mut stages = received.stages.iter();
                is_distribution(&received.total)
                    && received.stages.len() <= 64
                    && stages.all(|stage| is_distribution(&stage.times))
                    && received.seen.max(received.timed) <= MOST_COUNT
                    && received.account.is_none_or(|account| {
                        account.outcomes().iter().all(|&(_, n)| n.max(account.seen) <= MOST_COUNT)
                    })
            }
            Self::Figures { figures, verdict } => {
                verdict.reasons.iter_mut().for_each(|reason| reason.text = plain(&reason.text));
                for figure in figures.iter_mut() {
                    for text in [&mut figure.name, &mut figure.title, &mut figure.unit] {
                        *text = plain(text);
                    }
                }
                verdict.reasons.len() <= MOST_REASONS
                    && figures.iter().all(|figure| figure.value.abs() <= MOST_FIGURE)
            }
        };
        is_sound.then_some(self)
    }
}

fn is_time(ns: u64) -> bool {
    ns <= MOST_NS as u64
}

fn is_distribution(of: &Distribution) -> bool {
    let times = [of.min_ns, of.max_ns, of.p50_ns, of.p90_ns, of.p99_ns, of.p999_ns];
    times.iter().all(|ns| (-MOST_NS..=MOST_NS).contains(ns))
        && of.n.max(of.negative) <= MOST_COUNT
        && u128::from(of.sum_ns.unsigned_abs()) <= u128::from(of.n) * MOST_NS as u128
        && of.sum_sq_ns2.len() <= 40
        && of.buckets.len() <= MOST_BUCKETS
        && of.buckets.iter().all(|bucket| bucket.1 <= MOST_COUNT)
}

/// A quantity of a measurement that a host made by itself.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Figure {
    pub name: String,
    pub title: String,
    pub unit: String,
    pub less: bool,
    pub main: bool,
    pub value: f64,
}

/// Parses a message if it is short enough and well-formed. The parser limits the depth.
pub fn read<T: DeserializeOwned>(bytes: &[u8], most: usize) -> Result<T, String> {
    if bytes.len() > most {
        return Err(format!("a message of {} bytes, and the most is {most}", bytes.len()));
    }
    serde_json::from_slice(bytes).map_err(|error| format!("not a message of netfathom: {error}"))
}

/// The bytes of a message. Every one is made of plain fields, which always can be written.
pub fn written<T: Serialize>(message: &T) -> Vec<u8> {
    serde_json::to_vec(message).unwrap_or_default()
}

/// A text from elsewhere, for print: short, and on one line.
#[must_use]
pub fn plain(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).take(300).collect()
}

#[cfg(test)]
mod tests {
    use netfathom_model::verdict::Level;

    use super::*;

    fn loaded(change: fn(&mut Loaded)) -> Outcome {
        let mut loaded = Loaded {
            started_utc_ns: 1_700_000_000_000_000_000,
            start_waited_ns: Some(1000),
            planned: 100,
            sent: 100,
            delivered: 99,
            lag_p99_ns: 5000,
            round_trip: Some((&netfathom_stats::Distribution::new(7)).into()),
        };
        change(&mut loaded);
        Outcome::Loaded(Box::new(loaded))
    }

    #[test]
    fn figures_that_no_measurement_finds_are_not_taken() {
        assert!(loaded(|_| ()).checked().is_some());
        let lies: [fn(&mut Loaded); 8] = [
            |l| l.started_utc_ns = u64::MAX,
            |l| l.start_waited_ns = Some(u64::MAX),
            |l| l.delivered = u64::MAX,
            |l| l.lag_p99_ns = i64::MIN + 1,
            |l| l.round_trip.as_mut().unwrap().n = u64::MAX,
            |l| l.round_trip.as_mut().unwrap().max_ns = i64::MAX,
            |l| l.round_trip.as_mut().unwrap().buckets = vec![(1, u64::MAX)],
            |l| l.round_trip.as_mut().unwrap().buckets = vec![(1, 1); MOST_BUCKETS + 1],
        ];
        for (place, lie) in lies.into_iter().enumerate() {
            assert!(loaded(lie).checked().is_none(), "{place}");
        }
        let clock = |offset_ns, bound_ns| Outcome::Clock { offset_ns, bound_ns }.checked();
        assert!(clock(-7, 9).is_some() && clock(i64::MIN, 9).is_none() && clock(0, u64::MAX).is_none());
        let figure = |value| Figure {
            name: "a\u{1b}[1m".into(),
            title: String::new(),
            unit: String::new(),
            less: true,
            main: true,
            value,
        };
        let mut verdict = Verdict::default();
        verdict.lower(Level::Void, "late\u{1b}[1m");
        let sent = |value| Outcome::Figures { figures: vec![figure(value)], verdict: verdict.clone() };
        let Some(Outcome::Figures { figures, verdict: shown }) = sent(1.0).checked() else { panic!() };
        assert_eq!((figures[0].name.as_str(), shown.reasons[0].text.as_str()), ("a [1m", "late [1m"));
        assert!(sent(1e308).checked().is_none());
        let mut endless = verdict.clone();
        (0..MOST_REASONS).for_each(|n| endless.lower(Level::Void, n.to_string()));
        assert!(Outcome::Figures { figures: Vec::new(), verdict: endless }.checked().is_none());
    }
}
