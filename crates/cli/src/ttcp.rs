//! `netfathom ttcp`: arguments to plan, plan to transfer, and what became of it.

use std::io;
use std::os::fd::AsFd;
use std::process::ExitCode;
use std::sync::{Arc, OnceLock};
use std::time::SystemTime;

use anyhow::{Context, Result, anyhow};
use netfathom_measure::ground::observer::Progressed;
use netfathom_measure::kind::transfer::{self, Around, Live, Standard, TransferEvent};
use netfathom_model::plan::{Role, TransferPlan};
use netfathom_model::record::{Measured, Record, State, TransferEnd, TransferResult};
use netfathom_results::store::{self, RunDir};
use netfathom_results::story;

use crate::args::{TtcpArgs, TtcpCommand};
use crate::keep::{RecordHeader, save};
use crate::{exit, output, stop};

mod classic;
mod progress;
mod sweep;

use classic::Classic;

pub fn run(args: &TtcpArgs) -> Result<ExitCode> {
    if let Some(TtcpCommand::Sweep(args)) = &args.command {
        return sweep::run(args);
    }
    let plan = output::understood(plan(args))?;
    let stop = stop::on_signals().context("cannot listen for signals")?;
    let started = SystemTime::now();
    let header = RecordHeader { id: store::new_id(started, "ttcp")?, started };
    // Before anything goes: it would be a pity to learn of it afterwards.
    let run_dir = args.out.as_ref().map(|out| RunDir::create(out, &header.id)).transpose()?;
    let speaks = !args.json && !args.quiet;
    // What limits it is the answer then, and the classic's lines are for -v.
    let explains = speaks && args.explain;
    let is_classic = speaks && (!args.explain || args.verbose);
    let classic = Classic { plan: &plan, format: args.format, verbose: args.verbose };
    if is_classic {
        classic.header();
    }
    let live = Arc::new(Live::default());
    let progress = OnceLock::new();
    let tell = |event: TransferEvent| {
        if !speaks {
            return;
        }
        let begins = matches!(event, TransferEvent::Connect(_) | TransferEvent::Accept(_))
            || (plan.serve.is_some() && matches!(event, TransferEvent::Listening(_)));
        if is_classic || matches!(event, TransferEvent::Interval(_) | TransferEvent::TurnedAway { .. }) {
            classic.event(event);
        }
        if begins {
            progress.get_or_init(|| progress::start(&live, plan.serve.is_some()));
        }
    };
    let (input, output) = (io::stdin(), io::stdout());
    let standard = Standard { input: input.as_fd(), output: output.as_fd() };
    let outcome = transfer::run(&plan, Around { standard, live: &live, stop: &stop, tell: &tell });
    drop(progress);
    let progressed = outcome.inspect_err(|_| run_dir.iter().for_each(RunDir::discard))?;
    if is_classic {
        classic.figures(&progressed);
    }
    let status = finish(args, &header, run_dir.as_ref(), explains, progressed)?;
    if let Some(dir) = run_dir.filter(|_| speaks) {
        classic.report(&dir.path().join(store::REPORT_FILE));
    }
    Ok(status)
}

fn plan(args: &TtcpArgs) -> Result<TransferPlan> {
    if !args.transmit && !args.receive {
        return Err(anyhow!(
            "which end is this? ttcp -t HOST (--transmit) sends, ttcp -r (--receive) receives; for iperf3 -s: ttcp -rs \
             --serve"
        ));
    }
    let plan = args.plan().validated()?;
    if args.json && plan.role == Role::Receive && !plan.generated {
        return Err(anyhow!(
            "--json: standard output is where the data goes: add -s to throw it away, or keep the record with --out DIR"
        ));
    }
    Ok(plan)
}

fn finish(
    args: &TtcpArgs,
    header: &RecordHeader,
    run_dir: Option<&RunDir>,
    explains: bool,
    progressed: Progressed<TransferResult>,
) -> Result<ExitCode> {
    let interrupted = progressed.result.end == TransferEnd::Interrupted;
    let state = if interrupted { State::Interrupted } else { State::Complete };
    let record = header.record(progressed, state);
    if explains {
        output::page_aside(&story::of(&record));
    }
    let failure = failure(&record);
    if let Some(why) = &failure {
        output::complain(&anyhow!("{why}"));
    }
    let saved = run_dir.map_or(Ok(()), |dir| save(dir, &record));
    if args.json {
        output::print(&serde_json::to_string(&store::Written::of(&record))?)?;
    }
    saved?;
    Ok(if failure.is_some() { exit::FAILED.into() } else { ExitCode::SUCCESS })
}

/// Why the transfer is not what it was to be, with how much of it went.
fn failure(record: &Record) -> Option<String> {
    let result = TransferResult::of(&record.measurement)?;
    let what = match result.plan.role {
        Role::Transmit => "sent",
        Role::Receive => "received",
    };
    let calls: u64 = result.streams.iter().map(|s| s.calls).sum();
    let went = format!(
        "{what} {} bytes in {calls} calls and {:.3} s, not the whole",
        result.bytes(),
        result.duration_ns() as f64 / 1e9
    );
    match &result.end {
        TransferEnd::Interrupted => Some(format!("ended by a signal: {went}")),
        TransferEnd::Broken { why } => Some(format!("{went}: {why}")),
        TransferEnd::CutOff { .. } => Some(format!("{went}: {}", record.verdict.deciding()?.text)),
        TransferEnd::Idle if !result.plan.generated => Some(format!(
            "received {} bytes, but no mark of the end: it was lost, or the sender was ended; what is there may not be \
             the whole",
            result.bytes()
        )),
        _ => None,
    }
}
