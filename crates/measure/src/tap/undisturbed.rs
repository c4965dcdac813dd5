//! The stack times of messages that found nothing foreign on the processors that they needed.
//!
//! A message is disturbed if another process or the hypervisor had one of these processors for longer than
//! [`netfathom_bpf::contention::LEAST_STINT_NS`]: that of its sender from the intended departure on, that of the reader from
//! the link layer on. A message that others delayed delays those behind it, so for them it counts from the first of the
//! backlog. The kernel's switches decide that, never the time that the message took. The condition still prefers short
//! times a little: what lasts longer is more likely to be disturbed.

use netfathom_bpf::stack::{Hooks, View, WINDOWS};
use netfathom_model::message::Header;
use netfathom_model::path::Direction;
use netfathom_stats::{Distribution, Windowed};

use crate::ground::processors::Cpus;
use crate::load::contention::Contention;
use crate::load::lateness::Lateness;
use crate::load::window::{GRAIN, PART_GRAIN, Windows};
use crate::tap::UndisturbedSums;

/// Whether a message was undisturbed on its way out, and in; `None` where a hook did not see it.
pub type UndisturbedWays = [Option<bool>; 2];

/// Sums both ways, at the reader.
pub struct Undisturbed<'a> {
    contention: &'a Contention,
    cpus: &'a Cpus,
    windows: Windows,
    lanes: Vec<Lane>,
    reader: Backlog,
    is_stream: bool,
    pub tx: UndisturbedSums,
    pub rx: UndisturbedSums,
}

/// Messages that each came before the previous one was done.
#[derive(Clone, Copy, Debug, Default)]
struct Backlog {
    since_ns: u64,
    done_ns: u64,
}

impl Backlog {
    /// Adds a message; since when it waits, with those before it.
    fn add(&mut self, from_ns: u64, done_ns: u64) -> u64 {
        if from_ns >= self.done_ns {
            self.since_ns = from_ns;
        }
        self.done_ns = done_ns;
        self.since_ns
    }
}

/// One sender, and its last message: only the next one tells its slot.
#[derive(Clone, Default)]
struct Lane {
    backlog: Backlog,
    last: Option<(Header, UndisturbedWays)>,
}

impl<'a> Undisturbed<'a> {
    /// `mean_interval_ns` is that of the load where it leaves the intervals to chance; over TCP it `is_stream`.
    pub fn new(
        contention: &'a Contention,
        cpus: &'a Cpus,
        windows: Windows,
        mean_interval_ns: Option<i64>,
        is_stream: bool,
    ) -> Self {
        let none = |direction: Direction| UndisturbedSums {
            judged: 0,
            times: Windowed::new(GRAIN, WINDOWS),
            stages: direction.stages().iter().map(|&stage| (stage, Distribution::new(PART_GRAIN))).collect(),
            lateness: Lateness::new(1.0, mean_interval_ns),
        };
        let lanes = vec![Lane::default(); cpus.senders.len()];
        let (tx, rx) = (none(Direction::Tx), none(Direction::Rx));
        Self { contention, cpus, windows, lanes, reader: Backlog::default(), is_stream, tx, rx }
    }

    /// A message that the reader has just received, and whether the reader's last switch to its processor was seen: else
    /// it is not known what had the processor before. If it was undisturbed on its way in, its stages there are to be added.
    pub fn add(&mut self, view: &View, header: &Header, seen: bool, received_ns: u64) -> UndisturbedWays {
        let lane = (header.sequence % self.lanes.len() as u64) as usize;
        let sender = self.cpus.senders[lane];
        let since_ns = self.lanes[lane].backlog.add(header.intended_ns, header.sent_ns);
        let free = |cpu, from_ns, until_ns| !self.contention.is_disturbed(cpu, from_ns, until_ns);
        let window = self.windows.of(header.sent_ns);
        let mut undisturbed = UndisturbedWays::default();
        let tx = view.tx(header.sequence);
        if let Some((tx, left_ns)) = tx.and_then(|tx| Some((tx, tx.net_dev_start_xmit?))) {
            let is_undisturbed = free(sender, since_ns, left_ns);
            undisturbed[0] = Some(is_undisturbed);
            self.tx.add(is_undisturbed, window, header.sent_ns, left_ns);
            if is_undisturbed {
                let stages = &mut self.tx.stages;
                tx.stages(self.is_stream, |stage, ns| stages[stage.index()].1.add(ns));
            }
        }
        let rx = view.rx(header.sequence);
        let link_and_ready = rx.and_then(|rx| {
            let link_ns = rx.netif_receive_skb?;
            let ready_ns = if view.hooks() == Hooks::LinkLayer { link_ns } else { rx.sk_data_ready? };
            Some((link_ns, ready_ns))
        });
        if let Some((link_ns, ready_ns)) = link_and_ready {
            let waits_ns = self.reader.add(link_ns, received_ns);
            // The kernel's half of the way in may run on the sender's processor.
            let is_undisturbed =
                seen && free(sender, since_ns, ready_ns) && free(self.cpus.reader, waits_ns, received_ns);
            undisturbed[1] = Some(is_undisturbed);
            self.rx.add(is_undisturbed, window, link_ns, received_ns);
        }
        self.hold_against_slot(lane, header, undisturbed);
        undisturbed
    }

    /// The message before this one, if it was undisturbed.
    fn hold_against_slot(&mut self, lane: usize, header: &Header, undisturbed: UndisturbedWays) {
        let last = self.lanes[lane].last.replace((*header, undisturbed));
        let Some((last, undisturbed)) = last else { return };
        let interval_ns = header.intended_ns.saturating_sub(last.intended_ns)
            / header.sequence.saturating_sub(last.sequence).max(1);
        let lag_ns = last.sent_ns.wrapping_sub(last.intended_ns) as i64;
        for (way, undisturbed) in [&mut self.tx, &mut self.rx].into_iter().zip(undisturbed) {
            if undisturbed == Some(true) {
                way.lateness.add(lag_ns, Some(interval_ns));
            }
        }
    }
}

impl UndisturbedSums {
    /// The part of the judged messages that were undisturbed, 0 to 1.
    pub fn share(&self) -> f64 {
        self.times.distribution.moments.n as f64 / self.judged.max(1) as f64
    }

    fn add(&mut self, undisturbed: bool, window: usize, from_ns: u64, to_ns: u64) {
        self.judged += 1;
        if undisturbed {
            self.times.add(window, to_ns.wrapping_sub(from_ns) as i64);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_waits_with_those_before_it_until_one_is_on_time() {
        let mut backlog = Backlog::default();
        assert_eq!(backlog.add(1000, 1001), 1000);
        // Held up for 3 ms; two more were due meanwhile, the next one while they were sent.
        assert_eq!(backlog.add(2000, 5000), 2000);
        assert_eq!(backlog.add(3000, 5010), 2000);
        assert_eq!(backlog.add(5005, 5020), 2000);
        assert_eq!(backlog.add(6000, 6001), 6000);
    }
}
