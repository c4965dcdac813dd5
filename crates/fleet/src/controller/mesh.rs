//! Every pair of hosts, round by round.

use std::collections::BTreeSet;

use netfathom_measure::ground::error::RunError;
use netfathom_measure::ground::observer::Observer;
use netfathom_model::plan::{FleetPlan, FleetTest};
use netfathom_model::record::{FleetPair, FleetResult};

use super::round::{Ended, Pairing};
use super::{Crew, Run, resume};
use crate::error::{FleetError, MOST_PAIRS};
use crate::schedule;
use crate::wire::{Outcome, Service, Task, Transferred};

impl<O: Observer<FleetResult>> Run<'_, O> {
    pub async fn mesh(&mut self, crew: &mut Crew) -> Result<(), RunError> {
        let plan = self.plan;
        let kept = &self.p.result;
        let names = resume::hosts(crew.members.keys(), &kept.hosts);
        let some = |n: Option<u32>| n.map(|n| n as usize);
        let both_ways = plan.test == FleetTest::Throughput;
        let peers = plan.peers.map_or(names.len(), |n| names.len().min(n as usize));
        if names.len() * peers / if both_ways { 1 } else { 2 } > MOST_PAIRS {
            return Err(FleetError::TooManyPairs(names.len()).into());
        }
        let rounds =
            schedule::rounds(names.len(), some(plan.peers), some(plan.parallel), both_ways, plan.seed);
        let named =
            |&(from, to): &(usize, usize)| Pairing { from: names[from].clone(), to: names[to].clone() };
        let mut rounds: Vec<Vec<Pairing>> =
            rounds.iter().map(|round| round.iter().map(named).collect()).collect();
        let ends = |pair: &Pairing| resume::ends(plan.test, &pair.from, &pair.to);
        // With --peers other hosts are another graph: a pair of the earlier one is no part of it.
        let wanted: BTreeSet<_> = rounds.iter().flatten().map(ends).collect();
        let kept = &mut self.p.result.pairs;
        kept.retain(|pair| wanted.contains(&resume::pair_ends(plan.test, pair)));
        let known: BTreeSet<_> = kept.iter().map(|pair| resume::pair_ends(plan.test, pair)).collect();
        let first = kept.iter().map(|pair| pair.round.saturating_add(1)).max().unwrap_or(0);
        rounds.iter_mut().for_each(|round| round.retain(|pair| !known.contains(&ends(pair))));
        rounds.retain(|round| !round.is_empty());
        let planned = known.len() + rounds.iter().map(Vec::len).sum::<usize>();
        self.p.result.planned_pairs = planned as u32;
        for (number, pairs) in rounds.iter().enumerate() {
            if !self.goes_on(crew).await {
                break;
            }
            self.begins("round", number + 1, rounds.len());
            let FleetPlan { test, streams, explain, time_ns, size_bytes, .. } = *plan;
            let rate_per_s = plan.rates_per_s[0];
            let what = match test {
                FleetTest::Throughput => Service::Transfer { streams, explain },
                _ => Service::Load { test, rate_per_s, stages: false },
            };
            let task = |to, start_utc_ns| match what {
                Service::Transfer { .. } => Task::Transfer { to, start_utc_ns, time_ns, streams, explain },
                _ => Task::Load { test, to, start_utc_ns, time_ns, rate_per_s, size_bytes },
            };
            let ended = crew.round(pairs, |_| what, time_ns, task).await;
            let round = first.saturating_add(number as u32);
            self.p.result.pairs.extend(ended.into_iter().map(|ended| pair(round, ended)));
            self.keep(crew)?;
        }
        self.goes_on(crew).await;
        Ok(())
    }
}

fn pair(round: u32, ended: Ended) -> FleetPair {
    let mut pair = ended.pair(round);
    match (ended.sent, ended.received) {
        (Ok(Outcome::Transferred(sent)), Ok(Outcome::Transferred(received))) => {
            (pair.retransmits, pair.rtt_us) = (sent.retransmits, sent.rtt_us);
            pair.bytes_per_s = rate(&received);
            pair.failed = sent.broken.or(received.broken);
            (pair.send_cause, pair.receive_cause) = (sent.cause, received.cause);
        }
        (Ok(Outcome::Loaded(sent)), Ok(Outcome::Served)) => {
            (pair.sent, pair.lost) = (Some(sent.sent), Some(sent.sent.saturating_sub(sent.delivered)));
            pair.round_trip = sent.round_trip;
        }
        (Err(miss), _) | (Ok(_), Err(miss)) => pair.failed = Some(miss.why().to_owned()),
        _ => pair.failed = Some("the agents reported something else than they were asked for".into()),
    }
    if pair.failed.is_none() && pair.bytes_per_s.is_none() && pair.sent.is_none_or(|sent| sent == 0) {
        pair.failed = Some("nothing arrived".into());
    }
    pair
}

/// Bytes a second, by the clock of the receiver.
fn rate(received: &Transferred) -> Option<f64> {
    let ns = received.duration_ns;
    (ns > 0 && received.bytes > 0).then(|| received.bytes as f64 / (ns as f64 / 1e9))
}
