//! `netfathom watch`: arguments to plan, plan to run.

use std::process::ExitCode;
use std::time::Duration;

use anyhow::Result;
use netfathom_measure::kind::watch;
use netfathom_model::path::Direction;
use netfathom_model::plan::{PlanError, WatchPlan, WatchTarget};

use crate::args::WatchArgs;
use crate::keep::Run;
use crate::progress::Expected;
use crate::{exit, output};

pub fn run(args: &WatchArgs) -> Result<ExitCode> {
    let Some(plan) = output::understood(plan(args).map_err(Into::into)) else {
        return Ok(exit::USAGE.into());
    };
    let expected = plan.time_ns.map_or(Expected::Endless, |ns| Expected::About(Duration::from_nanos(ns)));
    let run = Run { output: &args.output, expected, named_cpus: false, capture: false };
    run.make(|observer, stop| watch::run(&plan, observer, stop))
}

fn plan(args: &WatchArgs) -> Result<WatchPlan, PlanError> {
    // One of the two is there.
    let target = args.port.map_or(WatchTarget::Process(args.pid.unwrap_or_default()), WatchTarget::Port);
    let directions = args.directions.unwrap_or(&[Direction::Rx]).to_vec();
    WatchPlan { target, directions, time_ns: args.time }.validated()
}
