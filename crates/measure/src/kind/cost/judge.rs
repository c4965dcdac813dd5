//! What the trials are worth, and what should be known of them.

use netfathom_model::plan::Subject;
use netfathom_model::record::{Comparison, CostBenchmark, CostResult, Effect, Holder, Outcome};
use netfathom_model::units::format_duration;
use netfathom_model::verdict::{Finding, Level, Verdict};
use netfathom_stats as stats;

use super::summary::{self, SAYS_NOTHING};
use crate::ground::observer::Progressed;

/// More failed trials than this part are more than bad luck.
const FAILURES: f64 = 0.1;
/// An interval that is this much wider than asked for is as good: how many blocks it takes is known only about.
const ALMOST: f64 = 1.5;
/// Observation points that take more are a part of what is measured.
const POINTS_COST: f64 = 0.005;
/// A load that misses its level by this part is another one; by far more, none that was asked for.
const MISSED: f64 = 0.02;
const MISSED_FAR: f64 = 0.2;
/// Four times as long halves an interval.
const LONGER: f64 = 4.0;
/// A longer run than that many times narrows too slowly to be worth the wait.
const MOST_LONGER: f64 = 16.0;
/// A shorter run is too short for most.
const LEAST_ADVISED_NS: u64 = 5_000_000_000;
const QUIETER: &str = "use a quieter machine, or bind the benchmark to an idle CPU (--cpu CPU)";
/// Who had a CPU for less of a wait is not what made it.
const SOME: f64 = 0.05;
/// A program that writes more in a second takes time for that alone.
const FLOOD_PER_S: f64 = 10e6;

pub fn conclude(progressed: &mut Progressed<CostResult>) {
    let result = &progressed.result;
    let mut verdict = Verdict::default();
    if result.benchmarks.iter().all(|b| b.trials.is_empty()) {
        verdict.lower(Level::Void, "nothing was measured");
    }
    for benchmark in &result.benchmarks {
        failures(benchmark, &mut verdict);
        judge_benchmark(result, benchmark, &mut verdict);
        points(benchmark, &mut verdict);
        load(result, benchmark, &mut verdict);
    }
    progressed.findings = findings(result);
    progressed.verdict = verdict;
}

fn failures(benchmark: &CostBenchmark, verdict: &mut Verdict) {
    let failed: Vec<&String> = benchmark.trials.iter().filter_map(|trial| trial.failed.as_ref()).collect();
    let Some(last) = failed.last() else { return };
    let (count, all) = (failed.len(), benchmark.trials.len());
    let level = if count as f64 > FAILURES * all as f64 { Level::Void } else { Level::Degraded };
    verdict.lower(level, format!("{count} of {all} trials of {} failed: {last}", benchmark.name));
}

fn judge_benchmark(result: &CostResult, benchmark: &CostBenchmark, verdict: &mut Verdict) {
    let headline = result.headline();
    let all: Vec<_> = benchmark.of_effect(headline).collect();
    if all.is_empty() {
        if result.conditions.len() > 1 && !benchmark.trials.is_empty() {
            verdict.lower(
                Level::Void,
                format!("no block of {} is whole: let it run longer (--time)", benchmark.name),
            );
        }
        return;
    }
    let alone = headline == Effect::Observation && result.plan.as_ref().is_some_and(|plan| plan.own);
    if alone {
        // Its own calls are ranked all the same.
        return;
    }
    let inconclusive = all.iter().filter(|c| c.outcome == Outcome::CannotTell).count();
    let Some(plan) = result.plan.as_ref().filter(|_| inconclusive > 0) else {
        return imprecise(result, benchmark, &all, verdict);
    };
    // The time of a command is one, however little an A/A test says.
    let is_void = inconclusive == all.len() && plan.timed().is_none();
    let level = if is_void { Level::Void } else { Level::Degraded };
    let blocks = all.iter().map(|c| c.blocks).min().unwrap_or(0);
    let why = if blocks < 3 {
        format!("only {blocks} blocks: let it run longer (--time, --min-blocks)")
    } else if plan.timed().is_some() {
        // The same in each of several runs, which compare then shows once.
        "its calls vary too much for the A/A test: stop other work, or use an idle CPU (--cpu CPU)".into()
    } else {
        too_noisy(benchmark, plan.most_ns, &all)
    };
    verdict.lower(level, format!("{}: {why}", benchmark.name));
}

fn too_noisy(benchmark: &CostBenchmark, most_ns: u64, all: &[&Comparison]) -> String {
    let noisy = || all.iter().filter(|c| c.outcome == Outcome::CannotTell);
    let most = noisy().filter_map(|c| most(c)).fold(0.0, f64::max);
    let unseen = noisy().filter_map(|c| c.smallest).fold(most, f64::max);
    let longer = longer_ns(most_ns, unseen / SAYS_NOTHING);
    let longer = longer.map(|ns| format!("run longer (--time {})", format_duration(ns)));
    let ways: Vec<String> = others(benchmark).into_iter().chain(longer).collect();
    format!(
        "too noisy: a slowdown of up to {:.0} % is possible: {}",
        100.0 * most,
        if ways.is_empty() { QUIETER.into() } else { ways.join(", or ") }
    )
}

/// The time that narrows an interval `excess` times too wide; `None` where it is not worth the wait.
fn longer_ns(most_ns: u64, excess: f64) -> Option<u64> {
    let times = (excess * excess).ceil().max(LONGER);
    (times <= MOST_LONGER).then(|| (times as u64).saturating_mul(most_ns).max(LEAST_ADVISED_NS))
}

/// That other work had the CPUs; netfathom itself and the benchmark's own processes are none.
fn others(benchmark: &CostBenchmark) -> Option<String> {
    let parts = benchmark.waits.iter().flat_map(|of| of.waits.parts());
    let is_process = |by: &Holder| matches!(by, Holder::Process { .. } | Holder::Unnumbered { .. });
    let mut processes = parts.filter(|(by, part)| is_process(by.first) && *part >= SOME);
    let (by, part) = processes.next()?;
    let another =
        matches!(by.first, Holder::Process { name, .. } | Holder::Unnumbered { name } if name == "netfathom");
    let another = if another { "another " } else { "" };
    Some(format!(
        "stop other work ({another}{by} had the CPU for {:.0} % of the time it waited for one)",
        100.0 * part
    ))
}

/// The upper end of the interval that decides; `None` below two blocks.
fn most(comparison: &Comparison) -> Option<f64> {
    let ends = stats::decided_interval(comparison.ratio.into(), comparison.blocks)?;
    Some(ends.1 - 1.0)
}

/// The time was up before the slowdown was known as it was asked for.
fn imprecise(result: &CostResult, benchmark: &CostBenchmark, all: &[&Comparison], verdict: &mut Verdict) {
    let Some(plan) = &result.plan else {
        let text = format!("{}: one run per condition: chance cannot be excluded", benchmark.name);
        return verdict.lower(Level::Degraded, text);
    };
    let widest = all.iter().map(|c| summary::relative_width(c)).fold(0.0, f64::max);
    if widest > ALMOST * plan.precision {
        verdict.lower(
            Level::Degraded,
            format!(
                "{}: time was up before the slowdown was known to ± {:.1} %: give it more time (--time) or CPUs of its own (--cpu)",
                benchmark.name,
                100.0 * plan.precision
            ),
        );
    }
}

fn points(benchmark: &CostBenchmark, verdict: &mut Verdict) {
    let found = benchmark.of_effect(Effect::Observation).find(|c| c.condition == 0);
    let Some(cost) = found.filter(|c| c.outcome == Outcome::Cost) else { return };
    let (value, half) = (cost.ratio.value - 1.0, cost.ratio.half_width);
    if value > POINTS_COST {
        verdict.lower(
            Level::Degraded,
            format!(
                "the observation points of {} add {:.1} ± {:.1} %, in all conditions alike",
                benchmark.name,
                100.0 * value,
                100.0 * half
            ),
        );
    }
}

/// The level that was asked for is not the one that there was.
fn load(result: &CostResult, benchmark: &CostBenchmark, verdict: &mut Verdict) {
    for (at, condition) in result.conditions.iter().enumerate() {
        let of_condition = benchmark.trials.iter().filter(|trial| trial.condition == at);
        let reached: Vec<f64> = of_condition.filter_map(|trial| trial.load_reached).collect();
        let mean = stats::mean(&reached);
        let off = (mean - 1.0).abs();
        if off > MISSED {
            let level = if off > MISSED_FAR { Level::Void } else { Level::Degraded };
            let name = &condition.name;
            verdict.lower(
                level,
                format!(
                    "{}, {name}: the load reached {:.1} % of its level: lower it, or use --program-cpu",
                    benchmark.name,
                    100.0 * mean
                ),
            );
        }
    }
}

fn findings(result: &CostResult) -> Vec<Finding> {
    let programs = || result.benchmarks.iter().flat_map(|b| &b.trials).filter_map(|trial| trial.program);
    let all = programs().count();
    let killed = programs().filter(|program| program.killed).count();
    let stubborn = (killed > 0).then(|| Finding {
        seen: format!("{} had to be killed", result.subject),
        cause: "it did not exit in time after SIGTERM".into(),
        evidence: format!("{killed} of {all} times"),
        remedy: "none is needed; --grace gives it longer".into(),
    });
    let loudest = programs()
        .filter_map(|p| Some(p.output_bytes? as f64 / (p.wall_ns.max(1) as f64 / 1e9)))
        .fold(0.0, f64::max);
    let loud = (loudest > FLOOD_PER_S).then(|| Finding {
        seen: format!("{} writes a lot to its standard error", result.subject),
        cause: "netfathom reads and discards it, which takes CPU time as well".into(),
        evidence: format!("up to {:.0} MB a second", loudest / 1e6),
        remedy: "make it quieter, or redirect it: sh -c 'COMMAND 2>/dev/null'".into(),
    });
    let of_program = matches!(result.plan.as_ref().map(|plan| &plan.subject), Some(Subject::Process { .. }));
    let paused = of_program.then(|| Finding {
        seen: "the baseline is the machine with the process paused, not without it".into(),
        cause: "a paused process keeps its memory and what it set up in the kernel, such as BPF programs"
            .into(),
        evidence: "--pid".into(),
        remedy: "to measure that too, have it started and stopped: --toggle, --service, or COMMAND".into(),
    });
    [stubborn, loud, paused].into_iter().flatten().collect()
}

#[cfg(test)]
mod tests {
    use netfathom_model::record::{CostWaits, CpuWaits, Held};

    use super::super::fixture::{benchmark, comparison, plan};
    use super::*;

    #[test]
    fn too_much_noise_is_advised_a_longer_run_and_other_work_is_not_netfathom() {
        let reason = |by: Holder, most_ns| {
            let waits = CpuWaits { waited_ns: 100, holders: vec![Held { by, ns: 63 }] };
            let mut benchmark = benchmark(Vec::new());
            let noisy = comparison(Effect::Program, 1, 0, Outcome::CannotTell);
            benchmark.comparisons = vec![noisy];
            benchmark.waits = Some(CostWaits { condition: 1, waits });
            let plan = Some(netfathom_model::plan::CostPlan { most_ns, ..plan() });
            let result = CostResult { plan, ..CostResult::default() };
            let mut result = CostResult { benchmarks: vec![benchmark.clone()], ..result };
            let judged = |result: &CostResult| {
                let mut verdict = Verdict::default();
                judge_benchmark(result, &benchmark, &mut verdict);
                verdict
            };
            let beside_a_program = judged(&result);
            result.plan.as_mut().unwrap().subject = Subject::Nothing;
            assert_eq!([beside_a_program.level, judged(&result).level], [Level::Void, Level::Degraded]);
            beside_a_program.reasons[0].text.clone()
        };
        let rustc = Holder::Process { name: "rustc".into(), pid: 7, cgroup: None };
        let text = reason(rustc, 30_000_000_000);
        assert!(text.contains(": stop other work (rustc (pid 7) had the CPU for 63 %"), "{text}");
        assert!(text.ends_with("), or run longer (--time 120s)"), "{text}");
        let other = Holder::Process { name: "netfathom".into(), pid: 5, cgroup: None };
        assert!(reason(other, 1).contains("(another netfathom (pid 5) had"));
        for own in [Holder::Netfathom, Holder::Itself] {
            let text = reason(own, 1_000_000_000);
            assert!(text.ends_with("possible: run longer (--time 5s)"), "{text}");
        }
    }

    #[test]
    fn a_longer_run_is_advised_only_where_it_can_decide() {
        let longer = |excess| longer_ns(30_000_000_000, excess);
        assert_eq!([1.2, 2.4, 4.0].map(longer), [120, 180, 480].map(|s| Some(s * 1_000_000_000)));
        assert_eq!([4.1, f64::INFINITY].map(longer), [None; 2]);
        let unknown = comparison(Effect::Program, 1, 0, Outcome::CannotTell);
        let noisy = Comparison { smallest: Some(9.0), ..unknown };
        assert!(too_noisy(&benchmark(Vec::new()), 1, &[&noisy]).ends_with(QUIETER));
    }
}
