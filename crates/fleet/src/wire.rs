//! What agents and controllers say to each other, in JSON: typed, bounded, and never a command or a path.

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};

use netfathom_model::plan::FleetTest;
use netfathom_model::record::{Cause, Distribution, FleetReceived};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

/// Rises when a message changes its meaning. An agent of another version is named and left out.
pub const VERSION: u32 = 4;
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
    Alone { what: Alone, time_ns: u64, rate_per_s: f64, size_bytes: usize, seed: u64 },
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

/// The answer to an order, at once.
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
    Figures(Vec<Figure>),
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
    /// As of [`Transferred`].
    pub start_waited_ns: Option<u64>,
    pub planned: u64,
    pub sent: u64,
    pub delivered: u64,
    pub lag_p99_ns: i64,
    pub round_trip: Option<Distribution>,
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
