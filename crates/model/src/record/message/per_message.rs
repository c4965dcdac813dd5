//! What a message took, out of what the trials of a cell took.

use std::collections::BTreeMap;

use super::{Counted, Distribution, EndCost, MessageCell, MessageTrial};
use crate::layer::Side;

impl MessageTrial {
    /// What one end took.
    pub fn end(&self, end: Side) -> &EndCost {
        match end {
            Side::Client => &self.client,
            Side::Server => &self.server,
        }
    }

    /// Of what an end took: the client worked for what it sent, whether it came or not, the server for
    /// what came.
    fn per_message_of(&self, end: Side, cost: Option<u64>) -> Option<f64> {
        match end {
            Side::Client => share(cost, self.sent),
            Side::Server => self.per_message(cost),
        }
    }

    /// CPU time of an end in nanoseconds a message.
    pub fn cpu_ns_per_message(&self, end: Side) -> Option<f64> {
        self.per_message_of(end, self.end(end).cpu_ns)
    }

    fn per_message(&self, of_all: Option<u64>) -> Option<f64> {
        share(of_all, self.messages)
    }
}

fn share(of_all: Option<u64>, messages: u64) -> Option<f64> {
    of_all.filter(|_| messages > 0).map(|all| all as f64 / messages as f64)
}

impl EndCost {
    /// How often its threads were switched away from: waits and preemptions together.
    pub fn switches(&self) -> Option<u64> {
        Some(self.waits? + self.preemptions?)
    }
}

impl MessageCell {
    /// CPU time of an end in nanoseconds a message, the median of the trials.
    pub fn cpu_ns_per_message(&self, end: Side) -> Option<f64> {
        self.median_of(|trial| trial.cpu_ns_per_message(end))
    }

    /// Waits and preemptions of an end's threads a message, the median of the trials.
    pub fn switches_per_message(&self, end: Side) -> Option<f64> {
        self.median_of(|trial| trial.per_message_of(end, trial.end(end).switches()))
    }

    /// Segments that an end sent a message, the median of the trials.
    pub fn segments_per_message(&self, end: Side) -> Option<f64> {
        self.median_of(|trial| trial.per_message_of(end, trial.end(end).segments))
    }

    /// CPU time of the kernel's own workers in nanoseconds a message, the median of the trials.
    pub fn kernel_workers_ns_per_message(&self) -> Option<f64> {
        self.median_of(|trial| trial.per_message(trial.kernel_workers_ns))
    }

    /// Delayed ACKs at either end, a message, the median of the trials.
    pub fn delayed_acks_per_message(&self) -> Option<f64> {
        self.median_of(|trial| trial.per_message(trial.tcp.map(|tcp| tcp.delayed_acks)))
    }

    /// Times from when messages left, with a rate as without.
    pub fn service_times(&self) -> &Distribution {
        self.service.as_ref().unwrap_or(&self.times)
    }

    /// System calls of an end a message; `None` where they were not counted.
    pub fn calls_per_message(&self, end: Side) -> Option<f64> {
        let Counted::Calls(calls) = &self.calls else { return None };
        Some(calls.iter().filter(|call| call.end == end).map(|call| call.per_message).sum())
    }

    /// The median of a trial's times in nanoseconds; `None` if there are none, as in a one-way test
    /// with its server in the kernel.
    pub fn median_ns(&self, trial: &MessageTrial) -> Option<f64> {
        (self.times.n > 0 && trial.messages > 0).then_some(trial.p50_ns as f64)
    }

    /// The medians of the trials in nanoseconds, each beside another cell's of the same round.
    pub fn medians_beside(&self, other: &Self) -> Vec<(f64, f64)> {
        let of_rounds: BTreeMap<u32, &MessageTrial> = other.trials.iter().map(|t| (t.round, t)).collect();
        self.trials
            .iter()
            .filter_map(|t| Some((self.median_ns(t)?, other.median_ns(of_rounds.get(&t.round)?)?)))
            .collect()
    }

    /// Of the trials that know it; between the two in the middle where they are even in number.
    fn median_of(&self, value: impl Fn(&MessageTrial) -> Option<f64>) -> Option<f64> {
        netfathom_stats::middle_of(self.trials.iter().filter_map(value))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layer::Layer;
    use crate::plan::Placement;
    use crate::record::CallCount;
    use crate::verdict::Verdict;

    fn cell(trials: &[(u64, Option<u64>)]) -> MessageCell {
        let trial = |&(messages, cpu_ns): &(u64, Option<u64>)| MessageTrial {
            messages,
            sent: messages,
            duration_ns: 1,
            client: EndCost { cpu_ns, ..EndCost::default() },
            server: EndCost { waits: Some(3 * messages), ..EndCost::default() },
            ..MessageTrial::default()
        };
        let call = |end, per_message| CallCount { end, name: "read".into(), per_message };
        MessageCell {
            layer: Layer::reference(),
            bytes: 4,
            placement: Placement::UU,
            pair: 0,
            trials: trials.iter().map(trial).collect(),
            rate: None,
            ratio: None,
            times: Distribution::from(&netfathom_stats::Distribution::new(5)),
            service: None,
            lag: None,
            calls: Counted::Calls(vec![
                call(Side::Client, 1.0),
                call(Side::Client, 0.5),
                call(Side::Server, 4.0),
            ]),
            verdict: Verdict::default(),
        }
    }

    #[test]
    fn the_median_is_that_of_the_trials_that_know() {
        let odd = cell(&[(10, Some(500)), (10, Some(100)), (100, Some(2000))]);
        assert_eq!(odd.cpu_ns_per_message(Side::Client), Some(20.0));
        let even = cell(&[(10, Some(500)), (10, None), (10, Some(100))]);
        assert_eq!(even.cpu_ns_per_message(Side::Client), Some(30.0));
    }

    #[test]
    fn a_client_worked_for_what_was_lost_as_well() {
        let mut cell = cell(&[(10, Some(500))]);
        cell.trials[0].sent = 50;
        assert_eq!(cell.cpu_ns_per_message(Side::Client), Some(10.0));
        cell.trials[0].server.cpu_ns = Some(500);
        assert_eq!(cell.cpu_ns_per_message(Side::Server), Some(50.0));
    }

    #[test]
    fn an_unknown_value_is_not_zero() {
        let cell = cell(&[(0, Some(500)), (10, None)]);
        assert_eq!(cell.cpu_ns_per_message(Side::Client), None);
        assert_eq!(cell.cpu_ns_per_message(Side::Server), None);
        // Of waits without preemptions the sum is not known.
        assert_eq!(cell.switches_per_message(Side::Server), None);
        assert_eq!(cell.kernel_workers_ns_per_message(), None);
        assert_eq!(MessageCell { trials: Vec::new(), ..cell }.delayed_acks_per_message(), None);
    }

    #[test]
    fn medians_are_paired_by_round_and_only_where_times_were_taken() {
        let with = |medians: &[(u32, i64)]| {
            let mut cell = cell(&vec![(10, None); medians.len()]);
            for (trial, &(round, p50_ns)) in cell.trials.iter_mut().zip(medians) {
                (trial.round, trial.p50_ns) = (round, p50_ns);
                let mut times = netfathom_stats::Distribution::new(5);
                times.add(p50_ns);
                cell.times = (&times).into();
            }
            cell
        };
        let (ours, theirs) = (with(&[(2, 30), (0, 10), (1, 20)]), with(&[(0, 1), (2, 3)]));
        assert_eq!(ours.medians_beside(&theirs), [(30.0, 3.0), (10.0, 1.0)]);
        let untimed = cell(&[(10, None)]);
        assert_eq!(untimed.median_ns(&untimed.trials[0]), None);
        assert_eq!(ours.medians_beside(&untimed), []);
    }

    #[test]
    fn calls_are_those_of_one_end() {
        let mut cell = cell(&[]);
        assert_eq!(
            [Side::Client, Side::Server].map(|end| cell.calls_per_message(end)),
            [Some(1.5), Some(4.0)]
        );
        cell.calls = Counted::Not("no tracepoint".into());
        assert_eq!(cell.calls_per_message(Side::Client), None);
    }
}
