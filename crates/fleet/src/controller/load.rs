//! What one host takes of all the others: they share a rate, step by step, up to the one that is not sustained.

use std::iter;

use netfathom_measure::ground::error::RunError;
use netfathom_measure::ground::observer::Observer;
use netfathom_model::plan::FleetTest;
use netfathom_model::record::{FleetPair, FleetReceived, FleetResult, FleetStep};

use super::round::{Ended, Pairing};
use super::{Crew, Run};
use crate::wire::{Outcome, Service, Task};

/// Messages that may be missing of a step that is sustained: one of a thousand.
const MISSING: f64 = 0.001;

impl<O: Observer<FleetResult>> Run<'_, O> {
    pub async fn load(&mut self, crew: &mut Crew) -> Result<(), RunError> {
        let plan = self.plan;
        let to = plan.to.clone().or_else(|| crew.members.keys().next().cloned()).unwrap_or_default();
        let kept = &self.p.result.steps;
        // Beyond a rate that is not sustained there is nothing to find out.
        let done = if kept.iter().all(|step| step.sustained) { kept.len() } else { usize::MAX };
        for (number, &rate_per_s) in plan.rates_per_s.iter().enumerate().skip(done) {
            let senders: Vec<String> = crew.members.keys().filter(|name| **name != to).cloned().collect();
            if !self.goes_on(crew).await || senders.is_empty() || !crew.members.contains_key(&to) {
                break;
            }
            self.begins("step", number + 1, plan.rates_per_s.len());
            let instances = senders.iter().flat_map(|from| iter::repeat_n(from, plan.streams.into()));
            let pairs: Vec<Pairing> =
                instances.map(|from| Pairing { from: from.clone(), to: to.clone() }).collect();
            let share = rate_per_s / pairs.len() as f64;
            let (test, time_ns, size_bytes) = (FleetTest::Load, plan.time_ns, plan.size_bytes);
            let task = |to, start_utc_ns| {
                let rate_per_s = share;
                Task::Load { test, to, start_utc_ns, time_ns, rate_per_s, size_bytes }
            };
            // The programs that see stages take time from the receiver: one sender's messages stand for all.
            let serves = |place| Service::Load { test, rate_per_s: share, stages: place == 0 };
            let ended = crew.round(&pairs, serves, time_ns, task).await;
            self.p.result.pairs.extend(ended.iter().map(|ended| late(number as u32, ended)));
            let step = step(rate_per_s, time_ns, &ended);
            // Without one of its senders a step shows no limit of the receiver.
            let is_limit = !step.sustained && (step.failed.is_empty() || step.senders == 0);
            self.p.result.steps.push(step);
            self.keep(crew)?;
            if is_limit {
                break;
            }
        }
        self.goes_on(crew).await;
        Ok(())
    }
}

fn step(rate_per_s: f64, time_ns: u64, ended: &[Ended]) -> FleetStep {
    let mut step = FleetStep { rate_per_s, ..FleetStep::default() };
    for (place, one) in ended.iter().enumerate() {
        match &one.received {
            // Its first sender's messages were to be seen.
            Err(miss) if place == 0 => step.unseen = Some(miss.why().to_owned()),
            Ok(Outcome::Received(Ok(received))) => step.received = Some(FleetReceived::clone(received)),
            Ok(Outcome::Received(Err(why))) => step.unseen = Some(why.clone()),
            _ => {}
        }
        match (&one.sent, &one.received) {
            (Ok(Outcome::Loaded(loaded)), _) => {
                step.senders += 1;
                step.planned += loaded.planned;
                step.sent += loaded.sent;
                step.delivered += loaded.delivered;
                step.lag_p99_ns = step.lag_p99_ns.max(loaded.lag_p99_ns);
            }
            (Err(miss), _) | (_, Err(miss)) => step.failed.push((one.from.clone(), miss.why().to_owned())),
            _ => step.failed.push((one.from.clone(), "it reported something else".into())),
        }
    }
    let seconds = time_ns as f64 / 1e9;
    step.sent_per_s = step.sent as f64 / seconds;
    step.delivered_per_s = step.delivered as f64 / seconds;
    let whole = |part: u64| part as f64 >= (1.0 - MISSING) * step.planned as f64;
    step.sustained = step.failed.is_empty() && step.planned > 0 && whole(step.sent) && whole(step.delivered);
    step
}

/// A sender of a step as a pair: what it sent and lost, and when it started.
fn late(round: u32, ended: &Ended) -> FleetPair {
    let loaded = match &ended.sent {
        Ok(Outcome::Loaded(loaded)) => Some(loaded),
        _ => None,
    };
    FleetPair {
        sent: loaded.map(|l| l.sent),
        lost: loaded.map(|l| l.sent.saturating_sub(l.delivered)),
        failed: ended.sent.as_ref().err().map(|miss| miss.why().to_owned()),
        ..ended.pair(round)
    }
}
