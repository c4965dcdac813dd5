//! `netfathom stack`: arguments to plan, plan to record, record to disk and screen.

use std::process::{self, ExitCode};
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use std::{fs, io};

use anyhow::{Context, Result};
use netfathom_measure::stack::{self, Live, Observer, Progressed, RunError, StackError};
use netfathom_model::path::Tap;
use netfathom_model::plan::{Family, Place, StackPlan, TapChoice};
use netfathom_model::record::{Measurement, Record, SCHEMA_VERSION, State, TrialKind};
use netfathom_model::verdict::Level;
use netfathom_results::render::{html, terminal};
use netfathom_results::store::{self, RunDir};

use crate::args::{StackArgs, TapArg};
use crate::progress::Progress;
use crate::{exit, output, stop};

/// What a trial takes besides its profile: sockets, programs, the burst.
const TRIAL_OVERHEAD: Duration = Duration::from_millis(1200);

/// Runs the command.
pub fn run(args: &StackArgs) -> Result<ExitCode> {
    let plan = match plan(args) {
        Ok(plan) => plan,
        Err(error) => {
            output::complain(&error);
            return Ok(exit::USAGE.into());
        }
    };
    let stop = stop::on_signals().context("cannot listen for signals")?;
    store::sweep(&args.output.out);
    let started = SystemTime::now();
    let id = store::new_id(started, "stack", &format!("{:08x}", plan.seed as u32));
    let run_dir = RunDir::create(&args.output.out, &id)?;
    let header = Header { id, started };
    let expected = expected(&plan);
    let mut keeper = Keeper {
        header: &header,
        run_dir: &run_dir,
        progress: Progress::new(args.output.quiet || args.output.json, expected),
        trials: 0,
    };
    let progressed = stack::run(&plan, &mut keeper, &stop);
    let kept = keeper.trials;
    drop(keeper);
    let progressed = match progressed {
        Ok(progressed) => progressed,
        Err(error) => {
            if kept == 0 && matches!(error, RunError::Measure(_)) {
                discard(&run_dir);
            }
            return refused(args, error);
        }
    };
    let state = if stop.load(Relaxed) { State::Interrupted } else { State::Complete };
    let record = header.record(&progressed, state);
    finish(args, &run_dir, &record, &progressed)
}

/// Removes what there is of a run without a single trial: nobody can learn from it.
fn discard(run_dir: &RunDir) {
    let _ = fs::remove_file(run_dir.path().join(store::RECORD_FILE));
    // Goes only if there is nothing else in it.
    let _ = fs::remove_dir(run_dir.path());
}

/// A run that could not be made. Processors that are not here were mistyped.
fn refused(args: &StackArgs, error: RunError) -> Result<ExitCode> {
    let mistyped = args.cpu.is_some() && matches!(error, RunError::Measure(StackError::Cpu(_)));
    if mistyped {
        output::complain(&error.into());
        return Ok(exit::USAGE.into());
    }
    Err(error.into())
}

fn finish(args: &StackArgs, run_dir: &RunDir, record: &Record, progressed: &Progressed) -> Result<ExitCode> {
    run_dir.write_record(record)?;
    if !progressed.samples.is_empty() {
        store::samples::write(run_dir.path(), &progressed.samples)?;
    }
    run_dir.write_file("report.html", html::render(record)?.as_bytes())?;
    if args.output.json {
        output::print(&serde_json::to_string(record)?)?;
    } else if !args.output.quiet {
        output::print(&terminal::render(record, output::width(), output::color()))?;
        output::print(&format!("\nreport: {}", run_dir.path().join("report.html").display()))?;
    }
    Ok(if record.verdict.level == Level::Void { exit::VOID.into() } else { ExitCode::SUCCESS })
}

/// What is known of a record before it is measured.
struct Header {
    id: String,
    started: SystemTime,
}

impl Header {
    fn record(&self, progressed: &Progressed, state: State) -> Record {
        let Progressed { environment, result, verdict, findings, .. } = progressed.clone();
        Record {
            schema_version: SCHEMA_VERSION,
            id: self.id.clone(),
            tool: concat!("netfathom ", env!("CARGO_PKG_VERSION")).into(),
            started_utc: store::rfc3339(self.started),
            state,
            environment,
            measurement: Measurement::Stack(Box::new(result)),
            verdict,
            findings,
        }
    }
}

/// Keeps what is measured after each trial, so that a killed run loses at most one.
struct Keeper<'a> {
    header: &'a Header,
    run_dir: &'a RunDir,
    progress: Progress,
    /// How many trials are on disk.
    trials: usize,
}

impl Observer for Keeper<'_> {
    fn begins(&mut self, kind: TrialKind, number: usize, of: usize, live: &Arc<Live>) {
        self.progress.begins(kind, number, of, live);
    }

    fn keep(&mut self, so_far: &Progressed) -> io::Result<()> {
        let record = self.header.record(so_far, State::Partial);
        self.run_dir.write_record(&record).map_err(io::Error::other)?;
        self.trials = so_far.result.trials.len();
        Ok(())
    }
}

fn plan(args: &StackArgs) -> Result<StackPlan> {
    let lab = args.lab || !args.loopback && is_root();
    let several = args.trials >= 2;
    let plan = StackPlan {
        directions: args.directions.list(),
        place: if lab { Place::Lab } else { Place::Loopback },
        family: if args.ipv6 { Family::Ipv6 } else { Family::Ipv4 },
        profile: args.profile.clone(),
        trials: args.trials,
        controls: args.controls.unwrap_or(if several { args.trials.div_ceil(2).max(2) } else { 0 }),
        witnesses: args.witnesses.unwrap_or(if several { args.trials.div_ceil(5).max(2) } else { 0 }),
        tap: match args.tap {
            TapArg::Auto => TapChoice::Auto,
            TapArg::Bpf => TapChoice::Only(Tap::Bpf),
            TapArg::Timestamping => TapChoice::Only(Tap::Timestamping),
        },
        size_bytes: args.size,
        samples: args.samples,
        seed: args.seed.unwrap_or_else(fresh_seed),
        cpus: args.cpu,
        port: args.port,
        reader_polls: args.poll,
        reader_delay_ns: args.reader_delay,
        inserted_delay: args.insert_delay,
    };
    Ok(plan.validated()?)
}

/// Differs between runs, also between those that start together.
fn fresh_seed() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    (u64::from(process::id()) << 32) ^ now.as_nanos() as u64
}

fn is_root() -> bool {
    // The owner of a process's own directory in /proc is its effective user.
    use std::os::unix::fs::MetadataExt;
    std::fs::metadata("/proc/self").is_ok_and(|m| m.uid() == 0)
}

fn expected(plan: &StackPlan) -> Duration {
    let trial = Duration::from_nanos(plan.profile.duration_ns()) + TRIAL_OVERHEAD;
    trial * (plan.trials + plan.controls + plan.witnesses)
}
