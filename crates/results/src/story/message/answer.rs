//! The answer of a message benchmark in one sentence.

use netfathom_model::layer::{Layer, Strategy};
use netfathom_model::plan::MessageTest;
use netfathom_model::print::count;
use netfathom_model::record::{MessageCell, MessageResult, Remedied, RemedyRow};

use super::caveats::in_kernel;
use super::figure::{Quantity, ratio};
use super::groups::{Group, groups, pair, placement};
use super::plan::ends;
use super::remedies::{as_it_was, best_remedy};
use crate::story::number::mean as time;

pub(in crate::story) fn answer(result: &MessageResult) -> String {
    format!("{}; {} trials, {}", findings(result), result.plan.trials, ends(result))
}

/// Stalls come first: nothing else is so slow.
fn findings(result: &MessageResult) -> String {
    let mut parts: Vec<String> = result.remedies.iter().map(stall).collect();
    let home = home(result);
    parts.extend(home.as_ref().and_then(|home| compared(result, home)));
    parts.extend(processors(result));
    if parts.is_empty() {
        let what = if result.cells.is_empty() { "nothing was" } else { "no time could be" };
        return format!("{what} measured, so there is no answer yet");
    }
    parts.join("; ")
}

fn stall(remedied: &Remedied) -> String {
    let median = |row: Option<&RemedyRow>| {
        row.filter(|row| row.times.n > 0).map_or_else(|| "n/a".into(), |row| time(row.times.p50_ns as f64))
    };
    let ended = match best_remedy(remedied) {
        None => "no remedy that was tried ends it".into(),
        Some(best) => format!("{} takes {}", quoted(&best.layer), median(Some(best))),
    };
    format!(
        "{} stalls with {}, {} at the median ({}), where {ended}",
        quoted(&remedied.layer),
        bytes(remedied.bytes),
        median(as_it_was(remedied)),
        remedied.stall.name(),
    )
}

/// The pair of the first placement on which the first layer that is there does best.
fn home(result: &MessageResult) -> Option<Group<'_>> {
    let quantity = Quantity::of(&result.plan);
    let all = groups(result);
    let first = all.first()?.placement;
    let score = |group: &Group<'_>| {
        let at = group.sizes().first().copied()?;
        let value = quantity.of_cell(group.leading(&result.plan, at)?)?.value;
        Some(if quantity == Quantity::Time { -value } else { value })
    };
    let known = all.into_iter().filter(|group| group.placement == first);
    known.max_by(|a, b| {
        score(a).unwrap_or(f64::NEG_INFINITY).total_cmp(&score(b).unwrap_or(f64::NEG_INFINITY))
    })
}

/// The library's adaptive strategy, or the second layer, against the first.
fn compared(result: &MessageResult, home: &Group<'_>) -> Option<String> {
    let plan = &result.plan;
    let adaptive = Layer::Library { strategy: Strategy::Adaptive };
    let layers = home.layers(plan);
    let others = || layers.iter().copied().filter(|layer| Some(*layer) != plan.layers.first());
    let layer = others().find(|layer| **layer == adaptive).or_else(|| others().next());
    let Some(layer) = layer else { return alone(result, home) };
    let both = |bytes: &u64| Some((*bytes, home.cell(layer, *bytes)?, home.reference(plan, *bytes)?));
    let sizes: Vec<(u64, &MessageCell, &MessageCell)> = home.sizes().iter().filter_map(both).collect();
    let (Some(small), Some(large)) = (sizes.first(), sizes.last()) else { return alone(result, home) };
    let text = match plan.test {
        MessageTest::Post => one(result, large)?,
        _ if small.0 == large.0 => one(result, small)?,
        _ => {
            let large_too = match times(result, large)? {
                Multiple::Told(times) => format!("{times} times"),
                Multiple::Same(times) => format!("{times} times (no difference)"),
                Multiple::Not => "it is inconclusive".into(),
            };
            format!("{}, with {} {large_too}", one(result, small)?, bytes(large.0))
        }
    };
    Some(format!("{text}, {}", place(result, home)))
}

type Beside<'a> = (u64, &'a MessageCell, &'a MessageCell);

fn one(result: &MessageResult, beside: &Beside<'_>) -> Option<String> {
    let (size, cell, reference) = beside;
    let (layer, first, size) = (quoted(&cell.layer), quoted(&reference.layer), bytes(*size));
    let quantity = Quantity::of(&result.plan);
    let value = quantity.value(quantity.of_cell(cell)?.value);
    let (did, as_it, than) = match (quantity, result.plan.test) {
        (Quantity::Messages, _) => {
            (format!("{layer} sends {value} messages of {size} a second"), "as many as", first)
        }
        (Quantity::Bytes, _) => (format!("{layer} brings replies of {size} at {value}"), "as fast as", first),
        (Quantity::Time, test) => {
            let what = if test == MessageTest::Oneway { "a message" } else { "a round trip" };
            (format!("{what} of {size} by {layer} takes {value}"), "as long as by", first)
        }
    };
    Some(match times(result, beside)? {
        Multiple::Told(times) => format!("{did}, {times} times {as_it} {than}"),
        Multiple::Same(times) => format!("{did}, {times} times {as_it} {than} (no difference)"),
        Multiple::Not => format!("{did}; how many times {as_it} {than} is inconclusive"),
    })
}

/// What can be said of a multiple.
enum Multiple {
    /// It is another than 1.
    Told(String),
    /// Its interval holds 1.
    Same(String),
    /// Its interval reaches zero.
    Not,
}

fn times(result: &MessageResult, (_, cell, reference): &Beside<'_>) -> Option<Multiple> {
    let figure = Quantity::of(&result.plan).ratio(cell, reference)?;
    Some(match figure {
        _ if figure.too_wide() => Multiple::Not,
        _ if figure.half_width.is_some() && figure.holds(1.0) => Multiple::Same(ratio(Some(figure))),
        _ => Multiple::Told(ratio(Some(figure))),
    })
}

/// Where the ends of a group are: `both ends in user space on processor 1 alone`.
fn place(result: &MessageResult, group: &Group<'_>) -> String {
    let kernel = if apart_in_kernel(result, group) { WHEREVER } else { "" };
    format!("{} on {}{kernel}", placement(group.placement), pair(result, group.pair))
}

/// Behind a pair of two processors, one of which says little.
const WHEREVER: &str = ", though an end in the kernel runs where its packets come in";

fn apart_in_kernel(result: &MessageResult, group: &Group<'_>) -> bool {
    in_kernel(group.placement) && result.pairs.get(group.pair).is_some_and(|pair| pair.client != pair.server)
}

/// There is nothing to compare the only layer with, or the first one cannot be.
fn alone(result: &MessageResult, home: &Group<'_>) -> Option<String> {
    let quantity = Quantity::of(&result.plan);
    let size = home.sizes().first().copied()?;
    let cell = home.leading(&result.plan, size)?;
    let nearest =
        if result.plan.layers.contains(&cell.layer) { "" } else { ", the nearest to what cannot be" };
    Some(format!(
        "{}{nearest}: {}, {}, with {}, {}",
        quoted(&cell.layer),
        quantity.name(&result.plan),
        quantity.text(quantity.of_cell(cell)?),
        bytes(size),
        place(result, home),
    ))
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
    let size = near.sizes().into_iter().find(|&size| far.reference(plan, size).is_some())?;
    let (a, b) = (near.reference(plan, size)?, far.reference(plan, size)?);
    let kernel = if apart_in_kernel(result, far) { format!("{WHEREVER},") } else { String::new() };
    let (here, there) = (pair(result, near.pair), pair(result, far.pair));
    let value = |cell| Some(quantity.value(quantity.of_cell(cell)?.value));
    let both = format!("{} against {}", value(b)?, value(a)?);
    let layer = quoted(&a.layer);
    Some(match times(result, &(size, b, a))? {
        Multiple::Told(times) => {
            format!("on {there}{kernel} that of {layer} takes {times} times as long as on {here}: {both}")
        }
        Multiple::Same(times) => format!(
            "on {there}{kernel} that of {layer} takes {times} times as long as on {here} (no difference): {both}"
        ),
        Multiple::Not => format!(
            "whether that of {layer} takes longer on {there}{kernel} than on {here} is inconclusive: {both}"
        ),
    })
}

/// A layer in a sentence: `two` is also a number.
fn quoted(layer: &Layer) -> String {
    format!("“{layer}”")
}

fn bytes(bytes: u64) -> String {
    format!("{} byte{}", count(bytes), if bytes == 1 { "" } else { "s" })
}
