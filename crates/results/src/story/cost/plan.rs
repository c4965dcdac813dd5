//! What was asked for, in words.

use netfathom_model::plan::{Benchmark, BenchmarkKind, CostLoad, CostPlan, MarkSource, Subject, WhenEnded};
use netfathom_model::print::{bytes, count, counted, listed, percent};
use netfathom_model::record::CostResult;
use netfathom_model::units::format_duration;

use crate::story::{Words, processors};

pub(super) fn done(result: &CostResult) -> String {
    let trials = || result.benchmarks.iter().flat_map(|b| &b.trials);
    let failed = trials().filter(|t| t.failed.is_some()).count();
    let but = if failed > 0 { format!(", {failed} of them failed") } else { String::new() };
    format!(
        "{} of {} in {} are finished{but}",
        counted(trials().count(), "trial"),
        counted(result.benchmarks.len(), "benchmark"),
        counted(result.conditions.len(), "condition")
    )
}

pub(super) fn words(result: &CostResult) -> Words {
    match &result.plan {
        Some(plan) => of_plan(plan),
        None => vec![("plan", "none: times that were taken elsewhere were compared".into())],
    }
}

fn of_plan(plan: &CostPlan) -> Words {
    let mut words: Words = vec![("program under test", subject(&plan.subject))];
    words.extend(plan.benchmarks.iter().map(|b| ("benchmark", benchmark(b))));
    if let Some(load) = &plan.load {
        words.push(("load", load_words(load)));
    }
    if !plan.levels.is_empty() {
        words.push(("levels", listed(plan.levels.iter().map(|l| &l.text))));
    }
    words.push(("marks", plan.means.map_or("the best way that works", |m| m.name()).into()));
    words.push(("until half the interval is at most", percent(plan.precision)));
    words.push(("blocks", format!("{} to {}", plan.least_blocks, plan.most_blocks)));
    words.push(("at the longest", format_duration(plan.most_ns)));
    words.push(("to start up, to end", listed([plan.settle_ns, plan.grace_ns].map(format_duration))));
    words.push(("CPUs of the benchmarks", processors(&plan.cpu, "all")));
    words.push(("CPUs of the program", processors(&plan.program_cpu, "all")));
    words.push(("also measured", besides(plan)));
    words.push(("seed", plan.seed.to_string()));
    words
}

fn subject(subject: &Subject) -> String {
    match subject {
        Subject::Toggle { start, stop } => format!("{start}, stopped by {stop}"),
        Subject::Interception { ways } => ways.iter().map(|way| way.name()).collect::<Vec<_>>().join("; "),
        other => other.in_words(),
    }
}

fn benchmark(benchmark: &Benchmark) -> String {
    let what = match &benchmark.kind {
        BenchmarkKind::Tar { gzip, entries, bytes: size, cold, directory, early } => {
            let place = directory.as_ref().map_or_else(String::new, |d| format!(", in {}", d.display()));
            format!(
                "tar of {} entries with {}{}{}{}{place}",
                count((*entries).into()),
                bytes(*size as f64),
                if *gzip { ", through gzip" } else { "" },
                if *cold { ", dropped from the page cache before each trial" } else { "" },
                if *early { ", with early marks" } else { "" },
            )
        }
        BenchmarkKind::Light { phases, phase_ns } => {
            let which = if phases.is_empty() { "all phases".into() } else { phases.join(", ") };
            format!("{which}, {} each", format_duration(*phase_ns))
        }
        BenchmarkKind::Command { command, marks } => {
            format!("{} ({})", command.join(" "), marks_words(marks))
        }
        BenchmarkKind::Marking { pid, window_ns } => {
            format!("process {pid}, watched for {} a trial", format_duration(*window_ns))
        }
    };
    format!("{}: {what}", benchmark.name)
}

fn marks_words(marks: &MarkSource) -> String {
    match marks {
        MarkSource::Emitted => "marks itself".into(),
        MarkSource::Auto => "marks are characteristic system calls".into(),
        MarkSource::Files(files) => {
            format!("marks are openings of {}", listed(files.iter().map(|f| f.display())))
        }
    }
}

fn load_words(load: &CostLoad) -> String {
    match load {
        CostLoad::Udp { frame_bytes } => format!("UDP in the lab, frames of {frame_bytes} bytes"),
        CostLoad::Command { command } => command.clone(),
    }
}

fn besides(plan: &CostPlan) -> String {
    let asked = [
        (plan.own, "the benchmark's own system calls"),
        (plan.baselines, "trials without observation points"),
        (plan.terminal, "a terminal for the program"),
        (plan.when_ended == WhenEnded::Again, "started again when it ends"),
        (plan.when_ended == WhenEnded::Fine, "may end when its job is done"),
    ];
    let there: Vec<&str> = asked.into_iter().filter(|(on, _)| *on).map(|(_, what)| what).collect();
    if there.is_empty() { "nothing".into() } else { there.join(", ") }
}
