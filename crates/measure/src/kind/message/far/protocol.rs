//! What the two hosts say to each other: one JSON object a line.

use netfathom_model::plan::MessagePlan;
use netfathom_model::record::{EndCost, TcpCounts};
use serde::{Deserialize, Serialize};

use crate::kind::message::task::Done;
use crate::load::control::protocol::MOST_COUNTED;
use crate::load::control::{Greeting, short};

/// What a trial can take of anything that is measured in nanoseconds: two years.
const MOST_NS: u64 = 1 << 56;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "say", rename_all = "snake_case")]
pub enum ControlMessage {
    /// A trial is to be made.
    Trial(Box<Trial>),
    /// The server waits for a connection: over TCP for one that shows this key.
    Open { key: u64 },
    /// The client's port (UDP).
    Bound { port: u16 },
    /// The server has the connection.
    Taken,
    /// An end is made, or has read its meters.
    Ready,
    /// A sign of life.
    Alive,
    /// The client has sent everything, and closed.
    Finished,
    /// The server's part of a trial.
    Ended(Box<TrialReport>),
    /// The trial cannot be made.
    Failed { text: String },
    /// There are no more trials.
    Bye,
}

/// The client's first word.
#[derive(Debug, Deserialize)]
pub struct Hello {}

impl Greeting for Hello {
    const SAYS: &'static str = "messages";
    const VERSION: u32 = 1;
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Trial {
    /// One layer and one size of it.
    pub plan: MessagePlan,
    /// Whether system calls are to be counted.
    pub counted: bool,
}

/// What the server knows of a trial.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TrialReport {
    pub messages: u64,
    /// Messages until the last one with a known time.
    pub timed: u64,
    pub lost: u64,
    pub cut_short: bool,
    /// Messages that came with the first one.
    pub first: u64,
    /// From the first arrival to that of the last one with a known time.
    pub lasted_ns: u64,
    pub cost: EndCost,
    pub counts: HostCounts,
    /// System calls by name,
    pub calls: Vec<(String, u64)>,
    /// or why they were not counted.
    pub uncounted: Option<String>,
}

/// What the host of an end counted, whoever moved it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostCounts {
    pub tcp: Option<TcpCounts>,
    pub kernel_workers_ns: Option<u64>,
}

impl HostCounts {
    /// Those of two hosts; a count that one of them lacks is not known.
    pub fn plus(self, other: Self) -> Self {
        let tcp = |(a, b): (TcpCounts, TcpCounts)| TcpCounts {
            delayed_acks: a.delayed_acks + b.delayed_acks,
            timeouts: a.timeouts + b.timeouts,
            retransmitted: a.retransmitted + b.retransmitted,
        };
        let workers = self.kernel_workers_ns.zip(other.kernel_workers_ns);
        Self { tcp: self.tcp.zip(other.tcp).map(tcp), kernel_workers_ns: workers.map(|(a, b)| a + b) }
    }
}

impl TrialReport {
    /// Names a number that no server can have, if there is one.
    pub fn excess(&self) -> Option<String> {
        let EndCost { cpu_ns, waits, preemptions, run_delay_ns, segments } = self.cost;
        let HostCounts { tcp, kernel_workers_ns } = self.counts;
        let TcpCounts { delayed_acks, timeouts, retransmitted } = tcp.unwrap_or_default();
        let known = |count: Option<u64>| count.unwrap_or(0);
        let counts = [
            (self.messages, MOST_COUNTED, "messages"),
            (self.timed, self.messages, "messages with a time"),
            (self.first, self.messages, "messages at first"),
            (self.lost, MOST_COUNTED, "lost messages"),
            (self.lasted_ns, MOST_NS, "ns from the first message to the last"),
            (known(cpu_ns), MOST_NS, "ns of CPU time"),
            (known(waits), MOST_COUNTED, "waits"),
            (known(preemptions), MOST_COUNTED, "preemptions"),
            (known(run_delay_ns), MOST_NS, "ns of waiting for a CPU"),
            (known(segments), MOST_COUNTED, "segments"),
            (delayed_acks.max(timeouts).max(retransmitted), MOST_COUNTED, "events of TCP"),
            (known(kernel_workers_ns), MOST_NS, "ns of kernel workers"),
        ];
        let calls = self.calls.iter().map(|(_, count)| (*count, MOST_COUNTED, "system calls of one name"));
        let beyond = counts.into_iter().chain(calls).find(|(count, most, _)| count > most);
        beyond.map(|(count, _, what)| format!("{count} {what}"))
    }

    /// Fit for a terminal and for a record.
    pub fn harmless(self) -> Self {
        let calls = self.calls.into_iter().map(|(name, count)| (short(&name), count)).collect();
        Self { calls, uncounted: self.uncounted.as_deref().map(short), ..self }
    }

    /// The server's part, its times left out: no clock of ours took them.
    pub fn done(&self) -> Done {
        Done {
            messages: self.messages,
            first_ns: Some(0),
            first: self.first,
            last_ns: self.lasted_ns,
            timed: self.timed,
            lost: self.lost,
            cut_short: self.cut_short,
            ..Done::nothing()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_that_no_server_can_have_are_named() {
        let good = TrialReport { messages: 10, timed: 10, ..TrialReport::default() };
        assert_eq!(good.excess(), None);
        let more = TrialReport { timed: 11, ..good.clone() };
        assert_eq!(more.excess().unwrap(), "11 messages with a time");
        let cost = EndCost { cpu_ns: Some(u64::MAX), ..EndCost::default() };
        assert!(TrialReport { cost, ..good.clone() }.excess().unwrap().ends_with("ns of CPU time"));
        let calls = vec![("read".into(), u64::MAX)];
        assert!(
            TrialReport { calls, ..good.clone() }.excess().unwrap().ends_with("system calls of one name")
        );
        let tcp = Some(TcpCounts { timeouts: u64::MAX, ..TcpCounts::default() });
        let counts = HostCounts { tcp, kernel_workers_ns: None };
        assert!(TrialReport { counts, ..good }.excess().unwrap().ends_with("events of TCP"));
    }

    #[test]
    fn a_count_that_one_host_lacks_is_not_known() {
        let counts = |workers| HostCounts { tcp: Some(TcpCounts::default()), kernel_workers_ns: workers };
        assert_eq!(counts(Some(2)).plus(counts(Some(3))).kernel_workers_ns, Some(5));
        let lacking = counts(Some(2)).plus(counts(None));
        assert_eq!((lacking.kernel_workers_ns, lacking.tcp), (None, Some(TcpCounts::default())));
    }

    #[test]
    fn words_are_lines_that_can_be_read_again() {
        let outcome = TrialReport { uncounted: Some("no tracepoint".into()), ..TrialReport::default() };
        for word in [
            ControlMessage::Alive,
            ControlMessage::Open { key: u64::MAX },
            ControlMessage::Ended(Box::new(outcome)),
        ] {
            let line = serde_json::to_string(&word).unwrap();
            assert!(!line.contains('\n'));
            assert_eq!(serde_json::from_str::<ControlMessage>(&line).unwrap(), word, "{line}");
        }
    }
}
