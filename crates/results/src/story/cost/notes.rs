//! What is to be known besides the figures.

use std::collections::BTreeMap;

use netfathom_model::record::{Comparison, CostBenchmark, CostResult, CostTrial, ProgramTrial};

use super::comparison::condition_name;
use super::figure::slowdown;
use crate::story::number::percent;

/// Below this share of the benchmark's time the program was not there as it should have been.
const WHOLE: f64 = 0.99;

/// Reasons of failed trials that are shown.
const MOST_REASONS: usize = 12;

pub(super) fn slowdown_note(result: &CostResult) -> &'static str {
    let mut all = result.benchmarks.iter().flat_map(|b| &b.comparisons);
    if all.any(|c| slowdown(c).interval.is_some()) {
        "slowdown: how much longer the benchmark takes, with its 99 % interval, which decides the outcome; MDE: minimum \
         detectable slowdown at 80 % power, where not significant"
    } else {
        "slowdown: how much longer the benchmark takes; single runs have no interval, and chance cannot be excluded"
    }
}

/// What the paper's measure is.
pub(super) const PCOST: &str = "PCost (Qian & Wang 2006): the sum over the benchmark's spans of (d' - d) / (d' + d); it \
     saturates, so it is no percentage of time";

pub(super) fn taken_note(comparison: &Comparison) -> &'static str {
    if comparison.smallest.is_none() {
        "single runs have no interval, and chance cannot be excluded; (machine): all processes together"
    } else {
        "*: the 95 % interval excludes 0; (machine): all processes together"
    }
}

/// What a benchmark does, and how its marks were taken.
pub(super) fn benchmark_notes(benchmark: &CostBenchmark) -> Vec<String> {
    let there = |text: &&String| !text.trim().is_empty();
    let about = Some(&benchmark.about).filter(there).cloned();
    let marks = Some(&benchmark.means).filter(there).map(|means| format!("marks: {means}"));
    about.into_iter().chain(marks).collect()
}

/// Trials that failed, by their reasons.
pub(super) fn failures(result: &CostResult, benchmark: &CostBenchmark) -> Vec<String> {
    let mut by_reason: BTreeMap<&str, Vec<&CostTrial>> = BTreeMap::new();
    for trial in &benchmark.trials {
        if let Some(reason) = &trial.failed {
            by_reason.entry(reason).or_default().push(trial);
        }
    }
    let mut lines: Vec<String> = by_reason
        .iter()
        .take(MOST_REASONS)
        .map(|(reason, trials)| match trials[..] {
            [one] => {
                let number = u64::from(one.index) + 1;
                format!("trial {number} ({}) failed: {reason}", condition_name(result, one.condition))
            }
            _ => format!("{} trials failed: {reason}", trials.len()),
        })
        .collect();
    if by_reason.len() > MOST_REASONS {
        lines.push(format!("… and {} more reasons in the record", by_reason.len() - MOST_REASONS));
    }
    lines
}

/// What is to be known of the program in its trials.
pub(super) fn program_notes(result: &CostResult) -> Vec<String> {
    let all = || result.benchmarks.iter().flat_map(|b| &b.trials).filter_map(|t| t.program);
    let total = all().count();
    let of = |count: usize| format!("in {count} of {total} trials");
    let count = |wanted: fn(&ProgramTrial) -> bool| all().filter(wanted).count();
    let mut lines = Vec::new();
    let away = count(|p| p.present < WHOLE);
    if away > 0 {
        let least = all().map(|p| p.present).filter(|p| p.is_finite()).fold(1.0, f64::min);
        lines.push(format!(
            "it ran only for part of the benchmark {}, in the worst for {} of it",
            of(away),
            percent(least)
        ));
    }
    let again = count(|p| p.starts > 1);
    if again > 0 {
        lines.push(format!("it exited and was restarted {}", of(again)));
    }
    let killed = count(|p| p.killed);
    if killed > 0 {
        lines.push(format!("it ignored SIGTERM and was killed {}", of(killed)));
    }
    lines
}
