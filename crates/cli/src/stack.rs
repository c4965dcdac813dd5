//! `netfathom stack`: arguments to plan, plan to run.

use std::process::ExitCode;
use std::time::Duration;

use anyhow::Result;
use netfathom_measure::stack;
use netfathom_model::path::Tap;
use netfathom_model::plan::{Place, StackPlan, TapChoice};

use crate::args::{Directions, StackArgs, TapArg};
use crate::keep::Run;
use crate::{exit, output, plans};

/// What a trial takes besides its profile: sockets, programs, the burst.
const TRIAL_OVERHEAD: Duration = Duration::from_millis(1200);

/// Runs the command.
pub fn run(args: &StackArgs) -> Result<ExitCode> {
    let Some(plan) = output::understood(plan(args)) else { return Ok(exit::USAGE.into()) };
    let run = Run {
        name: "stack",
        seed: plan.seed,
        output: &args.output,
        expected: expected(&plan),
        named_cpus: args.cpu.is_some(),
    };
    run.make(|observer, stop| stack::run(&plan, observer, stop))
}

fn plan(args: &StackArgs) -> Result<StackPlan> {
    let (place, usual) = match (args.to, args.listen) {
        (Some(to), _) => (Place::To(plans::plain(to)), Directions::Tx),
        (None, Some(listen)) => (Place::Listen(listen), Directions::Rx),
        (None, None) => (plans::place(args.lab, args.loopback), Directions::Both),
    };
    let several = args.trials >= 2;
    plans::permit(place, &args.allow, false)?;
    let plan = StackPlan {
        directions: args.directions.unwrap_or(usual).list(),
        place,
        family: plans::family(args.ipv6, place),
        profile: plans::profile(&args.profile)?,
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
        seed: args.seed.unwrap_or_else(plans::fresh_seed),
        workers: args.workers,
        cpus: args.cpu,
        port: args.port,
        reader_polls: args.poll,
        reader_delay_ns: args.reader_delay,
        inserted_delay: args.insert_delay,
        allow: args.allow.iter().map(ToString::to_string).collect(),
    };
    Ok(plan.validated()?)
}

fn expected(plan: &StackPlan) -> Duration {
    let trial = Duration::from_nanos(plan.profile.duration_ns()) + TRIAL_OVERHEAD;
    trial * (plan.trials + plan.controls + plan.witnesses)
}
