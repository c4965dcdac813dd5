//! From what a trial did to what the record says of it.

use netfathom_model::plan::Variant;
use netfathom_model::record::{BetweenHosts, Phase, PhaseTimes, ReverseTrial, StageMean};

use super::edges::{Edge, EdgePair};
use super::inbound::WindowCounts;
use super::judge::{self, Checks};
use super::trial::{Bench, Between, ReverseOutcome};
use crate::load::judge::share;
use crate::load::report::series;

pub struct ReverseFacts<'a> {
    pub index: u32,
    pub bench: Bench<'a>,
    pub variant: Variant,
    pub outcome: &'a ReverseOutcome,
}

impl ReverseFacts<'_> {
    /// The record's view of the trial, and the numbers that its verdict rests on.
    pub fn trial(&self) -> (ReverseTrial, Checks) {
        let ReverseOutcome { phases, sent, inbound, stack, .. } = self.outcome;
        let outgoing = self.outgoing();
        let parts = Phase::ALL.map(|phase| self.phase(phase, &outgoing));
        let checks = self.checks(&parts[Phase::Peak as usize]);
        let trial = ReverseTrial {
            index: self.index,
            window_ns: phases.windows.length_ns(),
            phases: parts.into(),
            outgoing,
            inbound: self.inbound(),
            stack: stack.as_ref().map(|s| series(&s.total, phases.windows.length_ns())),
            sent: sent.accepted,
            arrived: checks.arrived,
            between: self.between_hosts(),
            inbound_sent: inbound.sent,
            inbound_read: self.read(),
            contention: self.outcome.contention.clone(),
            verdict: judge::trial(&checks),
        };
        (trial, checks)
    }

    fn outgoing(&self) -> Vec<u64> {
        let windows = self.outcome.sent.lag.windows.iter().map(|window| window.n);
        windows.take(self.outcome.phases.window_count()).collect()
    }

    /// What was read in each window. Without a reader, what the far end sent in it: no program recorded
    /// when it arrived.
    fn inbound(&self) -> Vec<u64> {
        let ReverseOutcome { phases, inbound, read, .. } = self.outcome;
        let windows = read.as_ref().map(|counts| &counts.windows).or(inbound.windows.as_ref());
        windows.map(|w| w.iter().copied().take(phases.window_count()).collect()).unwrap_or_default()
    }

    fn phase(&self, phase: Phase, outgoing: &[u64]) -> PhaseTimes {
        let ReverseOutcome { phases, read, stack, .. } = self.outcome;
        let bounds = phases.bounds_ns(phase);
        let between = self.during(phase);
        let inbound_per_s = match read {
            Some(counts) => phases.per_s(phase, &counts.windows),
            // Between hosts others send to the device as well.
            None => between.inbound_per_s().unwrap_or_else(|| {
                phases.per_s(phase, self.outcome.inbound.windows.as_deref().unwrap_or_default())
            }),
        };
        let mean = |windowed: &netfathom_stats::Windowed| phases.mean(phase, &windowed.windows);
        let stages = stack.iter().flat_map(|s| &s.stages);
        let stages = stages
            .filter_map(|(stage, windowed)| Some(StageMean { stage: *stage, mean_ns: mean(windowed)? }))
            .collect();
        PhaseTimes {
            phase,
            start_ns: bounds.start,
            end_ns: bounds.end,
            outgoing_per_s: phases.per_s(phase, outgoing),
            inbound_per_s,
            stack_mean_ns: stack.as_ref().and_then(|s| mean(&s.total)),
            stages,
            processor: between.processor(),
            sender_waited: between.waited(),
        }
    }

    fn between(&self, from: usize, to: usize) -> EdgePair {
        let edge = |n: usize| self.outcome.edges.get(n).copied().unwrap_or_default();
        EdgePair { from: edge(from), to: edge(to) }
    }

    fn during(&self, phase: Phase) -> EdgePair {
        self.between(phase as usize, phase as usize + 1)
    }

    /// How late an edge was read at worst, as a part of the length of a part.
    fn late(&self) -> f64 {
        let ReverseOutcome { phases, edges, .. } = self.outcome;
        let late_ns =
            |(edge, due_ns): (&Edge, u64)| edge.at_ns.saturating_sub(phases.windows.start_ns + due_ns);
        let worst_ns = edges.iter().zip(phases.edges_ns()).map(late_ns).max().unwrap_or(0);
        // So far may another host's phases be off.
        let off_ns = self.outcome.between.map_or(0, |between| between.round_trip.as_nanos() as u64 / 2);
        let worst_ns = worst_ns.max(off_ns);
        let part = phases.bounds_ns(Phase::Before);
        worst_ns as f64 / (part.end - part.start).max(1) as f64
    }

    /// Where messages between hosts ended that were neither read nor came to the far socket.
    fn between_hosts(&self) -> Option<BetweenHosts> {
        let ReverseOutcome { sent, inbound, overflowed, counted, between, .. } = self.outcome;
        let Between { left, round_trip } = (*between)?;
        let device =
            self.bench.rig.device_names().0.and_then(|name| counted.sender.devices.get(&name).copied());
        // Others send by it too: that it sent more says nothing.
        let not_sent = device.map_or(0, |device| sent.accepted.saturating_sub(device.tx_packets));
        let missing = sent.accepted.saturating_sub(inbound.read);
        let not_sent = not_sent.min(missing);
        let came = self.read() + overflowed + left;
        Some(BetweenHosts {
            not_sent,
            lost: missing - not_sent,
            inbound_overflowed: *overflowed,
            inbound_left: left,
            inbound_lost: inbound.sent.saturating_sub(came),
            round_trip_ns: round_trip.as_nanos() as u64,
        })
    }

    /// What an application of this host read.
    fn read(&self) -> u64 {
        self.outcome.read.as_ref().map_or(0, WindowCounts::total)
    }

    /// The part of the inbound load that did not come in. An echo is to send back what it reads.
    fn absent(&self, peak: &PhaseTimes) -> f64 {
        let ReverseOutcome { sent, inbound, overflowed, .. } = self.outcome;
        let wanted_per_s = match self.variant {
            Variant::Echo => peak.outgoing_per_s * share(inbound.read, sent.accepted),
            _ => self.bench.plan.inbound_peak_per_s,
        };
        // What found the socket full came in, too.
        let overflowed = share(*overflowed, inbound.planned.unwrap_or(inbound.sent));
        1.0 - (peak.inbound_per_s / wanted_per_s.max(1.0)).max(overflowed)
    }

    fn checks(&self, peak: &PhaseTimes) -> Checks {
        let ReverseOutcome { sent, inbound, read, overflowed, edges, counted, .. } = self.outcome;
        let common = Checks {
            sent: sent.accepted,
            inbound_planned: inbound.planned,
            inbound_absent: self.absent(peak),
            inbound_sent: inbound.sent,
            processor: self.between(0, edges.len().saturating_sub(1)).processor(),
            waited_alone: self.during(Phase::Before).waited().max(self.during(Phase::After).waited()),
            late: self.late(),
            steered: self.bench.steered,
            shared: self.bench.shares_processor(self.variant),
            contention: self.outcome.contention.clone(),
            ..Checks::default()
        };
        if let Some(between) = self.between_hosts() {
            let came = self.read() + between.inbound_overflowed + between.inbound_left;
            return Checks {
                arrived: inbound.read,
                dropped: between.not_sent + between.lost,
                inbound_arrived: came,
                inbound_dropped: between.inbound_lost,
                inbound_ended: Some(came),
                between: Some(between),
                // Its devices are as they are, and so is what is on its processors.
                steered: true,
                ..common
            };
        }
        let (here, there) = self.bench.rig.device_names();
        let here = counted.sender.devices.get(&here.unwrap_or_default()).copied().unwrap_or_default();
        let there = counted.reader.devices.get(&there.unwrap_or_default()).copied().unwrap_or_default();
        Checks {
            arrived: there.rx_packets,
            dropped: here.tx_dropped,
            inbound_arrived: here.rx_packets,
            inbound_dropped: there.tx_dropped,
            inbound_ended: read.as_ref().map(|counts| counts.total() + overflowed),
            ..common
        }
    }
}
