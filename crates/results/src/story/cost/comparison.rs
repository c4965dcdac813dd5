//! Comparisons: their names, what they answer, and their outcome in words.

use std::iter;

use itertools::Itertools as _;
use netfathom_model::plan::CostLevel;
use netfathom_model::print::Scale;
use netfathom_model::record::{
    Comparison, CostBenchmark, CostResult, Effect, Outcome, OwnCall, SpanCost, Taken,
};

use super::figure::Figure;
use crate::page::shortened;

/// Letters of a condition in a heading.
const LONGEST_CONDITION: usize = 40;

/// A condition by its name; a damaged record may not name it.
pub(super) fn condition_name(result: &CostResult, index: usize) -> String {
    match result.conditions.get(index) {
        Some(condition) if !condition.name.trim().is_empty() => condition.name.clone(),
        _ => format!("condition {}", index.saturating_add(1)),
    }
}

pub(super) fn level<'a>(result: &'a CostResult, comparison: &Comparison) -> Option<&'a CostLevel> {
    result.conditions.get(comparison.condition)?.level.as_ref()
}

/// A load as it is read: bits per second with their unit.
pub(super) fn level_name(result: &CostResult, comparison: &Comparison) -> Option<String> {
    let level = level(result, comparison)?;
    Some(level.bits_per_s.map_or_else(|| level.text.clone(), |bits| Scale::BitRate.text(bits)))
}

/// A comparison as the row of a table of its effect: its load where there is one, its condition otherwise.
pub(super) fn row_name(result: &CostResult, comparison: &Comparison) -> String {
    match (comparison.effect, level_name(result, comparison)) {
        (Effect::Observation, _) | (_, None) => condition_name(result, comparison.condition),
        (_, Some(level)) => level,
    }
}

/// What a table of an effect is about.
pub(super) fn effect_words(effect: Effect) -> &'static str {
    match effect {
        Effect::Program => "slowdown by the program at the same load",
        Effect::Load => "slowdown by the load alone",
        Effect::Both => "slowdown by program and load together",
        Effect::Observation => "slowdown by observing",
    }
}

/// The effects that a benchmark has, what was asked for first.
pub(super) fn effects(result: &CostResult, benchmark: &CostBenchmark) -> Vec<Effect> {
    let all = iter::once(result.headline()).chain(Effect::ALL).unique();
    all.filter(|&effect| benchmark.of_effect(effect).next().is_some()).collect()
}

/// The comparisons that answer what was asked, of one benchmark: where there are loads that of the highest one
/// that has a cost, of the highest otherwise; all where there are none.
pub(super) fn leading<'a>(result: &CostResult, benchmark: &'a CostBenchmark) -> Vec<&'a Comparison> {
    let all: Vec<&Comparison> = benchmark.of_effect(result.headline()).collect();
    if !all.iter().any(|c| level(result, c).is_some()) {
        return all;
    }
    let height = |(place, c): &(usize, &&'a Comparison)| {
        let bits = level(result, c).and_then(|l| l.bits_per_s).filter(|b| b.is_finite());
        (c.outcome == Outcome::Cost, bits.unwrap_or(f64::NEG_INFINITY), *place)
    };
    let highest = all.iter().enumerate().max_by(|a, b| {
        let (a, b) = (height(a), height(b));
        a.0.cmp(&b.0).then(a.1.total_cmp(&b.1)).then(a.2.cmp(&b.2))
    });
    highest.map(|(_, c)| *c).into_iter().collect()
}

/// The comparison shown in detail: of those that answer, the one that takes most.
pub(super) fn shown<'a>(result: &CostResult, benchmark: &'a CostBenchmark) -> Option<&'a Comparison> {
    leading(result, benchmark).into_iter().max_by(|a, b| a.ratio.value.total_cmp(&b.ratio.value))
}

/// The outcome in a word or two.
pub(super) fn outcome(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Cost => "slower",
        Outcome::NoCost => "not significant",
        Outcome::Faster => "faster",
        Outcome::CannotTell => "inconclusive",
    }
}

/// A span by its name, or by the marks that bound it: `start → first`.
pub(super) fn span_name(benchmark: &CostBenchmark, span: usize) -> String {
    let mark = |place: usize| {
        let mark = benchmark.marks.get(place).filter(|m| !m.trim().is_empty());
        mark.cloned().unwrap_or_else(|| format!("mark {}", place.saturating_add(1)))
    };
    match benchmark.spans.get(span) {
        Some(name) if !name.trim().is_empty() => name.clone(),
        _ => format!("{} → {}", mark(span), mark(span.saturating_add(1))),
    }
}

/// A span that is significantly slower.
pub(super) struct Slowed<'a> {
    pub span: String,
    /// What it uses; not known of every benchmark.
    resource: Option<&'a str>,
    pub change: Figure,
}

impl Slowed<'_> {
    /// Such as `loopback (TCP round trips over 127.0.0.1)`.
    pub fn title(&self) -> String {
        self.resource.map_or_else(|| self.span.clone(), |resource| format!("{} ({resource})", self.span))
    }
}

/// The span that is slower where the whole is not.
pub(super) fn slowed_part<'a>(benchmark: &'a CostBenchmark, comparison: &Comparison) -> Option<Slowed<'a>> {
    most_taken(benchmark, comparison).filter(|_| comparison.outcome == Outcome::NoCost)
}

/// The span with the largest significant loss, as a share of its time. Where the whole has none, its spans are decided
/// together, since the largest of them is chosen.
pub(super) fn most_taken<'a>(benchmark: &'a CostBenchmark, comparison: &Comparison) -> Option<Slowed<'a>> {
    let together = if comparison.outcome == Outcome::NoCost { comparison.spans.len() } else { 1 };
    most_of(benchmark, comparison, together)
}

/// The phase that is slower by itself only: not where all phases are decided together, and not as part of a slower whole.
pub(super) fn slowed_alone<'a>(benchmark: &'a CostBenchmark, comparison: &Comparison) -> Option<Slowed<'a>> {
    let has_none = is_open(benchmark, comparison) && slowed_part(benchmark, comparison).is_none();
    has_none.then(|| most_of(benchmark, comparison, 1)).flatten()
}

/// The phase that is faster by itself, where the whole is not.
pub(super) fn faster_alone<'a>(benchmark: &'a CostBenchmark, comparison: &Comparison) -> Option<Slowed<'a>> {
    let faster = |&(_, figure): &(usize, Figure)| figure.value < 0.0 && figure.beyond_chance();
    let most =
        parts(comparison, Outcome::Faster, 1).filter(faster).min_by(|a, b| a.1.value.total_cmp(&b.1.value));
    most.filter(|_| is_open(benchmark, comparison)).map(|(place, change)| part(benchmark, place, change))
}

/// Whether it has phases, and the whole is neither slower nor faster.
fn is_open(benchmark: &CostBenchmark, comparison: &Comparison) -> bool {
    matches!(comparison.outcome, Outcome::NoCost | Outcome::CannotTell) && !benchmark.resources.is_empty()
}

fn most_of<'a>(benchmark: &'a CostBenchmark, comparison: &Comparison, together: usize) -> Option<Slowed<'a>> {
    let beyond = parts(comparison, Outcome::Cost, together).filter(|(_, figure)| figure.beyond_chance());
    let (place, change) = beyond.max_by(|a, b| a.1.value.total_cmp(&b.1.value))?;
    Some(part(benchmark, place, change))
}

/// The parts with an outcome, each decided as one of that number.
fn parts(
    comparison: &Comparison,
    outcome: Outcome,
    together: usize,
) -> impl Iterator<Item = (usize, Figure)> + '_ {
    // A single span is the whole.
    let parts = if comparison.spans.len() > 1 { &comparison.spans[..] } else { &[] };
    let those = parts.iter().enumerate().filter(move |(_, span)| span.outcome == outcome);
    those.filter_map(move |(i, span)| Some((i, Figure::decided_of(comparison, span.ratio?, together))))
}

fn part(benchmark: &CostBenchmark, place: usize, change: Figure) -> Slowed<'_> {
    let resource = benchmark.resources.get(place).map(|r| r.trim()).filter(|r| !r.is_empty());
    Slowed { span: span_name(benchmark, place), resource, change }
}

pub(super) fn change(comparison: &Comparison, span: &SpanCost) -> Option<Figure> {
    span.ratio.map(|ratio| Figure::decided(comparison, ratio))
}

/// How much more of a resource is used.
pub(super) fn difference(comparison: &Comparison, taken: &Taken) -> Figure {
    Figure::of(comparison, taken.difference)
}

/// What a run lasts longer by a system call, in nanoseconds.
pub(super) fn adds(benchmark: &CostBenchmark, comparison: &Comparison, call: &OwnCall) -> Option<Figure> {
    let place = benchmark.comparisons.iter().position(|c| std::ptr::eq(c, comparison))?;
    call.adds.get(place).copied().flatten().map(|adds| Figure::of(comparison, adds))
}

pub(super) fn versus(result: &CostResult, condition: usize, against: usize) -> String {
    let [this, that] = [condition, against].map(|c| shortened(&condition_name(result, c), LONGEST_CONDITION));
    format!("“{this}” vs. “{that}”")
}
