//! What follows from a record of `netfathom cost`.

use netfathom_model::record::{
    Comparison, CostBenchmark, CostResult, CostTrial, Effect, OwnCall, ResourceUnit, SpanCost, Taken,
};
use serde::Serialize;

use super::PlanWords;
use crate::story::costed::{self, Figure, Sequence, Spread};

#[derive(Serialize)]
pub struct CostFacts {
    plan: PlanWords,
    /// The names of the conditions, as far as they are used.
    conditions: Vec<String>,
    /// Whether levels lie by their bits a second.
    by_rate: bool,
    /// The levels of comparisons, in their order.
    levels: Vec<LevelFacts>,
    headline: Effect,
    slowdown_note: &'static str,
    benchmarks: Vec<BenchmarkFacts>,
    overall: Vec<OverallFacts>,
    /// What each says that the program uses.
    program: Vec<ProgramFacts>,
    program_notes: Vec<String>,
}

/// A value with its interval, and how it is read.
#[derive(Serialize)]
struct NumberFacts {
    value: f64,
    half: Option<f64>,
    text: String,
}

#[derive(Serialize)]
struct LevelFacts {
    text: String,
    bits_per_s: Option<f64>,
}

#[derive(Serialize)]
struct BenchmarkFacts {
    name: String,
    notes: Vec<String>,
    failures: Vec<String>,
    /// The names of its spans.
    spans: Vec<String>,
    by_resource: bool,
    /// The effects of which there is something.
    effects: Vec<EffectFacts>,
    comparisons: Vec<ComparisonFacts>,
    /// Of which comparison details are shown first.
    shown: Option<usize>,
    sequences: Vec<SequenceFacts>,
    spreads: Vec<SpreadFacts>,
    /// What the time of each trial is more than the mean of the first condition; `None` of a failed one.
    trials: Vec<Option<f64>>,
    calls: Vec<CallFacts>,
}

#[derive(Serialize)]
struct EffectFacts {
    effect: Effect,
    name: &'static str,
    about: &'static str,
}

#[derive(Serialize)]
struct ComparisonFacts {
    /// Its load or its condition.
    row: String,
    /// Its place among the levels.
    level: Option<usize>,
    /// Which condition beside which.
    beside: String,
    said: String,
    slowdown: NumberFacts,
    pcost: NumberFacts,
    /// The least slowdown that would have been seen.
    smallest: Option<NumberFacts>,
    outcome: &'static str,
    spans: Vec<SpanFacts>,
    most_taken: Option<(String, String)>,
    taken: Vec<TakenFacts>,
    taken_note: &'static str,
}

#[derive(Serialize)]
struct SpanFacts {
    before: String,
    after: String,
    change: Option<NumberFacts>,
    outcome: &'static str,
}

#[derive(Serialize)]
struct TakenFacts {
    name: &'static str,
    /// Whether it is a time.
    time: bool,
    before: String,
    after: String,
    difference: NumberFacts,
    beyond_chance: bool,
}

#[derive(Serialize)]
struct SequenceFacts {
    condition: usize,
    marks_ns: Vec<f64>,
}

#[derive(Serialize)]
struct SpreadFacts {
    condition: String,
    trials: usize,
    failed: usize,
    /// Shortest, mean and longest.
    times: Option<[String; 3]>,
}

#[derive(Serialize)]
struct CallFacts {
    name: String,
    /// What a run lasts longer by it, a comparison each.
    adds: Vec<Option<NumberFacts>>,
}

#[derive(Serialize)]
struct OverallFacts {
    what: String,
    slowdown: NumberFacts,
    pcost: NumberFacts,
}

#[derive(Serialize)]
struct ProgramFacts {
    name: String,
    processors: Option<NumberFacts>,
    memory: String,
    /// The slowdown of each benchmark.
    takes: Vec<Option<NumberFacts>>,
}

impl CostFacts {
    pub fn of(result: &CostResult) -> Self {
        let levels = levels(result);
        let known = |l: &LevelFacts| l.bits_per_s.is_some_and(|b| b.is_finite() && b >= 0.0);
        Self {
            plan: plan(result),
            conditions: (0..conditions(result)).map(|c| costed::condition_name(result, c)).collect(),
            by_rate: levels.iter().all(known),
            headline: result.headline(),
            slowdown_note: costed::slowdown_note(result),
            benchmarks: result.benchmarks.iter().map(|b| BenchmarkFacts::of(result, b, &levels)).collect(),
            overall: overall(result),
            program: program(result),
            program_notes: costed::program_notes(result),
            levels,
        }
    }
}

fn plan(result: &CostResult) -> PlanWords {
    match &result.plan {
        Some(plan) => costed::plan_words(plan),
        None => vec![("plan", format!("none: {}", costed::NO_PLAN))],
    }
}

/// How many conditions have a name: a damaged record may use more than it says.
fn conditions(result: &CostResult) -> usize {
    let used = result.benchmarks.iter().flat_map(|b| &b.trials).map(|t| t.condition.saturating_add(1));
    used.max().unwrap_or(0).min(result.conditions.len().max(64)).max(result.conditions.len())
}

/// The levels that comparisons are at, each once.
fn levels(result: &CostResult) -> Vec<LevelFacts> {
    let mut all: Vec<LevelFacts> = Vec::new();
    for condition in &result.conditions {
        if let Some(level) = &condition.level
            && !all.iter().any(|l| l.text == level.text)
        {
            all.push(LevelFacts { text: level.text.clone(), bits_per_s: level.bits_per_s });
        }
    }
    all
}

fn overall(result: &CostResult) -> Vec<OverallFacts> {
    let one = |o: &netfathom_model::record::Overall| OverallFacts {
        what: format!("{}: {}", o.effect.name(), costed::beside_of(result, o.condition, o.against)),
        slowdown: share(Figure::alone(o.ratio).beyond_one()),
        pcost: share(Figure::alone(o.pcost)),
    };
    result.overall.iter().map(one).collect()
}

fn program(result: &CostResult) -> Vec<ProgramFacts> {
    let one = |used: &netfathom_model::record::ProgramUse| ProgramFacts {
        name: costed::condition_name(result, used.condition),
        processors: used.processors.map(|value| share(Figure { value, half: None })),
        memory: used.peak_rss_bytes.map_or_else(|| costed::NOT_KNOWN.into(), |b| costed::bytes(b as f64)),
        takes: result
            .benchmarks
            .iter()
            .map(|b| costed::takes(b, used.condition).map(|c| share(costed::slowdown(c))))
            .collect(),
    };
    result.program.iter().map(one).collect()
}

fn share(figure: Figure) -> NumberFacts {
    NumberFacts { value: figure.value, half: figure.half, text: figure.percent() }
}

impl BenchmarkFacts {
    fn of(result: &CostResult, benchmark: &CostBenchmark, levels: &[LevelFacts]) -> Self {
        let longest = benchmark.comparisons.iter().map(|c| c.spans.len()).max().unwrap_or(0);
        let spans = longest.max(benchmark.marks.len().saturating_sub(1));
        let shown = costed::shown(result, benchmark);
        let mean = |s: &Spread| s.times_ns.map(|t| t[1]).filter(|mean| *mean > 0.0);
        let spreads = costed::spreads(result, benchmark);
        let first = spreads.iter().find_map(mean);
        Self {
            name: benchmark.name.clone(),
            notes: costed::benchmark_notes(benchmark),
            failures: costed::failures(result, benchmark),
            spans: (0..spans).map(|s| costed::span_name(benchmark, s)).collect(),
            by_resource: !benchmark.resources.is_empty(),
            effects: costed::effects(result, benchmark)
                .into_iter()
                .map(|effect| EffectFacts {
                    effect,
                    name: effect.name(),
                    about: costed::effect_words(effect),
                })
                .collect(),
            comparisons: benchmark
                .comparisons
                .iter()
                .map(|c| ComparisonFacts::of(result, benchmark, c, levels))
                .collect(),
            shown: shown.and_then(|s| benchmark.comparisons.iter().position(|c| std::ptr::eq(c, s))),
            sequences: costed::sequences(result, benchmark).into_iter().map(SequenceFacts::of).collect(),
            spreads: spreads.iter().map(|s| SpreadFacts::of(result, s)).collect(),
            trials: benchmark.trials.iter().map(|t| beyond(t, first)).collect(),
            calls: benchmark.calls.iter().map(|call| CallFacts::of(benchmark, call)).collect(),
        }
    }
}

fn beyond(trial: &CostTrial, first: Option<f64>) -> Option<f64> {
    let counts = trial.failed.is_none() && trial.total_ns.is_finite();
    first.filter(|_| counts).map(|first| trial.total_ns / first - 1.0)
}

impl ComparisonFacts {
    fn of(
        result: &CostResult,
        benchmark: &CostBenchmark,
        comparison: &Comparison,
        levels: &[LevelFacts],
    ) -> Self {
        let level = costed::level(result, comparison);
        Self {
            row: costed::row_name(result, comparison),
            level: level.and_then(|level| levels.iter().position(|l| l.text == level.text)),
            beside: costed::beside(result, comparison),
            said: costed::said(result, benchmark, comparison),
            slowdown: share(costed::slowdown(comparison)),
            pcost: share(costed::pcost(comparison)),
            smallest: comparison.smallest.map(|value| share(Figure { value, half: None })),
            outcome: costed::outcome(comparison.outcome),
            spans: comparison.spans.iter().map(|s| SpanFacts::of(comparison, s)).collect(),
            most_taken: costed::most_taken(benchmark, comparison)
                .filter(|_| !benchmark.resources.is_empty())
                .map(|(name, change)| (name, change.percent())),
            taken: comparison.taken.iter().map(|t| TakenFacts::of(comparison, t)).collect(),
            taken_note: costed::taken_note(comparison),
        }
    }
}

impl SpanFacts {
    fn of(comparison: &Comparison, span: &SpanCost) -> Self {
        Self {
            before: costed::time(span.before_ns),
            after: costed::time(span.after_ns),
            change: costed::change(comparison, span).map(share),
            outcome: costed::outcome(span.outcome),
        }
    }
}

impl TakenFacts {
    fn of(comparison: &Comparison, taken: &Taken) -> Self {
        let difference = costed::difference(comparison, taken);
        Self {
            name: taken.resource.name(),
            time: taken.resource.unit() == ResourceUnit::Time,
            before: costed::amount(taken.resource, taken.before),
            after: costed::amount(taken.resource, taken.after),
            difference: NumberFacts {
                value: difference.value,
                half: difference.half,
                text: difference.amount(taken.resource),
            },
            beyond_chance: difference.beyond_chance(),
        }
    }
}

impl SequenceFacts {
    fn of(sequence: Sequence) -> Self {
        Self { condition: sequence.condition, marks_ns: sequence.marks_ns }
    }
}

impl SpreadFacts {
    fn of(result: &CostResult, spread: &Spread) -> Self {
        Self {
            condition: costed::condition_name(result, spread.condition),
            trials: spread.trials,
            failed: spread.failed,
            times: spread.times_ns.map(|times| times.map(costed::time)),
        }
    }
}

impl CallFacts {
    fn of(benchmark: &CostBenchmark, call: &OwnCall) -> Self {
        let adds = |comparison: &Comparison| {
            costed::adds(benchmark, comparison, call).map(|figure| NumberFacts {
                value: figure.value,
                half: figure.half,
                text: figure.time(),
            })
        };
        Self { name: call.name.clone(), adds: benchmark.comparisons.iter().map(adds).collect() }
    }
}
