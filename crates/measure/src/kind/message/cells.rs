//! Trials put together.

use std::collections::BTreeMap;

use netfathom_model::layer::Layer;
use netfathom_model::plan::{MessagePlan, MessageTest, Place, Placement, Until};
use netfathom_model::record::{
    Counted, Distribution, Estimate, MessageCell, MessageRate, MessageResult, MessageTrial,
};
use netfathom_model::verdict::Verdict;
use netfathom_stats::{self as stats, Interval, paired_ratio_by};

use super::order::Cell;
use super::shot::Shot;
use super::task::{Done, GRAIN};

/// Puts a trial to its cell, which is made with the first.
pub fn add(result: &mut MessageResult, cell: &Cell, index: u32, round: u32, shot: Shot) {
    let at = result.cells.iter().position(|c| key(c) == *cell).unwrap_or_else(|| {
        result.cells.push(empty(cell));
        result.cells.len() - 1
    });
    let test = result.plan.test;
    let times = timing(test, cell.placement, &shot).times.clone();
    let (service, lag) = (shot.client.service.clone(), shot.client.lag.clone());
    let known = &mut result.cells[at];
    known.times = merged(&known.times, &times);
    let more = |old: &Option<Distribution>, new: &stats::Distribution| {
        old.as_ref().map_or_else(|| new.into(), |old| merged(old, new))
    };
    known.service = service.map(|service| more(&known.service, &service));
    known.lag = lag.map(|lag| more(&known.lag, &lag));
    known.trials.push(trial(&result.plan, cell.placement, index, round, shot));
    known.rate = rate(&known.trials, Until::interval(result.plan.until));
}

pub fn key(of: &MessageCell) -> Cell {
    let MessageCell { layer, bytes, placement, pair, .. } = of;
    Cell { layer: layer.clone(), bytes: *bytes, placement: *placement, pair: *pair }
}

/// One without trials.
pub fn empty(cell: &Cell) -> MessageCell {
    MessageCell {
        layer: cell.layer.clone(),
        bytes: cell.bytes,
        placement: cell.placement,
        pair: cell.pair,
        trials: Vec::new(),
        rate: None,
        ratio: None,
        times: (&stats::Distribution::new(GRAIN)).into(),
        service: None,
        lag: None,
        calls: Counted::Not("the run ended before it came to that".into()),
        verdict: Verdict::default(),
    }
}

/// The end that takes the times: one way it is the server, otherwise the client, unless that is in
/// the kernel and the server is not.
pub fn timing(test: MessageTest, placement: Placement, shot: &Shot) -> &Done {
    if test == MessageTest::Oneway || placement == Placement::KU { &shot.server } else { &shot.client }
}

fn merged(old: &Distribution, new: &stats::Distribution) -> Distribution {
    if old.n == 0 {
        // Those of the kernel have a grain of their own.
        return new.into();
    }
    let mut all: stats::Distribution = old.into();
    all.merge(new);
    (&all).into()
}

/// Messages or requests that were sent. If the server counts round trips, only it knows how many.
fn sent(test: MessageTest, shot: &Shot, timing: &Done) -> u64 {
    match test {
        MessageTest::Oneway => shot.client.messages,
        MessageTest::Pingpong | MessageTest::Post => timing.timed + lost(test, shot),
    }
}

/// Messages that did not come.
fn lost(test: MessageTest, shot: &Shot) -> u64 {
    match test {
        MessageTest::Oneway => shot.client.messages.saturating_sub(shot.server.messages),
        MessageTest::Pingpong | MessageTest::Post => shot.client.lost + shot.server.lost,
    }
}

fn trial(plan: &MessagePlan, placement: Placement, index: u32, round: u32, shot: Shot) -> MessageTrial {
    let test = plan.test;
    let timing = timing(test, placement, &shot);
    let oneway = test == MessageTest::Oneway;
    let between_hosts = matches!(plan.place, Place::To(_));
    let first_ns = if oneway && !between_hosts { shot.client.first_ns } else { timing.first_ns };
    let lasted_ns = first_ns.map_or(0, |first_ns| timing.last_ns.saturating_sub(first_ns));
    let duration_ns = if oneway && between_hosts { at_rate_of_later(timing, lasted_ns) } else { lasted_ns };
    let quantile = |q| timing.times.quantile(q).unwrap_or(0);
    MessageTrial {
        index,
        round,
        messages: timing.timed,
        sent: sent(test, &shot, timing),
        lost: lost(test, &shot),
        duration_ns,
        cut_short: shot.client.cut_short || shot.server.cut_short,
        p50_ns: quantile(0.5),
        p99_ns: quantile(0.99),
        p999_ns: timing.times.quantile(0.999),
        max_ns: (timing.times.moments.n > 0).then_some(timing.times.moments.max),
        client: shot.client_cost,
        server: shot.server_cost,
        kernel_workers_ns: shot.counts.kernel_workers_ns,
        tcp: shot.counts.tcp,
    }
}

/// What all messages take at the rate of those that came after the first arrival: between hosts no two clocks are compared.
fn at_rate_of_later(done: &Done, lasted_ns: u64) -> u64 {
    let later = done.timed.saturating_sub(done.first);
    if later == 0 { 0 } else { (lasted_ns as f64 * done.timed as f64 / later as f64) as u64 }
}

fn rate(trials: &[MessageTrial], interval: Interval) -> Option<MessageRate> {
    let mut rates: Vec<f64> = trials.iter().filter_map(MessageTrial::per_s).collect();
    let mean_per_s = interval(&rates).map(Into::into);
    rates.sort_by(f64::total_cmp);
    let n = rates.len();
    Some(MessageRate {
        median_per_s: (rates.get(n.checked_sub(1)? / 2)? + rates.get(n / 2)?) / 2.0,
        lowest_per_s: *rates.first()?,
        highest_per_s: *rates.last()?,
        mean_per_s,
    })
}

/// Holds each cell against the first layer of its point, round by round.
pub fn compare(result: &mut MessageResult) {
    let Some(first) = result.plan.layers.first().cloned() else { return };
    let interval = Until::interval(result.plan.until);
    let ratios: Vec<_> =
        result.cells.iter().map(|cell| ratio(&result.cells, cell, &first, interval)).collect();
    for (cell, ratio) in result.cells.iter_mut().zip(ratios) {
        cell.ratio = ratio;
    }
}

fn ratio(cells: &[MessageCell], cell: &MessageCell, first: &Layer, interval: Interval) -> Option<Estimate> {
    if cell.layer == *first {
        return None;
    }
    let point = |c: &&MessageCell| (c.bytes, c.placement, c.pair) == (cell.bytes, cell.placement, cell.pair);
    let reference = cells.iter().filter(point).find(|c| c.layer == *first)?;
    let of_rounds: BTreeMap<u32, &MessageTrial> = reference.trials.iter().map(|t| (t.round, t)).collect();
    let beside = |trial: &MessageTrial| Some((trial.per_s()?, of_rounds.get(&trial.round)?.per_s()?));
    let pairs: Vec<(f64, f64)> = cell.trials.iter().filter_map(beside).collect();
    paired_ratio_by(&pairs, interval).map(Into::into)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_of_the_first_arrival_are_in_no_rate() {
        let done = |first| Done { timed: 20, first, ..Done::nothing() };
        // Ten in 1 µs, and as many before.
        assert_eq!(at_rate_of_later(&done(10), 1000), 2000);
        assert_eq!(at_rate_of_later(&done(20), 1000), 0);
    }
}
