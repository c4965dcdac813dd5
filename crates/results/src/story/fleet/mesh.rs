//! Every pair of hosts: the slow host, the slow pair, and a map of all.

use itertools::Itertools as _;
use netfathom_model::plan::FleetTest;
use netfathom_model::print::{percent, time};
use netfathom_model::record::{Cause, FleetPair, FleetResult, HostEffect};
use netfathom_stats::middle_of;

use super::{sentence, times, value};
use crate::page::{Cell, Page, Style, Table};

/// Pairs and hosts in the tables of a terminal; the record has all.
const MOST_PAIRS: usize = 12;
/// Hosts of a map: more columns than this are a smear. The worst come first.
const MOST_MAPPED: usize = 32;
/// The same in a terminal.
const MOST_MAPPED_SHORT: usize = 6;

pub fn answer(result: &FleetResult) -> String {
    if let Some(worst) = result.outliers().next() {
        return sentence(result, worst);
    }
    let values = result.measured().filter_map(|pair| pair.value(result.plan.test));
    let (Some(median), Some(worst)) = (middle_of(values), by_value(result).into_iter().next()) else {
        return "no pair was measured".into();
    };
    let word = if result.plan.test == FleetTest::Throughput { "slowest" } else { "worst" };
    // Of a few of the pairs no host would be named, whatever it is like; nor of two hosts, which share their pairs.
    let hosts = match worst_first(result).len() {
        _ if !result.has_enough_pairs() => "too few pairs to judge hosts",
        0..3 => "two hosts are too few to judge one",
        _ => "no host is different",
    };
    format!(
        "{hosts}: median {}, {word} pair {} ({} to {})",
        value(result.plan.test, median),
        value(result.plan.test, worst.value(result.plan.test).unwrap_or_default()),
        worst.from,
        worst.to,
    )
}

/// Pairs with a value, the worst first.
fn by_value(result: &FleetResult) -> Vec<&FleetPair> {
    let test = result.plan.test;
    let mut pairs: Vec<&FleetPair> = result.measured().filter(|pair| pair.value(test).is_some()).collect();
    pairs.sort_by(|a, b| a.value(test).unwrap_or(0.0).total_cmp(&b.value(test).unwrap_or(0.0)));
    if test != FleetTest::Throughput {
        pairs.reverse();
    }
    pairs
}

pub fn draw(page: &mut Page, result: &FleetResult) {
    if !result.effects.is_empty() {
        page.main("Hosts, the worst first");
        page.table(effects(result));
        page.rest();
        page.note("of median: the median of the pairs with it, divided by that of the pairs without it");
    }
    let names = worst_first(result);
    if (2..=MOST_MAPPED_SHORT).contains(&names.len()) {
        page.main("Map: sender by row, receiver by column");
        page.table(map(result, &names, whole));
        page.rest();
    } else if names.len() > MOST_MAPPED_SHORT {
        page.details("Map: sender by row, receiver by column; the worst hosts first", |page| {
            page.table(map(result, &names[..names.len().min(MOST_MAPPED)], short));
            page.note(match result.plan.test {
                FleetTest::Loss => "% of messages lost",
                FleetTest::Latency => {
                    "100: the median of all pairs; 50: twice its time; red: below 50, brown: below 80"
                }
                _ => "% of the median of all pairs; red: below 50, brown: below 80",
            });
        });
    }
    page.main("Pairs, the worst first");
    page.table(pairs(result));
    page.rest();
    page.note("expected: the value, divided by the one that its two hosts predict");
    if let Some(merged) = &result.merged {
        page.note(&format!(
            "all {} round trips together: p50 {}, p90 {}, p99 {}, p99.9 {} (histograms added)",
            netfathom_model::print::count(merged.n),
            time(merged.p50_ns as f64),
            time(merged.p90_ns as f64),
            time(merged.p99_ns as f64),
            time(merged.p999_ns as f64),
        ));
    }
    failed(page, result);
}

fn ratio(test: FleetTest, ratio: f64) -> String {
    if test == FleetTest::Throughput { percent(ratio) } else { times(ratio) }
}

fn effects(result: &FleetResult) -> Table {
    let mut table = Table::of("<host|of median|worse pairs|<side|<");
    for effect in result.effects.iter().take(MOST_PAIRS) {
        let HostEffect { host, side, worse, pairs, named, .. } = effect;
        let word = match (named, &effect.cause) {
            (true, Some(cause)) => format!("different: {cause}"),
            (true, None) => "different".into(),
            (false, _) => String::new(),
        };
        let why = format!("{:.1} times what chance does", effect.strength.abs());
        let style = if *named { Style::Bad } else { Style::Plain };
        table.row([
            Cell::from(host),
            Cell::from(ratio(result.plan.test, effect.ratio)),
            Cell::from(format!("{worse} of {pairs}")),
            Cell::from(side.name()),
            Cell::Marked { text: word, style, why },
        ]);
    }
    table
}

fn pairs(result: &FleetResult) -> Table {
    let mut table = Table::of(&format!("<from|<to|{}|expected|<limited by", result.plan.test.name()));
    for pair in by_value(result).into_iter().take(MOST_PAIRS) {
        let none = || "n/a".to_owned();
        table.row([
            pair.from.clone(),
            pair.to.clone(),
            pair.value(result.plan.test).map_or_else(none, |v| value(result.plan.test, v)),
            pair.residual.map_or_else(none, |r| ratio(result.plan.test, r)),
            limited(pair),
        ]);
    }
    table
}

/// What limited a pair, by the end that knows.
fn limited(pair: &FleetPair) -> String {
    let known = |cause: &Option<(Cause, String)>| {
        let cause = cause.as_ref().map(|c| c.0);
        cause.filter(|c| !matches!(c, Cause::Nothing | Cause::TooShort | Cause::Elsewhere))
    };
    match (known(&pair.send_cause), known(&pair.receive_cause)) {
        (Some(Cause::Pace), _) => "--max-bits of the sender's agent".into(),
        (_, Some(cause)) if cause == Cause::Processor => format!("{} of receiver", cause.name()),
        (Some(cause), _) => format!("{} (seen by sender)", cause.name()),
        (None, Some(cause)) => format!("{} (seen by receiver)", cause.name()),
        (None, None) => String::new(),
    }
}

/// Names of hosts with pairs, the worst first.
fn worst_first(result: &FleetResult) -> Vec<&str> {
    let of_pairs = result.measured().flat_map(|pair| [&pair.from, &pair.to]);
    result.effects.iter().map(|effect| &effect.host).chain(of_pairs).map(String::as_str).unique().collect()
}

/// What a map shows of a pair: by its value, and by how well it does beside the median.
type Text = fn(FleetTest, f64, f64) -> String;

fn whole(test: FleetTest, own: f64, _: f64) -> String {
    value(test, own)
}

/// Narrow, so that two dozen columns stand beside each other.
fn short(test: FleetTest, own: f64, of_median: f64) -> String {
    match test {
        FleetTest::Loss => format!("{:.1}", 100.0 * own),
        _ => format!("{:.0}", 100.0 * of_median),
    }
}

fn map(result: &FleetResult, names: &[&str], text: Text) -> Table {
    let test = result.plan.test;
    let median = middle_of(result.measured().filter_map(|pair| pair.value(test))).unwrap_or(0.0);
    let mut table = Table::of("<").figures(names);
    for from in names {
        let mut cells = vec![Cell::from(*from)];
        for to in names {
            let of = |pair: &&FleetPair| {
                let there = pair.from == *from && pair.to == *to;
                there || test != FleetTest::Throughput && pair.from == *to && pair.to == *from
            };
            cells.push(match result.pairs.iter().find(of) {
                _ if from == to => Cell::from("·"),
                None => Cell::from(""),
                Some(pair) => shade(test, pair, median, text),
            });
        }
        table.row(cells);
    }
    table
}

fn shade(test: FleetTest, pair: &FleetPair, median: f64, text: Text) -> Cell {
    let Some(own) = pair.value(test).filter(|_| pair.failed.is_none()) else {
        let why = pair.failed.clone().unwrap_or_default();
        return Cell::Marked { text: "failed".into(), style: Style::Bad, why };
    };
    let of_median = if test == FleetTest::Throughput { own / median } else { median / own };
    let style = match of_median {
        r if r < 0.5 => Style::Bad,
        r if r < 0.8 => Style::Warning,
        _ => Style::Plain,
    };
    let why = format!("{} to {}: {}", pair.from, pair.to, value(test, own));
    Cell::Marked { text: text(test, own, of_median), style, why }
}

fn failed(page: &mut Page, result: &FleetResult) {
    let failed: Vec<&FleetPair> = result.pairs.iter().filter(|pair| pair.failed.is_some()).collect();
    if failed.is_empty() {
        return;
    }
    page.heading("Pairs without a value");
    for pair in failed.iter().take(super::super::MOST_ROWS) {
        page.bullet(&format!("{} to {}: {}", pair.from, pair.to, pair.failed.as_deref().unwrap_or_default()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use netfathom_model::plan::FleetPlan;

    #[test]
    fn two_hosts_are_too_few_to_judge_one() {
        let pair = |from: &str, to: &str| FleetPair {
            from: from.into(),
            to: to.into(),
            bytes_per_s: Some(1e6),
            ..FleetPair::default()
        };
        let of = |pairs: Vec<FleetPair>| FleetResult {
            plan: FleetPlan { test: FleetTest::Throughput, ..FleetPlan::default() },
            pairs,
            ..FleetResult::default()
        };
        let two = of(vec![pair("a", "b")]);
        assert!(answer(&two).starts_with("two hosts are too few to judge one: "), "{}", answer(&two));
        let mut page = Page::default();
        draw(&mut page, &two);
        assert!(!crate::draw::terminal(&page, 80, false).contains("Hosts, the worst first"));
        let three = of(vec![pair("a", "b"), pair("b", "c"), pair("c", "a")]);
        assert!(answer(&three).starts_with("no host is different: "), "{}", answer(&three));
    }
}
