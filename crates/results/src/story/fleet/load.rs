//! What one host takes of all the others together.

use std::collections::BTreeMap;
use std::iter;

use netfathom_model::print::{count, counted, percent, percent_down, rate, time};
use netfathom_model::record::{FleetReceived, FleetResult, FleetStep, WatchStage};

use crate::page::{Page, Table};

pub fn answer(result: &FleetResult) -> String {
    let to = result.plan.to.as_deref().unwrap_or("the first host");
    let best = result.steps.iter().rfind(|step| step.sustained);
    // A step without one of its senders shows no limit.
    let broken = result.steps.iter().find(|step| !step.sustained && step.failed.is_empty());
    let best = best.map(|best| format!("{} from {}", rate(best.delivered_per_s), senders(best)));
    let rates = |step: &FleetStep| [step.rate_per_s, step.sent_per_s, step.delivered_per_s].map(rate);
    let broken = broken.map(|step| (step, rates(step), is_whole(step, step.sent)));
    match (best, broken) {
        (Some(best), None) => format!("{to} sustains at least {best} without loss"),
        (Some(best), Some((next, [planned, sent, _], false))) => {
            let they_send = if next.senders == 1 { "it sends" } else { "they send" };
            format!("{to} sustains at least {best}; of {planned} {they_send} {sent}")
        }
        (Some(best), Some((_, [planned, _, delivered], true))) => {
            format!("{to} sustains {best}; of {planned} it receives {delivered}")
        }
        (None, Some((first, [planned, sent, _], false))) => {
            format!("{to} was not loaded enough: of {planned} {} sent {sent}", senders(first))
        }
        (None, Some((_, [planned, _, delivered], true))) => {
            format!("{to} does not sustain {planned}: {delivered} arrived")
        }
        (None, None) if result.steps.is_empty() => "no step was measured".into(),
        (None, None) => "no step had all its senders".into(),
    }
}

fn senders(step: &FleetStep) -> String {
    counted(step.senders, "sender")
}

fn is_whole(step: &FleetStep, part: u64) -> bool {
    part as f64 >= 0.999 * step.planned as f64
}

pub fn draw(page: &mut Page, result: &FleetResult) {
    page.main("Steps");
    let mut table = Table::of("rate|senders|sent|delivered|lost|late by p99|<");
    for step in &result.steps {
        let lost = step.sent.saturating_sub(step.delivered) as f64 / step.sent.max(1) as f64;
        let known = |text: String| if step.senders > 0 { text } else { "n/a".into() };
        table.row([
            rate(step.rate_per_s),
            step.senders.to_string(),
            known(rate(step.sent_per_s)),
            known(rate(step.delivered_per_s)),
            known(percent(lost)),
            known(time(step.lag_p99_ns as f64)),
            word(step),
        ]);
    }
    page.table(table);
    stages(page, result);
    page.rest();
    let seen: Vec<_> = seen(result).collect();
    if !seen.is_empty() {
        page.heading("Mean time in each stage at the receiver");
        page.table(means(&seen));
    }
    page.note("a step is sustained when 99.9 % of the planned messages were sent, and arrived");
    for step in &result.steps {
        for (host, why) in step.failed.iter().take(super::super::MOST_ROWS) {
            page.bullet(&format!("at {}, {host}: {why}", rate(step.rate_per_s)));
        }
    }
}

fn seen(result: &FleetResult) -> impl Iterator<Item = (&FleetStep, &FleetReceived)> {
    result.steps.iter().filter_map(|step| Some((step, step.received.as_ref()?)))
}

/// Where the messages spent their time at the receiver, step by step.
fn stages(page: &mut Page, result: &FleetResult) {
    let seen = || seen(result);
    if seen().next().is_some() {
        page.main("Time to receive: link layer to the receiving program");
        let mut table = Table::of("rate|n|mean|p99|<largest stage|share");
        for (step, received) in seen() {
            let all = received.total.sum_ns.max(1) as f64;
            let largest = received.stages.iter().max_by_key(|stage| stage.times.sum_ns);
            table.row([
                rate(step.rate_per_s),
                count(received.timed),
                time(received.total.mean_ns),
                time(received.total.p99_ns as f64),
                largest.map_or_else(String::new, |stage| stage.stage.name().into()),
                largest.map_or_else(String::new, |stage| percent(stage.times.sum_ns as f64 / all)),
            ]);
        }
        page.table(table);
        let timed = seen().map(|(_, received)| received.timed as f64 / received.seen.max(1) as f64);
        let least = percent_down(timed.fold(1.0, f64::min));
        let others = untimed(result);
        page.note(&format!(
            "of the messages of one sender; n: those with times, {least} or more of them{others}"
        ));
    }
    if let Some(why) = result.steps.iter().find_map(|step| step.unseen.as_ref()) {
        page.note(&format!("where messages spend their time at the receiver was not seen: {why}"));
    }
}

/// What became of those without times, by name, in all steps.
fn untimed(result: &FleetResult) -> String {
    let accounts = seen(result).filter_map(|(_, received)| received.account);
    let outcomes = accounts.flat_map(|account| account.outcomes().into_iter().skip(1));
    let mut sums = BTreeMap::new();
    outcomes.filter(|outcome| outcome.1 > 0).for_each(|(name, n)| *sums.entry(name).or_insert(0) += n);
    let named: Vec<String> = sums.into_iter().map(|(name, n)| format!("{} {name}", count(n))).collect();
    if named.is_empty() { String::new() } else { format!("; others: {}", named.join(", ")) }
}

/// A row a step, a column for each stage that any message was in.
fn means(seen: &[(&FleetStep, &FleetReceived)]) -> Table {
    let stages: Vec<WatchStage> = seen.first().map_or_else(Vec::new, |(_, received)| {
        let is_seen = |stage: WatchStage| seen.iter().any(|(_, of)| sum_ns(of, stage) > 0);
        received.stages.iter().map(|stage| stage.stage).filter(|&stage| is_seen(stage)).collect()
    });
    let mut table = Table::of("rate").figures(stages.iter().map(|stage| stage.name()));
    for (step, received) in seen {
        // Of all messages with times, also those that were not in the stage: so the stages add up to the mean.
        let mean = |&stage: &WatchStage| time(sum_ns(received, stage) as f64 / received.timed.max(1) as f64);
        table.row(iter::once(rate(step.rate_per_s)).chain(stages.iter().map(mean)));
    }
    table
}

fn sum_ns(received: &FleetReceived, stage: WatchStage) -> i64 {
    received.stages.iter().find(|of| of.stage == stage).map_or(0, |of| of.times.sum_ns)
}

fn word(step: &FleetStep) -> String {
    match () {
        () if step.sustained => "sustained".into(),
        () if !step.failed.is_empty() => {
            format!("{} failed", counted(step.failed.len(), "sender"))
        }
        () if !is_whole(step, step.sent) => "not all sent".into(),
        () => "not all received".into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use netfathom_model::plan::{FleetPlan, FleetTest};

    fn result(steps: &[(u64, u64, &[&str])]) -> FleetResult {
        let step = |&(sent, delivered, failed): &(u64, u64, &[&str])| FleetStep {
            rate_per_s: 1000.0,
            senders: 2 - failed.len() as u32,
            planned: 1000,
            sent,
            delivered,
            sent_per_s: sent as f64,
            delivered_per_s: delivered as f64,
            sustained: failed.is_empty() && delivered >= 999,
            failed: failed.iter().map(|host| ((*host).into(), "gone".into())).collect(),
            ..FleetStep::default()
        };
        let plan = FleetPlan { test: FleetTest::Load, to: Some("c00".into()), ..FleetPlan::default() };
        FleetResult { plan, steps: steps.iter().map(step).collect(), ..FleetResult::default() }
    }

    #[test]
    fn only_a_step_that_all_senders_sent_shows_a_limit_of_the_receiver() {
        let whole = (1000, 1000, &[][..]);
        let cases: [(&[_], &str); 5] = [
            (&[whole, (1000, 500, &[])], "c00 sustains 1.00k/s from 2 senders; of 1.00k/s it receives 500/s"),
            (
                &[whole, (500, 500, &[])],
                "c00 sustains at least 1.00k/s from 2 senders; of 1.00k/s they send 500/s",
            ),
            (&[whole, (500, 500, &["c01"])], "c00 sustains at least 1.00k/s from 2 senders without loss"),
            (&[(500, 500, &["c01"])], "no step had all its senders"),
            (&[(500, 500, &[])], "c00 was not loaded enough: of 1.00k/s 2 senders sent 500/s"),
        ];
        for (steps, expected) in cases {
            assert_eq!(answer(&result(steps)), expected);
        }
        let mut alone = result(&[whole, (500, 500, &[])]);
        alone.steps.iter_mut().for_each(|step| step.senders = 1);
        assert!(answer(&alone).ends_with("from 1 sender; of 1.00k/s it sends 500/s"), "{}", answer(&alone));
    }
}
