//! The answer of a message benchmark in one sentence.

use netfathom_model::layer::Layer;
use netfathom_model::plan::MessageTest;
use netfathom_model::print::{count, counted};
use netfathom_model::record::{
    Contention, LoadThread, MessageCell, MessageResult, ProcessorPair, Remedied, RemedyRow,
};

use super::caveats::in_kernel;
use super::figure::{Quantity, ratio};
use super::groups::{Group, groups, pair, placement};
use super::plan::ends;
use super::remedies::{as_it_was, best_remedy};
use crate::story::number::mean as time;
use crate::story::{contention, precision};

/// Stalls come first: nothing else is so slow.
pub(in crate::story) fn answer(result: &MessageResult) -> String {
    findings(result).into_iter().next().unwrap_or_else(|| {
        let what = if result.cells.is_empty() { "nothing was" } else { "no time could be" };
        format!("{what} measured, so there is no answer yet")
    })
}

/// What else was found, and how it was measured.
pub(super) fn remarks(result: &MessageResult) -> Vec<String> {
    let rest = findings(result).into_iter().skip(1);
    let causes = result
        .remedies
        .iter()
        .map(|remedied| format!("the stall of {}: {}", quoted(&remedied.layer), remedied.stall.name()));
    let home = home(result).and_then(|home| result.pairs.get(home.pair));
    let waits = result.contention.iter().filter(|waited| home.is_none_or(|pair| is_of(waited, pair)));
    let waits = contention::remarks(waits, None);
    causes.chain(waits).chain(rest).chain(how(result)).collect()
}

/// Such as `8 trials, two namespaces over tcp; ended after 21 s: ...`.
fn how(result: &MessageResult) -> Option<String> {
    let MessageResult { plan, precision, .. } = result;
    let rounds = result.cells.iter().map(|cell| cell.trials.len()).max()?;
    let trials = if plan.until.is_some() { rounds } else { plan.trials as usize };
    let ended = precision::remark(plan.until, precision.as_ref(), "the answer");
    let how = format!("{}, {}", counted(trials, "trial"), ends(result));
    Some([how].into_iter().chain(ended).collect::<Vec<_>>().join("; "))
}

fn findings(result: &MessageResult) -> Vec<String> {
    let stalls = result.remedies.iter().map(stall);
    let compared = home(result).and_then(|home| compared(result, &home));
    stalls.chain(compared.into_iter().flatten()).chain(processors(result)).collect()
}

fn stall(remedied: &Remedied) -> String {
    let median = |row: Option<&RemedyRow>| {
        row.filter(|row| row.times.n > 0).map_or_else(|| "n/a".into(), |row| time(row.times.p50_ns as f64))
    };
    let ended = match best_remedy(remedied) {
        None => "no remedy ends it".into(),
        Some(best) => format!("{} takes {}", quoted(&best.layer), median(Some(best))),
    };
    format!(
        "{} stalls with {}: {} at the median; {ended}",
        quoted(&remedied.layer),
        counted(remedied.bytes, "byte"),
        median(as_it_was(remedied)),
    )
}

/// The cells on the pair that the answer is about.
fn home(result: &MessageResult) -> Option<Group<'_>> {
    let home = result.home()?;
    groups(result).into_iter().find(|group| (group.placement, group.pair) == (home.placement, home.pair))
}

/// The library's adaptive strategy, or the second layer, against the first: with the smallest size, and the largest.
fn compared(result: &MessageResult, home: &Group<'_>) -> Option<Vec<String>> {
    let compared = result.compared();
    let shown = match (result.plan.test, &compared[..]) {
        (_, []) => return alone(result, home),
        (MessageTest::Post, [.., large]) => vec![large],
        (_, [only]) => vec![only],
        (_, [small, .., large]) => vec![small, large],
    };
    let found = shown.into_iter().map(|&beside| one(result, beside)).collect::<Option<Vec<_>>>()?;
    Some(found.into_iter().chain([place(result, home)]).collect())
}

/// A cell and the one that it is compared with.
type Beside<'a> = (&'a MessageCell, &'a MessageCell);

fn one(result: &MessageResult, beside: Beside<'_>) -> Option<String> {
    let (cell, reference) = beside;
    let first = quoted(&reference.layer);
    let quantity = Quantity::of(&result.plan);
    if (quantity, result.plan.test) == (Quantity::Time, MessageTest::Pingpong) {
        return round_trip(result, beside);
    }
    let value = quantity.value(quantity.of_cell(&result.plan, cell)?.value);
    let did = did(result, &cell.layer, &value, cell.bytes);
    Some(match times(result, beside)? {
        Multiple::Times(times) => format!("{did}, {times} × that of {first}"),
        Multiple::Same(times) => format!("{did}, {times} × that of {first} (not significant)"),
        Multiple::Not => format!("{did}; against {first}: inconclusive"),
    })
}

/// The time itself first: whoever asks for it may not care about the others.
fn round_trip(result: &MessageResult, beside: Beside<'_>) -> Option<String> {
    let (cell, reference) = beside;
    let value = Quantity::Time.text(Quantity::Time.of_cell(&result.plan, reference)?);
    let times = match times(result, beside)? {
        Multiple::Times(times) => format!(" ×{}", times.replace(" ± ", "±")),
        Multiple::Same(_) => ": not significant".into(),
        Multiple::Not => ": inconclusive".into(),
    };
    let did = did(result, &reference.layer, &value, cell.bytes);
    Some(format!("{did}; {}{times}", quoted(&cell.layer)))
}

fn did(result: &MessageResult, layer: &Layer, value: &str, bytes: u64) -> String {
    let (layer, size) = (quoted(layer), counted(bytes, "byte"));
    match (Quantity::of(&result.plan), result.plan.test) {
        (Quantity::Messages, _) => format!("{layer} sends {value} messages/s of {size}"),
        (Quantity::Bytes, _) => format!("{layer} brings replies of {size} at {value}"),
        (Quantity::Time, MessageTest::Oneway) => format!("{layer} takes {value} for a message of {size}"),
        (Quantity::Time, _) => format!("{}-byte RTT: {value} with {layer}", count(bytes)),
    }
}

enum Multiple {
    /// It is another than 1.
    Times(String),
    /// Its interval holds 1.
    Same(String),
    /// Its interval reaches zero.
    Not,
}

fn times(result: &MessageResult, (cell, reference): Beside<'_>) -> Option<Multiple> {
    let plan = &result.plan;
    let figure = Quantity::of(plan).ratio(plan, cell, reference)?;
    Some(match figure {
        _ if figure.too_wide() => Multiple::Not,
        _ if figure.half_width.is_some() && figure.holds(1.0) => Multiple::Same(ratio(Some(figure))),
        _ => Multiple::Times(ratio(Some(figure))),
    })
}

/// What is in question is the answer's own pair; other pairs have other CPUs.
fn is_of(waited: &Contention, pair: &ProcessorPair) -> bool {
    match waited.thread {
        LoadThread::Client => waited.cpu == pair.client,
        LoadThread::Server => waited.cpu == pair.server,
        _ => true,
    }
}

/// Where the ends of a group are: `both ends in user space on processor 1 alone`.
fn place(result: &MessageResult, group: &Group<'_>) -> String {
    let kernel = if apart_in_kernel(result, group) { WHEREVER } else { "" };
    format!("{} on {}{kernel}", placement(group.placement), pair(result, group.pair))
}

/// Behind a pair of two processors: one alone explains little.
const WHEREVER: &str = ", though an end in the kernel runs where its packets come in";

fn apart_in_kernel(result: &MessageResult, group: &Group<'_>) -> bool {
    in_kernel(group.placement) && result.pairs.get(group.pair).is_some_and(|pair| pair.client != pair.server)
}

/// There is nothing to compare the only layer with, or the first one cannot be.
fn alone(result: &MessageResult, home: &Group<'_>) -> Option<Vec<String>> {
    let quantity = Quantity::of(&result.plan);
    let cell = result.home()?;
    let found = did(result, &cell.layer, &quantity.text(quantity.of_cell(&result.plan, cell)?), cell.bytes);
    let is_planned = result.plan.layers.contains(&cell.layer);
    let nearest = (!is_planned).then(|| format!("{} is the nearest to what cannot be", quoted(&cell.layer)));
    Some([Some(found), nearest, Some(place(result, home))].into_iter().flatten().collect())
}

/// What the processors alone make of a round trip: the nearest pair against the furthest.
fn processors(result: &MessageResult) -> Option<String> {
    let (plan, quantity) = (&result.plan, Quantity::of(&result.plan));
    let all = groups(result);
    let of_first: Vec<&Group<'_>> = all.iter().filter(|g| g.placement == all[0].placement).collect();
    let (near, far) = (of_first.first()?, of_first.last()?);
    if quantity != Quantity::Time || near.pair == far.pair {
        return None;
    }
    let first = plan.layers.first()?;
    let at = |size: u64| Some((near.usable(first, size)?, far.usable(first, size)?));
    let (a, b) = near.sizes().into_iter().find_map(at)?;
    let kernel = if apart_in_kernel(result, far) { format!("{WHEREVER},") } else { String::new() };
    let (here, there) = (pair(result, near.pair), pair(result, far.pair));
    let value = |cell| Some(quantity.value(quantity.of_cell(plan, cell)?.value));
    let both = format!("{} against {}", value(b)?, value(a)?);
    let layer = quoted(&a.layer);
    Some(match times(result, (b, a))? {
        Multiple::Times(times) => {
            format!("on {there}{kernel} {layer} takes {times} × that on {here}: {both}")
        }
        Multiple::Same(times) => {
            format!("on {there}{kernel} {layer} takes as long as on {here} (× {times}): {both}")
        }
        Multiple::Not => format!("on {there}{kernel} {layer} against on {here}: inconclusive, {both}"),
    })
}

/// A layer in a sentence: `two` is also a number.
fn quoted(layer: &Layer) -> String {
    format!("“{layer}”")
}
