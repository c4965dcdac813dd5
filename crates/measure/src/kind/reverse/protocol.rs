//! What the two hosts say to each other: one JSON object a line.
//!
//! | this host | the other | |
//! |---|---|---|
//! | `reverse` | `welcome` or `refused` | who is there |
//! | `trial` | `bound`, `met` | its sockets, once a datagram of each of ours with the trial's number came |
//! | `ready` | `ready` | several times, for the round trip; what had come so far is of no trial |
//! | `begin` | | when the trial begins, from now |
//! | `alive` | `alive` | every 200 ms of a trial; the other host's also until its sockets are met |
//! | `over` | `ended` | what it sent, and what came |
//!
//! Either side may say `failed`, with why, and `bye`.

use netfathom_bpf::stack::WINDOWS;
use netfathom_model::plan::{ReversePlan, Variant};
use serde::{Deserialize, Serialize};

use super::far_end::Inbound;
use crate::load::control::Greeting;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "say", rename_all = "snake_case")]
pub enum ControlMessage {
    Trial(Box<Trial>),
    Bound { port: u16 },
    Met,
    Ready,
    Begin { after_ns: u64 },
    Alive,
    Over,
    Ended(Box<TrialReport>),
    Failed { text: String },
    Bye,
}

/// The first word of who measures.
#[derive(Debug, Deserialize)]
pub struct Hello {}

impl Greeting for Hello {
    const SAYS: &'static str = "reverse";
    const VERSION: u32 = 1;
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Trial {
    /// With this host's part of the inbound load.
    pub plan: ReversePlan,
    pub variant: Variant,
    /// The number of the outgoing messages; the next one is that of the incoming.
    pub flow: u32,
    /// Whether the load comes to this host, among several.
    pub takes: bool,
}

/// What the other host did in a trial.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TrialReport {
    pub inbound_sent: u64,
    /// Departures by window; `None` of answers.
    pub windows: Option<Vec<u64>>,
    /// Messages of the load that came to its socket, read or not.
    pub arrived: u64,
}

impl TrialReport {
    /// Names a number that no host can have after a trial in which it was sent this number of messages.
    pub fn excess(&self, planned: Option<u64>, sent: u64) -> Option<String> {
        let most_inbound = planned.unwrap_or(sent);
        let windows = self.windows.as_deref().unwrap_or_default();
        if self.arrived > sent {
            return Some(format!("{} messages arrived of {sent}", self.arrived));
        }
        if self.inbound_sent > most_inbound {
            return Some(format!("{} messages sent of {most_inbound}", self.inbound_sent));
        }
        let beyond = windows.len() > WINDOWS || self.windows.is_some() != planned.is_some();
        if beyond {
            return Some(format!("{} windows of time", windows.len()));
        }
        let in_windows = windows.iter().fold(0, |sum: u64, &n| sum.saturating_add(n));
        (planned.is_some() && in_windows != self.inbound_sent)
            .then(|| format!("{} messages sent, {in_windows} in all windows of time", self.inbound_sent))
    }

    /// As of a far end on this machine.
    pub fn inbound(self, planned: Option<u64>) -> Inbound {
        Inbound { sent: self.inbound_sent, planned, windows: self.windows, read: self.arrived }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load::control::protocol::MOST_COUNTED;

    #[test]
    fn numbers_that_no_host_can_have_are_named() {
        let good = TrialReport { inbound_sent: 5, windows: Some(vec![2, 3]), arrived: 7 };
        assert_eq!(good.excess(Some(5), 7), None);
        assert_eq!(TrialReport { windows: None, ..good.clone() }.excess(None, 7), None);
        assert_eq!(good.excess(Some(5), 6).unwrap(), "7 messages arrived of 6");
        assert_eq!(good.excess(Some(4), 7).unwrap(), "5 messages sent of 4");
        assert!(good.excess(None, 7).unwrap().ends_with("windows of time"));
        for windows in [vec![0; WINDOWS + 1], vec![u64::MAX; 2], vec![2, 2], vec![3, 3], vec![]] {
            let bad = TrialReport { windows: Some(windows), ..good.clone() };
            assert!(bad.excess(Some(5), 7).unwrap().ends_with("windows of time"));
        }
    }

    /// A line has at most 4 KiB.
    #[test]
    fn the_longest_outcome_fits_into_a_line() {
        let windows = Some(vec![9_999_999_999; WINDOWS]);
        let outcome = TrialReport { inbound_sent: MOST_COUNTED, windows, arrived: MOST_COUNTED };
        let line = serde_json::to_string(&ControlMessage::Ended(Box::new(outcome.clone()))).unwrap();
        assert!(line.len() < 4096 && !line.contains('\n'), "{}", line.len());
        assert_eq!(
            serde_json::from_str::<ControlMessage>(&line).unwrap(),
            ControlMessage::Ended(Box::new(outcome))
        );
    }
}
