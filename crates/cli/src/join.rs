//! `netfathom join`: files to plan, plan to run.

use std::fs;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::Result;
use netfathom_measure::kind::join;
use netfathom_model::plan::JoinPlan;

use crate::args::JoinArgs;
use crate::keep::Run;
use crate::output;
use crate::progress::Expected;

/// Bytes of captures and logs that are read in a second, roughly.
const BYTES_PER_S: u64 = 500_000_000;

pub fn run(args: &JoinArgs) -> Result<ExitCode> {
    let plan = output::understood(plan(args))?;
    Run::new(&args.output, Expected::About(expected(&plan)))
        .make(|observer, stop| join::run(&plan, observer, stop))
}

fn plan(args: &JoinArgs) -> Result<JoinPlan> {
    let (captures, logs) = join::sort(&args.files)?;
    let plan = JoinPlan {
        captures,
        logs,
        numbering: args.number,
        port: args.port,
        clock: args.clock,
        window: args.window,
    };
    Ok(plan.validated()?)
}

fn expected(plan: &JoinPlan) -> Duration {
    let bytes = |name: &String| fs::metadata(name).map_or(0, |m| m.len());
    let all: u64 = plan.captures.iter().chain(&plan.logs).map(bytes).sum();
    Duration::from_secs(1 + all / BYTES_PER_S)
}
