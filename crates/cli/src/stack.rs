//! `netfathom stack`: arguments to plan, plan to run.

use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Result, bail};
use netfathom_measure::kind::stack;
use netfathom_model::path::{Direction, Tap};
use netfathom_model::plan::{PcapPlan, Place, StackPlan, TapChoice};

use crate::args::StackArgs;
use crate::keep::Run;
use crate::{exit, invocation, output, plans};

/// Messages that an export holds, unless the user wants another number.
const EXPORTED: u32 = 10_000;
/// What a trial takes besides its profile: sockets, programs, the burst.
const TRIAL_OVERHEAD: Duration = Duration::from_millis(1200);

pub fn run(args: &StackArgs) -> Result<ExitCode> {
    let Some(plan) = output::understood(plan(args)) else { return Ok(exit::USAGE.into()) };
    let run = Run {
        output: &args.output,
        expected: Some(expected(&plan)),
        named_cpus: args.cpu.is_some(),
        capture: args.export.is_some(),
    };
    run.make(|observer, stop| stack::run(&plan, observer, stop))
}

fn plan(args: &StackArgs) -> Result<StackPlan> {
    let (place, usual): (_, &[Direction]) = match (args.to, args.listen) {
        (Some(to), _) => (Place::To(plans::plain(to)), &[Direction::Tx]),
        (None, Some(listen)) => (Place::Listen(listen), &[Direction::Rx]),
        (None, None) => (plans::place(args.lab, args.loopback), &[Direction::Tx, Direction::Rx]),
    };
    let several = args.trials >= 2;
    if args.export.is_some() && matches!(args.tap, TapChoice::Only(Tap::Timestamping | Tap::Pcap)) {
        bail!("--export writes the times of single messages, which only the bpf tap keeps: leave --tap out");
    }
    plans::permit(place, &args.allow, false)?;
    let profile = args.profile.clone().or_else(invocation::profile);
    // A network that others use gets no more than it was asked for.
    let is_within = matches!(place, Place::Lab | Place::Loopback);
    let plan = StackPlan {
        directions: args.directions.unwrap_or(usual).to_vec(),
        place,
        family: plans::family(args.ipv6, place),
        profile: plans::profile(profile.as_deref().unwrap_or(usual_profile(args)))?,
        fits: profile.is_none() && is_within,
        trials: args.trials,
        controls: args.controls.unwrap_or(if several { args.trials.div_ceil(2).max(2) } else { 0 }),
        witnesses: args.witnesses.unwrap_or(witnesses(args)),
        tap: args.tap,
        pcap: PcapPlan { tcpdump: args.tcpdump, keep: args.keep_captures },
        size_bytes: args.size,
        samples: args.samples.unwrap_or(if args.export.is_some() { EXPORTED } else { 0 }),
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

fn usual_profile(args: &StackArgs) -> &'static str {
    if args.quick { "ramp:1k..200k/500ms" } else { "ramp:1k..200k/10s" }
}

/// Of taps that are compared each has half as many trials as the run's own.
fn witnesses(args: &StackArgs) -> u32 {
    let part = match args.tap {
        TapChoice::All => 2,
        _ => 3,
    };
    // Two have hardly an interval.
    if args.trials >= 2 { args.trials.div_ceil(part).max(3) } else { 0 }
}

fn expected(plan: &StackPlan) -> Duration {
    let trial = Duration::from_nanos(plan.profile.duration_ns()) + TRIAL_OVERHEAD;
    let others = if plan.tap == TapChoice::All { 2 } else { 1 };
    // One more tells what the tap adds to its own times.
    trial * (plan.trials + plan.controls + others * plan.witnesses + u32::from(plan.witnesses > 0))
}
