//! The answer of a cost in one sentence.

use netfathom_model::plan::{CostPlan, Subject};
use netfathom_model::record::{Comparison, CostBenchmark, CostResult, Effect, Outcome, OwnCall};

use super::comparison::{condition_name, leading, level};
use super::figure::{Figure, pcost, slowdown};
use crate::page::shortened;
use crate::story::number::{mean as time, percent};

/// So many comparisons are told; the others stand in the tables.
const MOST_TOLD: usize = 4;

/// System calls that a sentence names.
const MOST_CALLS: usize = 3;

/// Letters of a command in a sentence.
const LONGEST_NAME: usize = 60;

/// Letters of a load in a sentence.
const LONGEST_LEVEL: usize = 30;

/// What is to be known of times without repetition.
const SINGLE: &str = "single runs, so nothing tells it from chance";

/// The answer in one sentence.
pub(in crate::story) fn answer(result: &CostResult) -> String {
    match how(result) {
        None => findings(result),
        Some(how) => format!("{}; {how}", findings(result)),
    }
}

/// How it was measured: `12 blocks`.
fn how(result: &CostResult) -> Option<String> {
    let blocks = result.benchmarks.iter().flat_map(|b| &b.comparisons).map(|c| c.blocks).max()?;
    Some(match blocks {
        1 => "a single block".into(),
        blocks => format!("{blocks} blocks"),
    })
}

/// The slowdown with its interval comes first.
fn findings(result: &CostResult) -> String {
    if let Some(own) = own(result) {
        return own;
    }
    let mut told: Vec<String> = Vec::new();
    let mut last = None;
    for benchmark in &result.benchmarks {
        for comparison in leading(result, benchmark) {
            let who = who(result, comparison);
            // Who was just told of is not named again.
            let again = last.as_ref() == Some(&who);
            told.push(of_one(result, benchmark, comparison, if again { "it" } else { &who }));
            last = Some(who);
        }
    }
    if told.is_empty() {
        return "no benchmark was finished both with and without it, so there is no answer yet".into();
    }
    let more = told.len().saturating_sub(MOST_TOLD);
    let mut parts: Vec<String> = told.into_iter().take(MOST_TOLD).collect();
    if more > 0 {
        parts.push(format!("{more} more below"));
    }
    parts.extend(overall(result));
    parts.join("; ")
}

/// Whether a program was asked for its own calls, and nothing is beside it.
pub(super) fn own_alone(result: &CostResult) -> bool {
    let alone = |plan: &CostPlan| plan.own && plan.load.is_none() && plan.subject == Subject::Nothing;
    result.plan.as_ref().is_some_and(alone)
}

/// Of such a one: which of them take most.
fn own(result: &CostResult) -> Option<String> {
    let benchmark = result.benchmarks.first().filter(|_| own_alone(result))?;
    let trials: Vec<f64> = benchmark
        .trials
        .iter()
        .filter(|t| t.condition == 0 && t.failed.is_none())
        .map(|t| t.total_ns)
        .collect();
    let mean_ns = trials.iter().sum::<f64>() / trials.len() as f64;
    let share = |ns: f64| percent(ns / mean_ns);
    let of = |call: &OwnCall| Some(call.times.first().copied().flatten()?.total_ns);
    let most: Vec<String> = benchmark
        .calls
        .iter()
        .filter_map(|call| Some(format!("{} ({})", call.name, share(of(call)?))))
        .take(MOST_CALLS)
        .collect();
    let name = shortened(&benchmark.name, LONGEST_NAME);
    (!most.is_empty()).then(|| {
        format!(
            "{name} takes {} a run; the system calls that take most of it: {}",
            time(mean_ns),
            most.join(", ")
        )
    })
}

/// What one comparison says, in a sentence without its end.
pub(super) fn said(result: &CostResult, benchmark: &CostBenchmark, comparison: &Comparison) -> String {
    of_one(result, benchmark, comparison, &who(result, comparison))
}

fn of_one(result: &CostResult, benchmark: &CostBenchmark, comparison: &Comparison, who: &str) -> String {
    let (whom, at) = (shortened(&benchmark.name, LONGEST_NAME), at(result, comparison));
    let slow = slowdown(comparison);
    let pcost = format!("(PCost {})", pcost(comparison).percent());
    let seen = comparison
        .smallest
        .filter(|s| s.is_finite())
        .map_or_else(String::new, |s| format!("; this run could detect {}", percent(s)));
    match comparison.outcome {
        Outcome::Cost => format!("{who} slows {whom} down by {}{at} {pcost}", slow.percent()),
        Outcome::Faster => {
            let faster = Figure { value: -slow.value, ..slow };
            format!("{whom} takes {} less time with {who}{at} {pcost}", faster.percent())
        }
        Outcome::NoCost => {
            format!("no significant cost of {who} to {whom}{at}: {}{seen}", slow.percent())
        }
        Outcome::CannotTell if slow.half.is_none() && slow.value >= 0.0 => {
            format!("{who} slows {whom} down by {}{at} {pcost}; {SINGLE}", slow.percent())
        }
        Outcome::CannotTell if slow.half.is_none() => {
            let faster = Figure { value: -slow.value, ..slow };
            format!("{whom} takes {} less time with {who}{at} {pcost}; {SINGLE}", faster.percent())
        }
        Outcome::CannotTell => {
            format!("inconclusive whether {who} slows {whom} down{at}: {}{seen}", slow.percent())
        }
    }
}

/// At which load: ` at 80M`; of times that were taken elsewhere the condition has said so.
fn at(result: &CostResult, comparison: &Comparison) -> String {
    if result.plan.is_none() {
        return String::new();
    }
    level(result, comparison)
        .map_or_else(String::new, |l| format!(" at {}", shortened(&l.text, LONGEST_LEVEL)))
}

/// Who takes something.
fn who(result: &CostResult, comparison: &Comparison) -> String {
    let subject = match result.plan.as_ref().map(|plan| &plan.subject) {
        Some(Subject::Nothing) => "nothing (A/A)".to_owned(),
        _ => shortened(&result.subject, LONGEST_NAME),
    };
    match comparison.effect {
        Effect::Program if result.plan.is_none() => {
            format!("“{}”", condition_name(result, comparison.condition))
        }
        Effect::Program => subject,
        Effect::Load => "the load alone".into(),
        Effect::Both => format!("{subject} with its load"),
        Effect::Observation => match result.conditions.get(comparison.condition).map(|c| c.way) {
            Some(Some(way)) => format!("“{}”", way.name()),
            Some(None) => "the observation points".into(),
            None => condition_name(result, comparison.condition),
        },
    }
}

/// Over the benchmarks together, of what the comparisons of the answer are about.
fn overall(result: &CostResult) -> Option<String> {
    let first = result.benchmarks.iter().find_map(|b| leading(result, b).pop())?;
    let of_it = result
        .overall
        .iter()
        .find(|o| (o.effect, o.condition, o.against) == (first.effect, first.condition, first.against))?;
    Some(format!(
        "all benchmarks together{} {} (PCost {})",
        at(result, first),
        Figure::alone(of_it.ratio).beyond_one().percent(),
        Figure::alone(of_it.pcost).percent()
    ))
}
