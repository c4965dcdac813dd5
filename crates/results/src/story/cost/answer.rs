//! The answer of a cost in one sentence.

use netfathom_model::plan::{Benchmark, BenchmarkKind, CostPlan, ONE_LOAD, Subject};
use netfathom_model::print::{Scale, counted};
use netfathom_model::record::{Comparison, CostBenchmark, CostResult, Effect, Outcome, OwnCall, Resource};
use netfathom_stats::{between_trials, decided_width};

use super::comparison::{
    Slowed, change, condition_name, difference, faster_alone, leading, level_name, most_taken, slowed_alone,
    slowed_part, span_name,
};
use super::figure::{Figure, slowdown};
use super::trials::counting;
use crate::page::shortened;
use crate::quantity::Figures;
use crate::story::number::{mean as time, percent};
use crate::story::{LONGEST_ANSWER, contention};

/// Comparisons beyond these stand in the tables only.
const MOST_SHOWN: usize = 4;

/// A slowdown of that size matters to most: a run that could have missed it is short.
const COARSE: f64 = 0.05;

/// A program that uses less than that takes little from any CPU.
const MUCH_OF_A_CPU: f64 = 0.05;

/// A program that uses less has nothing to do.
const IDLE: f64 = 0.001;

/// What takes more than this part of the time that was added is its cause.
const MOST_OF_IT: f64 = 0.5;

/// System calls that a sentence names.
const MOST_CALLS: usize = 3;

/// Letters of a command in a sentence.
const LONGEST_NAME: usize = 60;

/// The same in the answer.
const LONGEST_BRIEF: usize = 22;
/// Of a program where nothing else fits.
const SHORTEST: usize = 9;

/// The same before an interval that must not be cut.
const LONGEST_BEFORE: usize = 16;

/// Letters of a load in a sentence.
const LONGEST_LEVEL: usize = 16;

/// The comparison with the largest cost, or the first one; and that the others are not significant.
pub(in crate::story) fn answer(result: &CostResult) -> String {
    if let Some(time) = own(result).or_else(|| timed(result)) {
        return time;
    }
    let all = compared(result);
    let Some((benchmark, comparison)) = all.first() else {
        return "no benchmark was finished both with and without it, so there is no answer yet".into();
    };
    let others = all.len() - 1;
    let rest = if comparison.outcome == Outcome::Cost
        && others > 0
        && all[1..].iter().all(|(_, c)| c.outcome == Outcome::NoCost)
    {
        format!("; {}: not significant", counted(others, "other"))
    } else {
        String::new()
    };
    compared_as(result, benchmark, comparison, LONGEST_BRIEF) + &rest
}

/// The other comparisons, and how it was measured.
pub(super) fn remarks(result: &CostResult) -> Vec<String> {
    if let Some(calls) = most_calls(result) {
        return vec![calls];
    }
    let all = compared(result);
    let of_first = all.first().map_or_else(Vec::new, |(benchmark, comparison)| {
        let shares = shares_cpus(result, benchmark, comparison);
        let remarks = [
            timed(result).map(|_| sentence(result, benchmark, comparison)),
            idle(result, comparison),
            apart(result, comparison),
            as_a_whole(benchmark, comparison),
            by_itself(benchmark, comparison, slowed_alone(benchmark, comparison), ("slower", "")),
            by_itself(
                benchmark,
                comparison,
                faster_alone(benchmark, comparison),
                ("faster", ", which may hide slower ones"),
            ),
            detail(benchmark, comparison),
            shares.then(|| {
                format!("to see what it takes besides the CPU, give each a CPU: --cpu 0{}", pinned(result, 1))
            }),
        ];
        remarks.into_iter().flatten().collect()
    });
    let others = all.iter().skip(1).map(|(benchmark, comparison)| sentence(result, benchmark, comparison));
    let more = all.len().saturating_sub(MOST_SHOWN);
    let more = (more > 0).then(|| format!("{more} more below"));
    let blocks = result.benchmarks.iter().flat_map(|b| &b.comparisons).map(|c| c.blocks).max();
    let blocks = blocks.map(|n| {
        if n == 1 {
            "a single block: chance cannot be excluded".into()
        } else {
            let phases = result.benchmarks.iter().find(|b| !b.resources.is_empty());
            let phases = phases.map_or_else(String::new, |b| {
                let phases = b.resources.len();
                let each = if phases == 1 { "" } else { "each " };
                format!("; built-in benchmark ({}): {}, {each}about one resource", b.name, counted(phases, "short phase"))
            });
            let target = target(result, &all).unwrap_or_default();
            format!("99 % intervals from {n} blocks (each condition runs twice, in order and back){target}{phases}")
        }
    });
    let others = others.take(MOST_SHOWN - 1).chain(more);
    of_first.into_iter().chain(others).chain(overall(result)).chain(blocks).collect()
}

/// How precisely the slowdowns should be known, where one is not.
fn target(result: &CostResult, all: &[(&CostBenchmark, &Comparison)]) -> Option<String> {
    let asked = result.plan.as_ref().filter(|plan| !plan.own)?.precision;
    let width = |c: &Comparison| decided_width(c.ratio.into(), c.blocks).filter(|width| width.is_finite());
    let widest = all.iter().filter_map(|(_, comparison)| width(comparison)).fold(0.0, f64::max);
    (widest > asked).then(|| format!("; the widest is ± {}, target ± {}", percent(widest), percent(asked)))
}

/// What answers the question: the largest cost first, without one what may be the largest.
fn compared(result: &CostResult) -> Vec<(&CostBenchmark, &Comparison)> {
    let of =
        |benchmark| leading(result, benchmark).into_iter().map(move |comparison| (benchmark, comparison));
    let mut all: Vec<_> = result.benchmarks.iter().flat_map(of).collect();
    let cost = |c: &Comparison| if c.outcome == Outcome::Cost { c.ratio.value } else { 0.0 };
    let most = |c: &Comparison| slowdown(c).ends().map_or(0.0, |(_, most)| most);
    all.sort_by(|(_, a), (_, b)| cost(b).total_cmp(&cost(a)).then(most(b).total_cmp(&most(a))));
    all
}

/// With names of at most that many letters.
fn compared_as(
    result: &CostResult,
    benchmark: &CostBenchmark,
    comparison: &Comparison,
    longest: usize,
) -> String {
    let who = who(result, comparison);
    let who = if who.chars().count() > longest { without_directories(&who) } else { who };
    let who = shortened_program(&who, longest);
    let (whom, at) = (whom(benchmark, longest), at(result, comparison));
    let slow = slowdown(comparison);
    let faster = || slow.opposite().percent();
    match comparison.outcome {
        // The interval is the answer: what is before it is short enough for it.
        Outcome::NoCost if slow.interval.is_some() => {
            if let Some(Slowed { span, change, .. }) = slowed_part(benchmark, comparison) {
                let who = shortened_program(&who, LONGEST_BEFORE);
                let name = shortened(&benchmark.name, LONGEST_BEFORE);
                return format!("{who} slows the {} {span} of {name}: {}", noun(benchmark), change.percent());
            }
            let is_free = at.is_empty() && apart(result, comparison).is_some();
            let with = if is_free { " with a free CPU" } else { at.as_str() };
            let is_brief = longest == LONGEST_BRIEF;
            let room = if is_brief { LONGEST_BEFORE } else { longest };
            let (whom, figure) = (shortened(&whom, room), slow.percent());
            if is_of_nothing(result, comparison) {
                return format!("A/A: no significant difference for {whom}: {figure}");
            }
            let none = |room, with| {
                let who = shortened_program(&who, room);
                format!("no significant slowdown of {whom} by {who}{with}")
            };
            let most = slow.ends().filter(|(_, most)| most.is_finite() && *most > 0.0);
            let whole = most.map(|_| format!("{}, at most {}: {figure}", none(room, with), slow.most()));
            let fits = |text: &String| !is_brief || text.chars().count() <= LONGEST_ANSWER;
            // A remark has the free CPU too.
            let without = if is_free { "" } else { with };
            let shorter =
                [(room, with), (room, without)].map(|(room, with)| format!("{}: {figure}", none(room, with)));
            let mut fitting = whole.into_iter().chain(shorter).filter(fits);
            fitting.next().unwrap_or_else(|| format!("{}: {figure}", none(SHORTEST, without)))
        }
        Outcome::CannotTell if slow.interval.is_some() => {
            format!("inconclusive whether {who} slows {whom}{at}: {}", slow.percent())
        }
        _ if slow.interval.is_none() => {
            let (by, than) =
                if slow.value < 0.0 { (faster(), "shorter") } else { (slow.percent(), "longer") };
            format!("{whom}: {by} {than} with {who}{at}, one run each: inconclusive")
        }
        _ if slow.value < 0.0 => format!("{whom} takes {} less time with {who}{at}", faster()),
        _ => format!("{who} slows {whom} by {}{at}", slow.percent()),
    }
}

/// A process without its number where there is no room for both.
fn shortened_program(who: &str, longest: usize) -> String {
    match who.split_once(" (pid ") {
        Some((name, _)) if who.chars().count() > longest => shortened(name, longest),
        _ => shortened(who, longest),
    }
}

/// A command, its files without their directories.
fn without_directories(command: &str) -> String {
    // /dev/null is itself by its whole name.
    let is_path = |word: &str| {
        ["/", "./", "../"].iter().any(|start| word.starts_with(start)) && !word.starts_with("/dev/")
    };
    let name = |word: &str| {
        let name = word.rsplit('/').next().filter(|name| is_path(word) && !name.is_empty());
        name.unwrap_or(word).to_owned()
    };
    command.split_whitespace().map(name).collect::<Vec<_>>().join(" ")
}

/// That a program without effect did nothing.
fn idle(result: &CostResult, comparison: &Comparison) -> Option<String> {
    let used = processors_used(result, comparison).filter(|_| !is_of_nothing(result, comparison))?;
    (comparison.outcome == Outcome::NoCost && used < IDLE).then(|| {
        format!(
            "the program's own processes used {} of a CPU: if it had no work, give it some: {}",
            percent(used),
            work(result)
        )
    })
}

/// How to have a program do something.
fn work(result: &CostResult) -> &'static str {
    let plan = result.plan.as_ref();
    let is_light = |b: &Benchmark| matches!(b.kind, BenchmarkKind::Light { .. });
    match plan {
        Some(plan) if plan.load.is_some() => "another --load",
        Some(plan) if plan.benchmarks.iter().any(is_light) => "--load COMMAND",
        _ => "--load COMMAND, or --phases loopback",
    }
}

fn processors_used(result: &CostResult, comparison: &Comparison) -> Option<f64> {
    result.program.iter().find(|used| used.condition == comparison.condition)?.processors
}

/// That the program may have had a CPU of its own, where it took little from the benchmark.
fn apart(result: &CostResult, comparison: &Comparison) -> Option<String> {
    if comparison.outcome != Outcome::NoCost || !may_take_any_cpu(result) {
        return None;
    }
    let used = processors_used(result, comparison)?;
    (used >= MUCH_OF_A_CPU).then(|| {
        format!(
            "the program used {} of a CPU, and the benchmark could take another; where both share one: --cpu 0{}",
            percent(used),
            pinned(result, 0)
        )
    })
}

/// How to have the program on a CPU, behind the benchmark's.
fn pinned(result: &CostResult, cpu: usize) -> String {
    let by_user = result.plan.as_ref().and_then(|plan| plan.subject.pinned_to(&[cpu]));
    by_user.map_or_else(|| format!(" --program-cpu {cpu}"), |how| format!(", and {how}"))
}

/// The slowdown of a whole benchmark, where only a part is significantly slower.
fn as_a_whole(benchmark: &CostBenchmark, comparison: &Comparison) -> Option<String> {
    let slowed = slowed_part(benchmark, comparison)?;
    let (whole, spans) = (slowdown(comparison).percent(), comparison.spans.len());
    Some(format!(
        "slowed most: {}; the interval is corrected for {spans} {}s; {} as a whole: {whole}, not significant",
        slowed.title(),
        noun(benchmark),
        shortened(&benchmark.name, LONGEST_BEFORE)
    ))
}

/// A phase that is slower, or faster, if it is decided without the others.
fn by_itself(
    benchmark: &CostBenchmark,
    comparison: &Comparison,
    phase: Option<Slowed<'_>>,
    (how, also): (&str, &str),
) -> Option<String> {
    let phase = phase?;
    Some(format!(
        "by itself the phase {} of {} is significantly {how}, not corrected for the {} phases{also}: {}",
        phase.span,
        shortened(&benchmark.name, LONGEST_BEFORE),
        comparison.spans.len(),
        phase.change.percent()
    ))
}

/// What a benchmark consists of: phases, each about one resource, or spans between its marks.
fn noun(benchmark: &CostBenchmark) -> &'static str {
    if benchmark.resources.is_empty() { "span" } else { "phase" }
}

/// What a comparison could detect, that it waits for a CPU, or which part is slowed most. Where it is inconclusive the
/// verdict has what it could detect.
fn detail(benchmark: &CostBenchmark, comparison: &Comparison) -> Option<String> {
    match comparison.outcome {
        Outcome::CannotTell | Outcome::Faster => None,
        Outcome::Cost => waited_for_a_cpu(benchmark, comparison).or_else(|| {
            let most = most_taken(benchmark, comparison).filter(|_| benchmark.resources.len() > 1);
            most.map(|slowed| format!("slowed most: {}: {}", slowed.title(), slowed.change.percent()))
        }),
        Outcome::NoCost => {
            let possible = slowdown(comparison).ends().map_or(0.0, |(_, high)| high);
            if possible > COARSE {
                return Some("to exclude a smaller slowdown: a lower --precision, and more --time".into());
            }
            open_phase(benchmark, comparison).or_else(|| {
                let smallest = comparison.smallest.filter(|s| s.is_finite())?;
                Some(format!("minimum detectable slowdown: {} (80 % power)", percent(smallest)))
            })
        }
    }
}

/// The phase that may be slowed most, where none is significantly.
fn open_phase(benchmark: &CostBenchmark, comparison: &Comparison) -> Option<String> {
    if benchmark.resources.is_empty() || slowed_part(benchmark, comparison).is_some() {
        return None;
    }
    let open = comparison.spans.iter().enumerate().filter(|(_, span)| span.outcome == Outcome::CannotTell);
    let figures = open.filter_map(|(place, span)| Some((place, change(comparison, span)?)));
    let (place, most) = figures.max_by(|a, b| a.1.value.total_cmp(&b.1.value))?;
    let phase = span_name(benchmark, place);
    Some(format!("{phase} is inconclusive: {}; --phases {phase} decides it sooner", most.percent()))
}

/// Of a benchmark that mostly waits for a CPU longer no part is slower than another.
fn waited_for_a_cpu(benchmark: &CostBenchmark, comparison: &Comparison) -> Option<String> {
    let of = |resource| comparison.taken.iter().find(|taken| taken.resource == resource);
    let waited = of(Resource::RunQueue)?;
    let added_ns: f64 = comparison.spans.iter().map(|span| span.after_ns - span.before_ns).sum();
    let figure = difference(comparison, waited);
    let own = of(Resource::Cpu);
    let least_ns = (MOST_OF_IT * added_ns).max(own.map_or(0.0, |own| own.difference.value));
    if !(figure.beyond_chance() && added_ns > 0.0 && waited.difference.value > least_ns) {
        return None;
    }
    let own = own.map(|own| difference(comparison, own).amount(Resource::Cpu));
    let own = own.map_or_else(String::new, |own| format!(", its own CPU time {own} more"));
    let delay = figure.amount(Resource::RunQueue);
    let held = benchmark.waits.as_ref().and_then(|waits| contention::most_of_wait(&waits.waits));
    let held = held.map_or_else(String::new, |(by, part)| {
        format!("; {by} {} for {} of the wait", by.first.had("it"), percent(part))
    });
    let name = shortened(&benchmark.name, LONGEST_BRIEF);
    let trial = time(comparison.spans.iter().map(|span| span.after_ns).sum());
    Some(format!(
        "{name} waits for a CPU: run-queue delay of all threads {delay} more per trial of {trial}{own}{held}"
    ))
}

/// Whether it waits for a CPU that it need not have shared.
fn shares_cpus(result: &CostResult, benchmark: &CostBenchmark, comparison: &Comparison) -> bool {
    comparison.outcome == Outcome::Cost
        && may_take_any_cpu(result)
        && waited_for_a_cpu(benchmark, comparison).is_some()
}

fn may_take_any_cpu(result: &CostResult) -> bool {
    result.plan.as_ref().is_some_and(|plan| plan.cpu.is_empty() && plan.program_cpu.is_empty())
}

/// Whether a program was asked for its own calls, and nothing is beside it.
pub(super) fn own_alone(result: &CostResult) -> bool {
    let alone = |plan: &CostPlan| plan.own && plan.load.is_none() && plan.subject == Subject::Nothing;
    result.plan.as_ref().is_some_and(alone)
}

fn own(result: &CostResult) -> Option<String> {
    let (benchmark, mean_ns) = own_time(result)?;
    (!benchmark.calls.is_empty())
        .then(|| format!("{} takes {} per run", shortened(&benchmark.name, LONGEST_NAME), time(mean_ns)))
}

/// What a command takes with nothing beside it.
fn timed(result: &CostResult) -> Option<String> {
    let command = result.plan.as_ref()?.timed()?;
    let time =
        result.quantities().into_iter().find(|quantity| quantity.main && !quantity.trials.is_empty())?;
    let half = between_trials(&time.trials).map(|estimate| estimate.half_width);
    let takes = Scale::Time.interval(netfathom_stats::mean(&time.trials), half);
    Some(format!("{} takes {takes}", shortened(&command, LONGEST_NAME)))
}

fn own_time(result: &CostResult) -> Option<(&CostBenchmark, f64)> {
    let benchmark = result.benchmarks.first().filter(|_| own_alone(result))?;
    let trials: Vec<f64> = counting(benchmark, 0).map(|trial| trial.total_ns).collect();
    Some((benchmark, netfathom_stats::mean(&trials)))
}

/// Which of its system calls take most of it.
fn most_calls(result: &CostResult) -> Option<String> {
    let (benchmark, mean_ns) = own_time(result)?;
    let share = |ns: f64| percent(ns / mean_ns);
    let of = |call: &OwnCall| Some(call.times.first().copied().flatten()?.total_ns);
    let named = |call: &OwnCall| Some(format!("{} ({})", call.name, share(of(call)?)));
    let most: Vec<String> = benchmark.calls.iter().filter_map(named).take(MOST_CALLS).collect();
    (!most.is_empty()).then(|| format!("system calls that take most of it: {}", most.join(", ")))
}

/// What one comparison says, in a sentence without its end.
pub(super) fn sentence(result: &CostResult, benchmark: &CostBenchmark, comparison: &Comparison) -> String {
    compared_as(result, benchmark, comparison, LONGEST_NAME)
}

/// The benchmark of phases has a name that needs a noun: light.
fn whom(benchmark: &CostBenchmark, longest: usize) -> String {
    if benchmark.resources.is_empty() { shortened(&benchmark.name, longest) } else { "the benchmark".into() }
}

/// At which load: ` at 80M`; times that were taken elsewhere have it in their condition.
fn at(result: &CostResult, comparison: &Comparison) -> String {
    if result.plan.is_none() {
        return String::new();
    }
    level_name(result, comparison).map_or_else(String::new, |level| match level.as_str() {
        ONE_LOAD => " under load".into(),
        level => format!(" at {}", shortened(level, LONGEST_LEVEL)),
    })
}

/// Whether two samples of the same are compared.
fn is_of_nothing(result: &CostResult, comparison: &Comparison) -> bool {
    comparison.effect == Effect::Program && result.plan.as_ref().is_some_and(CostPlan::is_alone)
}

fn who(result: &CostResult, comparison: &Comparison) -> String {
    let subject = if is_of_nothing(result, comparison) {
        "nothing (A/A)".to_owned()
    } else {
        shortened(&result.subject, LONGEST_NAME)
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
        "slowdown of all benchmarks together{}: {}",
        at(result, first),
        Figure::alone(of_it.ratio).beyond_one().percent()
    ))
}
