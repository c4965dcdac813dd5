//! What every measurement does with its result: a directory, a record after each step, a
//! report and tables at the end.

use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, SystemTime};
use std::{io, mem};

use anyhow::{Context, Result, anyhow};
use netfathom_measure::ground::error::{Mistake, RunError};
use netfathom_measure::ground::lab;
use netfathom_measure::ground::observer::{Live, Observer, Progressed, Step};
use netfathom_model::print;
use netfathom_model::record::{
    FleetResult, Holds, Measured, Measurement, Record, ReproduceResult, SCHEMA_VERSION, State,
};
use netfathom_model::sample::Sample;
use netfathom_model::verdict::Level;
use netfathom_results::render::html;
use netfathom_results::store::{self, RunDir};
use netfathom_results::{export, quantity, story};
use netfathom_sys::directory::Directory;
use netfathom_sys::limits;

use crate::args::OutputArgs;
use crate::progress::{Expected, Progress};
use crate::{exit, invocation, output, stop};

/// What a command knows of its run before it is made.
pub struct Run<'a> {
    pub output: &'a OutputArgs,
    pub expected: Expected,
    /// Whether the user named processors, so that wrong ones are wrong usage.
    pub named_cpus: bool,
    /// Whether samples are written as a capture too.
    pub capture: bool,
}

impl<'a> Run<'a> {
    pub fn new(output: &'a OutputArgs, expected: Expected) -> Self {
        Self { output, expected, named_cpus: false, capture: false }
    }

    /// Measures with `work`, and keeps what comes of it.
    pub fn make<R>(
        &self,
        work: impl FnOnce(&mut Keeper<'_>, &Arc<AtomicBool>) -> Result<Progressed<R>, RunError>,
    ) -> Result<ExitCode>
    where
        R: Clone + Measured,
    {
        limits::check()?;
        let stop = stop::on_signals().context("cannot listen for signals")?;
        lab::setup::set(&self.output.setup);
        store::remove_leftovers(&self.output.out);
        let started = SystemTime::now();
        let id = store::new_id(started, R::ENTRY.name)?;
        let run_dir = RunDir::create(&self.output.out, &id)?;
        let header = RecordHeader { id, started };
        let progress = Progress::new(self.output.quiet || self.output.json, self.expected);
        let mut keeper = Keeper {
            header: &header,
            run_dir: &run_dir,
            progress,
            is_quiet: self.output.quiet,
            kept: 0,
            last: None,
            may_warn: true,
        };
        let progressed = work(&mut keeper, &stop);
        let (kept, last) = (keeper.kept, keeper.last.take());
        drop(keeper);
        let progressed = match progressed {
            Ok(progressed) => progressed,
            Err(error) => {
                // What is kept before the first step has nothing in it.
                match last.filter(|_| kept > 1) {
                    // What was finished before is shown all the same.
                    Some(record) => {
                        let finished = self.finish(&run_dir, &Record { state: State::Interrupted, ..record });
                        match (finished, &error) {
                            (Err(second), RunError::Measure(_)) => output::complain(&second),
                            // A full disk fails both.
                            (finished, _) => drop(finished?),
                        }
                    }
                    None => run_dir.discard(),
                }
                return self.refused(error);
            }
        };
        // One without an end is whole whenever it is ended.
        let is_cut = stop.load(Relaxed) && self.expected != Expected::Endless;
        let state = if is_cut { State::Interrupted } else { State::Complete };
        let samples = progressed.samples.clone();
        let record = header.record(progressed, state);
        let written = self.write_samples(&run_dir, &record, &samples);
        let status = self.finish(&run_dir, &record)?;
        written.map(|()| status)
    }

    fn write_samples(&self, run_dir: &RunDir, record: &Record, samples: &[Sample]) -> Result<()> {
        if samples.is_empty() {
            if self.capture {
                output::complain(&anyhow!(
                    "nothing was exported: only the bpf tap keeps the times of single messages, and it kept none"
                ));
            }
            return Ok(());
        }
        store::samples::write(run_dir.directory(), samples)?;
        if self.capture {
            export::pcapng::write(run_dir.directory(), record, samples)?;
        }
        Ok(())
    }

    /// A run that could not be made. What the user named wrongly is wrong usage.
    fn refused(&self, error: RunError) -> Result<ExitCode> {
        let mistyped = match error.mistake() {
            Some(Mistake::Processors) => self.named_cpus,
            Some(Mistake::Named) => true,
            // Commands for a lab, of a measurement that makes none.
            None => lab::setup::is_pending() && matches!(error, RunError::Observer(_)),
        };
        if mistyped {
            return Ok(output::wrong_usage(&error.into()));
        }
        Err(error.into())
    }

    /// Where the rest of the page is.
    fn more(&self) -> String {
        let out = self.output.out.display().to_string();
        let elsewhere =
            if out == "runs" { String::new() } else { format!(" --out {}", output::harmless(&out)) };
        format!("more: netfathom report last{elsewhere} -v")
    }

    fn finish(&self, run_dir: &RunDir, record: &Record) -> Result<ExitCode> {
        let saved = save(run_dir, record);
        let shown = self.show(run_dir, record, saved.is_ok());
        saved.and(shown).map(|()| status(record))
    }

    /// Shows what was measured; all of it where there is no report.
    fn show(&self, run_dir: &RunDir, record: &Record, is_saved: bool) -> Result<()> {
        if self.output.json {
            return output::print(&serde_json::to_string(&store::Written::of(record))?);
        }
        if self.output.quiet {
            return Ok(());
        }
        output::page(&story::of(record), self.output.verbose || !is_saved)?;
        if !is_saved {
            return Ok(());
        }
        output::print(&format!("\nreport: {}", run_dir.path().join(store::REPORT_FILE).display()))?;
        if self.output.verbose { Ok(()) } else { output::print(&self.more()) }
    }
}

pub fn save(run_dir: &RunDir, record: &Record) -> Result<()> {
    run_dir.write_record(record).inspect_err(|_| run_dir.remove_if_empty())?;
    let report = html::render_run(record, run_dir.directory())?;
    Ok(run_dir.write_file(store::REPORT_FILE, report.as_bytes())?)
}

/// The exit status of a run that was made. A proof that failed is a failure.
fn status(record: &Record) -> ExitCode {
    let refuted = |result: &ReproduceResult| {
        result.plan.name == netfathom_papers::PROOF
            && result.claims.iter().any(|claim| claim.holds == Holds::No)
    };
    if record.verdict.level == Level::Void {
        return exit::VOID.into();
    }
    if FleetResult::of(&record.measurement).is_some_and(FleetResult::is_partial) {
        return exit::PARTIAL.into();
    }
    let refuted = ReproduceResult::of(&record.measurement).is_some_and(refuted);
    if refuted { exit::FAILED.into() } else { ExitCode::SUCCESS }
}

/// What is known of a record before it is measured.
pub struct RecordHeader {
    /// Name of the record and of its directory.
    pub id: String,
    pub started: SystemTime,
}

impl RecordHeader {
    /// The record of what was measured.
    pub fn record<R: Into<Measurement>>(&self, progressed: Progressed<R>, state: State) -> Record {
        let Progressed { environment, result, verdict, findings, .. } = progressed;
        let measurement: Measurement = result.into();
        let is_empty = quantity::of(&measurement).is_empty();
        Record {
            schema_version: SCHEMA_VERSION,
            id: self.id.clone(),
            tool: concat!("netfathom ", env!("CARGO_PKG_VERSION")).into(),
            started_utc: store::rfc3339(self.started),
            state,
            command: invocation::command(),
            around: invocation::around(),
            answer: (!is_empty).then(|| story::answer(&measurement, &verdict)),
            environment,
            measurement,
            verdict,
            findings,
        }
    }
}

/// Keeps what is measured after each step, so that a killed run loses at most one. A disk that fills up later ends no measurement.
pub struct Keeper<'a> {
    header: &'a RecordHeader,
    run_dir: &'a RunDir,
    pub progress: Progress,
    is_quiet: bool,
    /// How often there was something to keep; the first time nothing is measured yet.
    kept: usize,
    last: Option<Record>,
    /// There is one warning at most: the last write, of the whole record, fails the run.
    pub may_warn: bool,
}

impl<R: Clone + Into<Measurement>> Observer<R> for Keeper<'_> {
    fn awaits(&mut self, command: &str) {
        if !self.is_quiet {
            self.progress.aside(&format!("listening; on another host:\n  {command}"));
        }
    }

    fn begins(&mut self, step: Step, live: &Arc<Live>) {
        self.progress.begins(step, live);
    }

    fn takes(&mut self, least: Duration, why: &str) {
        if !self.is_quiet {
            let least = print::lasting(least);
            self.progress.aside(&format!("netfathom: this run takes at least {least}: {why}"));
        }
    }

    fn directory(&self) -> Option<&Directory> {
        Some(self.run_dir.directory())
    }

    fn keep(&mut self, so_far: &Progressed<R>) -> io::Result<()> {
        if lab::setup::is_pending() {
            return Err(io::Error::other(
                "--setup: this measurement makes no lab for it to run in; leave it out, or change the host before it",
            ));
        }
        let record = self.header.record(so_far.clone(), State::Partial);
        self.kept += 1;
        let record = self.last.insert(record);
        match self.run_dir.write_record(record) {
            Err(error) if self.kept == 1 => Err(io::Error::other(error)),
            Err(error) if mem::take(&mut self.may_warn) => {
                self.progress.aside(&format!("{error}; that does not end the measurement"));
                Ok(())
            }
            _ => Ok(()),
        }
    }
}
