//! The plan of `netfathom fleet mesh`, `load`, `stack` and `capacity`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{MS, PlanError, S, conflict, range, span};

/// More hosts than this would not answer within one message of NATS each.
pub const MOST_HOSTS: u64 = 4096;

/// What is measured between or on the hosts of a fleet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FleetTest {
    /// How fast TCP is from each host to each other one.
    #[default]
    Throughput,
    /// The round trip of UDP messages of each pair.
    Latency,
    /// The share of UDP messages that each pair loses.
    Loss,
    /// What one host takes of all the others together.
    Load,
    /// `netfathom stack` on each host by itself.
    Stack,
    /// `netfathom capacity` on each host by itself.
    Capacity,
}

named! { FleetTest:
    Throughput = "throughput", Latency = "latency", Loss = "loss", Load = "load", Stack = "stack",
    Capacity = "capacity"
}

impl FleetTest {
    /// Whether it is about pairs of hosts.
    #[must_use]
    pub fn is_mesh(self) -> bool {
        matches!(self, Self::Throughput | Self::Latency | Self::Loss)
    }
}

/// The plan of a measurement over a fleet.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FleetPlan {
    /// The name of the fleet.
    pub fleet: String,
    /// What is measured.
    pub test: FleetTest,
    /// The hosts that are to take part, by the names of their agents; empty takes all that answer.
    pub hosts: Vec<String>,
    /// How long each pair, each step of a load, or each trial takes.
    pub time_ns: u64,
    /// Connections of a pair at the same time; of a load, senders on each host.
    pub streams: u16,
    /// Messages a second of a pair; of a load the rate of all senders together, step by step.
    pub rates_per_s: Vec<f64>,
    /// Bytes of a message.
    pub size_bytes: usize,
    /// Pairs with other hosts that each host has; `None` has all of them.
    pub peers: Option<u32>,
    /// Pairs at the same time; `None` for as many as there can be with each host in one.
    pub parallel: Option<u32>,
    /// The receiver of a load.
    pub to: Option<String>,
    /// Whether transfers are watched, so that what limited them is known.
    pub explain: bool,
    /// Decides the order of the pairs.
    pub seed: u64,
}

impl FleetPlan {
    /// Checks what the types do not.
    ///
    /// # Errors
    /// The first thing that is wrong, with what would be right.
    pub fn validated(self) -> Result<Self, PlanError> {
        if !is_name(&self.fleet) {
            return conflict(format!("--fleet {}: {NAMES}", self.fleet));
        }
        if let Some(wrong) = self.hosts.iter().chain(&self.to).find(|name| !is_name(name)) {
            return conflict(format!("`{wrong}` names no host: {NAMES}"));
        }
        range("hosts: their number,", self.hosts.len() as u64, 0, MOST_HOSTS)?;
        span("time", self.time_ns, (50 * MS, 600 * S))?;
        range("streams", self.streams.into(), 1, 64)?;
        range("size", self.size_bytes as u64, crate::message::HEADER_BYTES as u64, 65_507)?;
        let hosts = |flag, most: Option<u32>| most.map_or(Ok(()), |n| range(flag, n.into(), 1, MOST_HOSTS));
        hosts("peers", self.peers)?;
        hosts("parallel", self.parallel)?;
        let is_rate = |rate: &f64| (1.0..=1e9).contains(rate);
        if self.rates_per_s.is_empty() || self.rates_per_s.len() > 64 || !self.rates_per_s.iter().all(is_rate)
        {
            return conflict("--rate: write 1 to 64 rates from 1 to 1G a second, such as 1k or 10k,20k,50k");
        }
        Ok(self)
    }
}

const NAMES: &str = "a name has 1 to 64 letters, digits, `-` and `_`";

/// Whether a text may name a host or a fleet: it becomes a token of a subject of NATS, where dots and wildcards mean
/// something.
#[must_use]
pub fn is_name(text: &str) -> bool {
    (1..=64).contains(&text.len())
        && text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_')
}

/// A name for what may have other letters, such as a host name with its domain.
#[must_use]
pub fn as_name(text: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || c == '-' { c } else { '_' };
    text.chars().map(plain).take(64).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan() -> FleetPlan {
        FleetPlan {
            fleet: "default".into(),
            time_ns: S,
            streams: 1,
            rates_per_s: vec![1000.0],
            size_bytes: 64,
            explain: true,
            ..FleetPlan::default()
        }
    }

    #[test]
    fn what_cannot_be_is_refused_with_what_could() {
        type Change = fn(&mut FleetPlan);
        let cases: [(Change, &str); 7] = [
            (|p| p.fleet = "a.b".into(), "--fleet a.b"),
            (|p| p.hosts.push("x>".into()), "`x>` names no host"),
            (|p| p.to = Some(String::new()), "`` names no host"),
            (|p| p.time_ns = 1, "--time"),
            (|p| p.rates_per_s.clear(), "--rate"),
            (|p| p.rates_per_s.push(f64::NAN), "--rate"),
            (|p| p.peers = Some(0), "--peers 0"),
        ];
        assert!(plan().validated().is_ok());
        for (change, reason) in cases {
            let mut wrong = plan();
            change(&mut wrong);
            let error = wrong.validated().unwrap_err().to_string();
            assert!(error.contains(reason), "{error}");
        }
    }

    #[test]
    fn a_host_name_becomes_a_name() {
        assert_eq!(as_name("c07.cluster.example"), "c07_cluster_example");
        assert!(is_name(&as_name("é.>*")) && !is_name("") && !is_name(&"x".repeat(65)));
    }
}
