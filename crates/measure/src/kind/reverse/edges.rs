//! What the system counts where one part of a trial ends and the next begins.

use std::sync::atomic::Ordering::Relaxed;

use netfathom_model::record::ProcessorShares;
use netfathom_sys::clock::{monotonic_ns, sleep_until_ns};
use netfathom_sys::counters;
use netfathom_sys::cpu::{ProcessorTimes, Scheduling, processor_times, scheduling};

use super::trial::{Flight, Signals};
use crate::ground::error::GroundError;
use crate::ground::lab::Role;
use crate::load::error::FlightError;

/// The longest nap: so soon an end is noticed.
const NAP_NS: u64 = 20_000_000;

#[derive(Clone, Copy, Debug, Default)]
pub struct Edge {
    /// When, CLOCK_MONOTONIC: at the edge or a little later.
    pub at_ns: u64,
    pub processor: ProcessorTimes,
    pub sender: Scheduling,
    /// Packets that the lab's device had taken in; `None` of one that others send to as well.
    pub inbound: Option<u64>,
}

impl Flight<'_> {
    /// Sleeps from edge to edge and reads at each; fewer than there are if the sender ends
    /// before them.
    pub fn edges(&self) -> Result<Vec<Edge>, FlightError> {
        let mut edges = Vec::new();
        self.await_sender();
        for edge_ns in self.phases.edges_ns() {
            let until_ns = self.phases.windows.start_ns + edge_ns;
            while monotonic_ns() < until_ns && !self.signals.ended.load(Relaxed) {
                sleep_until_ns(until_ns.min(monotonic_ns() + NAP_NS));
            }
            // The sender stays for the last edge: one that has ended was stopped, or failed.
            if self.signals.ended.load(Relaxed) {
                return Ok(edges);
            }
            edges.push(self.edge()?);
        }
        Ok(edges)
    }

    /// A busy machine may start the sender's thread later than the trial.
    fn await_sender(&self) {
        let Signals { thread, ended, .. } = &self.signals;
        while thread.load(Relaxed) == 0 && !ended.load(Relaxed) {
            sleep_until_ns(monotonic_ns() + 1_000_000);
        }
    }

    fn edge(&self) -> Result<Edge, FlightError> {
        let rig = self.task.bench.rig;
        let (at_ns, processor) = (monotonic_ns(), processor_times(self.task.bench.cpus.0)?);
        let sender = scheduling(self.signals.thread.load(Relaxed))?;
        let counted = rig.at(Role::Sender, counters::read)?.map_err(GroundError::Counters)?;
        let device = rig.lab().and(rig.device_names().0);
        let inbound = device.and_then(|name| Some(counted.devices.get(&name)?.rx_packets));
        Ok(Edge { at_ns, processor, sender, inbound })
    }
}

#[derive(Clone, Copy, Debug)]
pub struct EdgePair {
    pub from: Edge,
    pub to: Edge,
}

impl EdgePair {
    fn time_ns(&self) -> f64 {
        self.to.at_ns.saturating_sub(self.from.at_ns).max(1) as f64
    }

    /// What the processor did, as parts of what it was counted for.
    pub fn processor(&self) -> ProcessorShares {
        let times = self.to.processor.since(&self.from.processor);
        // The kernel counts in ticks: of a short time their sum is what the parts add up to,
        // not the time itself.
        let whole = (times.busy_ns() + times.idle_ns + times.steal_ns).max(1) as f64;
        let share = |ns: u64| ns as f64 / whole;
        ProcessorShares {
            user: share(times.user_ns),
            system: share(times.system_ns),
            irq: share(times.irq_ns),
            softirq: share(times.softirq_ns),
            idle: share(times.idle_ns),
            steal: share(times.steal_ns),
        }
    }

    /// The part of the time in which the sender's thread was ready but did not run.
    pub fn waited(&self) -> f64 {
        let waited_ns = self.to.sender.run_delay_ns.saturating_sub(self.from.sender.run_delay_ns);
        (waited_ns as f64 / self.time_ns()).min(1.0)
    }

    /// Packets a second that the device of this host took in.
    pub fn inbound_per_s(&self) -> Option<f64> {
        let inbound = self.to.inbound?.saturating_sub(self.from.inbound?);
        Some(inbound as f64 * 1e9 / self.time_ns())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_parts_of_what_was_counted() {
        let from = Edge { at_ns: 1_000_000_000, ..Edge::default() };
        let to = Edge {
            at_ns: 1_500_000_000,
            processor: ProcessorTimes {
                user_ns: 50_000_000,
                system_ns: 150_000_000,
                softirq_ns: 100_000_000,
                idle_ns: 80_000_000,
                steal_ns: 20_000_000,
                irq_ns: 0,
            },
            sender: Scheduling { run_delay_ns: 125_000_000, ..Scheduling::default() },
            inbound: Some(5000),
        };
        let from = Edge { inbound: Some(0), ..from };
        let between = EdgePair { from, to };
        let p = between.processor();
        assert_eq!((p.user, p.system, p.softirq), (0.125, 0.375, 0.25));
        assert_eq!((p.irq, p.idle, p.steal), (0.0, 0.2, 0.05));
        assert_eq!((between.waited(), between.inbound_per_s()), (0.25, Some(10_000.0)));
    }

    #[test]
    fn nothing_counted_is_no_share() {
        let between = EdgePair { from: Edge::default(), to: Edge::default() };
        assert_eq!(between.processor(), ProcessorShares::default());
    }
}
