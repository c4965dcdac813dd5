//! The plan of `netfathom reverse`.

use std::net::SocketAddr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Family, MS, Place, PlanError, S, Transport, conflict, range, size, span};

/// Hosts that send the load in, at most.
const MOST_HOSTS: u64 = 64;

/// What becomes of the messages that come in while others go out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Variant {
    /// No thread reads them: the socket's buffer overflows.
    Ignored,
    /// Another thread reads them.
    OtherThread,
    /// The sending thread reads them between its messages.
    SameThread,
    /// They are the load itself, sent back by the far end, and another thread reads them.
    Echo,
}

named! { Variant:
    Ignored = "ignored", OtherThread = "other-thread", SameThread = "same-thread", Echo = "echo"
}

/// The plan of `netfathom reverse`: full load out of this host, and in the middle of it
/// load into it, which rises to its peak and is switched off again.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ReversePlan {
    /// IPv4 or IPv6.
    pub family: Family,
    /// The variants, in order.
    pub variants: Vec<Variant>,
    /// Trials of each variant.
    pub trials: u32,
    /// Length of a trial; a quarter each for: before, rise, peak, after.
    pub duration_ns: u64,
    /// Rate at which the inbound load begins to rise.
    pub inbound_from_per_s: f64,
    /// Its peak.
    pub inbound_peak_per_s: f64,
    /// UDP payload.
    pub size_bytes: usize,
    /// Whether stack times are taken as well, which costs rate.
    pub tapped: bool,
    /// The sender's CPU, on which incoming packets are handled too, and the far end's;
    /// `None` leaves the choice to netfathom.
    pub cpus: Option<(usize, usize)>,
    /// Other hosts, where `netfathom reverse serve` runs, in place of the lab: the first takes the load, and all of them
    /// together send the load in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<Vec<SocketAddr>>,
    /// Addresses that load may go to besides private ones, as `ADDR/LEN`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub allow: Option<Vec<String>>,
}

impl ReversePlan {
    /// What each of the other hosts is to do: all of them together send the load in.
    pub fn part(&self) -> Self {
        let hosts = self.to.as_ref().map_or(1, Vec::len).max(1) as f64;
        Self {
            inbound_from_per_s: (self.inbound_from_per_s / hosts).max(1.0),
            inbound_peak_per_s: self.inbound_peak_per_s / hosts,
            to: None,
            ..self.clone()
        }
    }

    /// Checks what the types do not.
    ///
    /// # Errors
    /// The first thing that is wrong, with the range that would be right.
    pub fn validated(self) -> Result<Self, PlanError> {
        let place = self.to.iter().flatten().next().map_or(Place::Lab, |&to| Place::To(to));
        size(self.size_bytes, place, self.family, Transport::Udp)?;
        range("trials", self.trials.into(), 1, 1000)?;
        span("time", self.duration_ns, (400 * MS, 3_600 * S))?;
        let (from, to) = (self.inbound_from_per_s, self.inbound_peak_per_s);
        range("inbound", to as u64, 1, crate::profile::MAX_RATE_PER_S as u64)?;
        if from < 1.0 || from >= to {
            return conflict(format!("--inbound {from}..{to}: the rate must rise, from at least 1 a second"));
        }
        let Some(hosts) = &self.to else { return Ok(self) };
        range("to", hosts.len() as u64, 1, MOST_HOSTS)?;
        if hosts.iter().any(|host| host.is_ipv6() != (self.family == Family::Ipv6)) {
            return conflict("--to: name all hosts by addresses of IPv4, or all by IPv6");
        }
        if hosts.len() > 1 && self.variants.contains(&Variant::Echo) {
            return conflict(
                "--variant echo: one host takes the load and sends it back; name a single one with --to, or choose other variants",
            );
        }
        if let Some((_, twice)) = (1..).zip(hosts).find(|(n, host)| hosts[*n..].contains(host)) {
            return conflict(format!("--to: {twice} is named twice; name each host once"));
        }
        let part = self.part();
        if part.inbound_from_per_s >= part.inbound_peak_per_s {
            return conflict(format!(
                "--inbound {from}..{to}: the part of each of {} hosts must rise, from at least 1 a second; raise the peak",
                hosts.len()
            ));
        }
        Ok(self)
    }
}
