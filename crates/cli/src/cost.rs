//! `netfathom cost`: arguments to plan, plan to run.

use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Result, bail};
use netfathom_measure::kind::cost;
use netfathom_model::plan::{
    Benchmark, BenchmarkKind, CostLevel, CostPlan, LEVEL_WORD, MarkSource, ONE_LOAD, ReproducePlan, Subject,
    TapChoice, WhenEnded,
};

use crate::args::{CostArgs, LoadArg};
use crate::keep::Run;
use crate::progress::Expected;
use crate::{guard, marks, output, plans, reproduce};

/// About the paper's tree (Qian & Wang 2006: 187 MB, 12,688 entries), so that the default of 12,700 has 187 MB.
const PAPER_BYTES_PER_ENTRY: u64 = 187_000_000 / 12_700;
/// The benchmark of phases.
const LIGHT: &str = "light";
/// Those with observation points of their own.
const OURS: [&str; 3] = [LIGHT, "tar", "tar-gzip"];
/// What most programs start up in.
const SETTLE_NS: u64 = 300_000_000;
/// A line of it is about 50 bytes.
const AT_ONCE: Duration = Duration::from_secs(1);

pub fn run(args: &CostArgs) -> Result<ExitCode> {
    if args.prove {
        return prove(args);
    }
    if !args.sequences.is_empty() {
        return offline(args);
    }
    let plan = output::understood(plan(args))?;
    if let Some(status) = guard::watch_over(Duration::ZERO, |_| restoring(&plan))? {
        return Ok(status);
    }
    let run = Run {
        expected: Expected::AtMost(Duration::from_nanos(plan.most_ns)),
        named_cpus: !(args.cpu.is_empty() && args.program_cpu.is_empty()),
        ..kept(args)
    };
    run.make(|observer, stop| cost::run(&plan, observer, stop))
}

/// What puts everything as it is now after a run that could not do so itself.
fn restoring(plan: &CostPlan) -> impl FnOnce() + use<'_> {
    let found = cost::StateBefore::of(&plan.subject);
    move || {
        if let Err(error) = found.and_then(cost::StateBefore::restore) {
            output::complain(&error.into());
        }
        cost::guard::remove_what_is_left(Some(plan));
    }
}

fn kept(args: &CostArgs) -> Run<'_> {
    Run::new(&args.output, Expected::About(AT_ONCE))
}

fn prove(args: &CostArgs) -> Result<ExitCode> {
    let seed = args.seed.unwrap_or_else(plans::fresh_seed);
    let plan = ReproducePlan {
        name: netfathom_papers::PROOF.into(),
        quick: args.quick,
        tap: TapChoice::Auto,
        projects: None,
        seed,
        to: None,
        allow: None,
    };
    reproduce::run_named(&plan, &args.output)
}

fn offline(args: &CostArgs) -> Result<ExitCode> {
    let paths: Vec<&Path> = args.sequences.iter().map(AsRef::as_ref).collect();
    let progressed = output::understood(cost::offline(&paths))?;
    kept(args).make(|_, _| Ok(progressed))
}

fn plan(args: &CostArgs) -> Result<CostPlan> {
    let levels = levels(args)?;
    let (subject, benchmarks) = if args.own { own(args)? } else { (subject(args)?, benchmarks(args)?) };
    let plan = CostPlan {
        subject,
        benchmarks,
        load: args.load.as_ref().map(|load| load.load(args.frame)),
        levels,
        means: args.marks_by,
        own: args.own,
        precision: args.precision,
        least_blocks: args.min_blocks.min(args.max_blocks),
        most_blocks: args.max_blocks,
        most_ns: args.time,
        // A job begins together with the benchmark.
        settle_ns: args.settle.unwrap_or(if args.job { 0 } else { SETTLE_NS }),
        grace_ns: args.grace,
        cpu: args.cpu.clone(),
        program_cpu: args.program_cpu.clone(),
        terminal: args.terminal,
        when_ended: when_ended(args),
        baselines: !args.no_baselines,
        seed: args.seed.unwrap_or_else(plans::fresh_seed),
    };
    Ok(plan.validated()?)
}

fn when_ended(args: &CostArgs) -> WhenEnded {
    match (args.again, args.job) {
        (true, _) => WhenEnded::Again,
        (_, true) => WhenEnded::Fine,
        _ => WhenEnded::Trouble,
    }
}

fn levels(args: &CostArgs) -> Result<Vec<CostLevel>> {
    let named = |text: &String| CostLevel { text: text.clone(), bits_per_s: None };
    match &args.load {
        Some(LoadArg::Udp(_)) if !args.levels.is_empty() => {
            bail!("--levels: --load udp has its own levels; write udp:{}", args.levels.join(","))
        }
        Some(LoadArg::Udp(levels)) => Ok(levels.clone()),
        Some(LoadArg::Command(command))
            if args.levels.is_empty()
                && !args.command.iter().chain([command]).any(|text| text.contains(LEVEL_WORD)) =>
        {
            Ok(vec![named(&ONE_LOAD.into())])
        }
        _ => Ok(args.levels.iter().map(named).collect()),
    }
}

fn subject(args: &CostArgs) -> Result<Subject> {
    let other = args.pid.is_some() || args.service.is_some() || !args.toggle.is_empty() || args.nothing;
    match (args.command.is_empty(), other) {
        (true, false) => bail!(
            "there is no program to measure: name one after --, or --pid, --service, --toggle \
             (netfathom cost -- tcpdump -i any -w /dev/null)"
        ),
        (false, true) => {
            bail!("both COMMAND and another subject: give one of COMMAND, --pid, --service, --toggle")
        }
        (false, false) => return Ok(Subject::Command { argv: args.command.clone() }),
        (true, true) => {}
    }
    Ok(match (&args.pid, &args.service, args.toggle.as_slice()) {
        (Some(pid), ..) => Subject::Process { pid: *pid },
        (_, Some(name), _) => Subject::Service { name: name.clone() },
        (.., [start, stop]) => Subject::Toggle { start: start.clone(), stop: stop.clone() },
        _ => Subject::Nothing,
    })
}

/// The program under test is the benchmark itself.
fn own(args: &CostArgs) -> Result<(Subject, Vec<Benchmark>)> {
    let Some(program) = args.command.first() else { bail!("--self: name the program after --") };
    let command = args.command.clone();
    let marks = if args.marks.is_empty() { MarkSource::Auto } else { MarkSource::Files(args.marks.clone()) };
    let name = Path::new(program).file_name().map_or(program.clone(), |n| n.to_string_lossy().into_owned());
    Ok((Subject::Nothing, vec![Benchmark { name, kind: BenchmarkKind::Command { command, marks } }]))
}

fn benchmarks(args: &CostArgs) -> Result<Vec<Benchmark>> {
    if let Some(process) = &args.marks_from {
        let kind = BenchmarkKind::Marking { pid: marks::process(process)?, window_ns: args.window };
        return Ok(vec![Benchmark { name: process.clone(), kind }]);
    }
    let mut named: Vec<&str> = args.benchmark.iter().map(String::as_str).collect();
    // Who names its phases means it too.
    if named.is_empty() || !args.phases.is_empty() && !named.contains(&LIGHT) {
        named.push(LIGHT);
    }
    if (!args.marks.is_empty() || args.sequence.is_some()) && named.iter().all(|text| OURS.contains(text)) {
        bail!(
            "--marks and --sequence are for --benchmark NAME=COMMAND; these have observation points of their own: {}",
            named.join(", ")
        );
    }
    named.into_iter().map(|text| benchmark(args, text)).collect()
}

fn benchmark(args: &CostArgs, text: &str) -> Result<Benchmark> {
    let (name, kind) = match (text, text.split_once('=')) {
        (LIGHT, _) => (text, BenchmarkKind::Light { phases: args.phases.clone(), phase_ns: args.phase }),
        ("tar" | "tar-gzip", _) => (text, tar(args, text == "tar-gzip")),
        (_, Some((name, command))) if !name.is_empty() => (name, shell(args, command)),
        _ => bail!(
            "--benchmark {text}: there is none of that name; choose light, tar, tar-gzip, or write NAME=COMMAND"
        ),
    };
    Ok(Benchmark { name: name.into(), kind })
}

fn shell(args: &CostArgs, command: &str) -> BenchmarkKind {
    let marks = match (args.marks.as_slice(), args.sequence) {
        ([], None) => MarkSource::Emitted,
        ([], Some(_)) => MarkSource::Auto,
        (files, _) => MarkSource::Files(files.to_vec()),
    };
    BenchmarkKind::Command { command: ["sh", "-c", command].map(Into::into).into(), marks }
}

fn tar(args: &CostArgs, gzip: bool) -> BenchmarkKind {
    BenchmarkKind::Tar {
        gzip,
        entries: args.entries,
        bytes: args.bytes.unwrap_or(u64::from(args.entries) * PAPER_BYTES_PER_ENTRY),
        cold: args.cold,
        directory: args.tree.clone(),
        early: args.early,
    }
}
