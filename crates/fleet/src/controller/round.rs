//! One round: receivers are ready, then senders start at one instant, then both ends report.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, Instant};

use futures_util::future::join_all;
use netfathom_model::record::{FleetClock, FleetPair};
use tokio::task::unconstrained;

use super::link::ANSWER_WITHIN;
use super::{Crew, Miss};
use crate::wire::{Outcome, Service, Task};

/// From the orders to the start: longer than it takes to give them, and for a load to agree with its receiver.
const LEAD: Duration = Duration::from_millis(450);
const LEAD_OF_EACH: Duration = Duration::from_millis(5);
/// After the time of a task, for what is under way and for the report.
const AFTER: Duration = Duration::from_secs(8);
/// From the end of what a receiver waits for to its report.
const REPORT: Duration = Duration::from_secs(2);
/// No sender starts later, or its report comes too late.
const MOST_LATE: Duration = Duration::from_secs(3600);
/// So long in all, agents that do not compare their clocks are waited for.
const IN_VAIN: Duration = Duration::from_secs(10);

/// What one sender is to do with one receiver.
pub struct Pairing {
    pub from: String,
    pub to: String,
}

/// What came of it at both ends.
pub struct Ended {
    pub from: String,
    pub to: String,
    /// The planned start by the clock of the sender.
    pub start_utc_ns: u64,
    pub sent: Result<Outcome, Miss>,
    pub received: Result<Outcome, Miss>,
}

impl Ended {
    /// The pair that it was, without what came of it.
    pub fn pair(&self, round: u32) -> FleetPair {
        let (late_ns, start_waited_ns) = self.start().unzip();
        let (from, to, start_waited_ns) = (self.from.clone(), self.to.clone(), start_waited_ns.flatten());
        FleetPair { from, to, round, late_ns, start_waited_ns, ..FleetPair::default() }
    }

    /// How late it started, and for how long it waited for a CPU then; `None` of a clock that was set meanwhile.
    fn start(&self) -> Option<(i64, Option<u64>)> {
        let (started_utc_ns, waited_ns) = match self.sent.as_ref().ok()? {
            Outcome::Transferred(sent) => (sent.started_utc_ns, sent.start_waited_ns),
            Outcome::Loaded(sent) => (sent.started_utc_ns, sent.start_waited_ns),
            _ => return None,
        };
        let late_ns = started_utc_ns.cast_signed().checked_sub_unsigned(self.start_utc_ns)?;
        (late_ns.unsigned_abs() <= MOST_LATE.as_nanos() as u64).then_some((late_ns, waited_ns))
    }
}

impl Crew {
    /// Compares all clocks with that of the first host. A host without a comparison goes by the clock in its answers.
    pub async fn compare_clocks(&mut self, stop: &AtomicBool) {
        self.link.next_round();
        let Some(first) = self.members.values().next().cloned() else { return };
        self.set_clock(&first.facts.name, FleetClock { offset_ns: 0, bound_ns: 0 });
        // For all hosts, a few at a time.
        let most_ns = 100_000_000_000;
        let Ok(serving) = self.link.order(&first, Task::Serve { what: Service::Clock, most_ns }).await else {
            return;
        };
        let Some(port) = serving.port else { return };
        let with = SocketAddr::new(first.facts.address, port);
        let others: Vec<_> = self.members.values().skip(1).cloned().collect();
        // A few at a time: exchanges that wait for each other have long round trips.
        let mut in_vain = Duration::ZERO;
        for some in others.chunks(4) {
            if stop.load(Relaxed) || in_vain > IN_VAIN {
                return;
            }
            let began = Instant::now();
            let compared = join_all(some.iter().map(|member| async {
                let started = self.link.order(member, Task::Compare { with }).await?;
                self.link.outcome(member, started, AFTER).await
            }));
            let compared = compared.await;
            if compared.iter().any(Result::is_err) {
                in_vain += began.elapsed();
            }
            for (member, outcome) in some.iter().zip(compared) {
                match outcome {
                    Ok(Outcome::Clock { offset_ns, bound_ns }) => {
                        self.set_clock(&member.facts.name, FleetClock { offset_ns, bound_ns });
                    }
                    Ok(_) => {}
                    Err(miss) => self.missed(&member.facts.name, &miss),
                }
            }
        }
    }

    fn set_clock(&mut self, name: &str, clock: FleetClock) {
        if let Some(member) = self.members.get_mut(name) {
            member.clock = Some(clock);
        }
        if let Some(host) = self.hosts.get_mut(name) {
            host.clock = Some(clock);
        }
    }

    /// An instant that all can be ready by, on the clock of the first host.
    fn instant(&self, pairs: usize) -> Option<u64> {
        let first = self.members.values().find(|member| member.clock.is_some())?;
        let lead = LEAD + LEAD_OF_EACH * pairs as u32;
        let offset_ns = first.clock.map_or(0, |clock| clock.offset_ns);
        Some((first.now_utc_ns() + lead.as_nanos() as u64).saturating_add_signed(-offset_ns))
    }

    /// The same instant on the clock of a host.
    fn start_of(&self, name: &str, instant_utc_ns: Option<u64>, pairs: usize) -> u64 {
        let Some(member) = self.members.get(name) else { return 0 };
        match (member.clock, instant_utc_ns) {
            (Some(clock), Some(instant)) => instant.saturating_add_signed(clock.offset_ns),
            _ => member.now_utc_ns() + (LEAD + LEAD_OF_EACH * pairs as u32).as_nanos() as u64,
        }
    }

    /// Has all pairs of a round do their work at the same time.
    pub async fn round(
        &mut self,
        pairs: &[Pairing],
        what: impl Fn(usize) -> Service,
        time_ns: u64,
        task: impl Fn(SocketAddr, u64) -> Task,
    ) -> Vec<Ended> {
        self.link.next_round();
        let lead = LEAD + LEAD_OF_EACH * pairs.len() as u32;
        // Its sender starts when all have their orders, and the lead is over.
        let receives = ANSWER_WITHIN + lead + Duration::from_nanos(time_ns) + AFTER;
        let most_ns = receives.as_nanos() as u64;
        // Unconstrained: of many orders to one agent, tokio would take back the turn of one that has its number, and a later
        // one would be given first.
        let serving = unconstrained(join_all(pairs.iter().enumerate().map(async |(place, pair)| {
            let (Some(from), Some(to)) = (self.members.get(&pair.from), self.members.get(&pair.to)) else {
                let missing = if self.members.contains_key(&pair.from) { &pair.to } else { &pair.from };
                return Err(Miss::Failed(format!("{missing} is missing")));
            };
            let started = self.link.order(to, Task::Serve { what: what(place), most_ns }).await?;
            Ok((from, to, started))
        })))
        .await;
        let instant = self.instant(pairs.len());
        let within = lead + Duration::from_nanos(time_ns) + AFTER;
        let receivers_end = Instant::now() + receives;
        let ended = unconstrained(join_all(pairs.iter().zip(serving).map(|(pair, serving)| async {
            let start_utc_ns = self.start_of(&pair.from, instant, pairs.len());
            let ended = |sent, received| Ended {
                from: pair.from.clone(),
                to: pair.to.clone(),
                start_utc_ns,
                sent,
                received,
            };
            let (from, to, started) = match serving {
                Ok(serving) => serving,
                Err(miss) => return ended(Err(Miss::Failed(miss.why().into())), Err(miss)),
            };
            let Some(port) = started.port else {
                // Its report says why it has none.
                let received = self.link.outcome(to, started, AFTER).await;
                return ended(Err(Miss::Failed("the receiver has no port".into())), received);
            };
            let at = SocketAddr::new(to.facts.address, port);
            let sending = match self.link.order(from, task(at, start_utc_ns)).await {
                Ok(sending) => sending,
                Err(miss) => return ended(Err(miss), Err(Miss::Failed("the sender did not start".into()))),
            };
            let sent = self.link.outcome(from, sending, within).await;
            // Nothing more comes to a receiver without a sender. If that reported falsely, it waits until its own end.
            let left = receivers_end.saturating_duration_since(Instant::now()) + REPORT;
            let left = if sent.is_ok() { left } else { Duration::ZERO };
            let received = match self.link.outcome(to, started, left).await {
                Err(Miss::Gone(why)) if sent.is_err() && why.contains("did not answer") => {
                    Err(Miss::Failed(why))
                }
                received => received,
            };
            ended(sent, received)
        })))
        .await;
        for one in &ended {
            one.sent.as_ref().err().into_iter().for_each(|miss| self.missed(&one.from, miss));
            one.received.as_ref().err().into_iter().for_each(|miss| self.missed(&one.to, miss));
        }
        ended
    }
}
