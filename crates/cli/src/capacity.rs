//! `netfathom capacity`: arguments to plan, plan to run.

use std::process::ExitCode;
use std::time::Duration;

use anyhow::Result;
use netfathom_measure::kind::capacity;
use netfathom_model::engine::Engine;
use netfathom_model::plan::{CapacityPlan, Place, Transport};

use crate::args::CapacityArgs;
use crate::keep::Run;
use crate::progress::Expected;
use crate::{output, plans};

/// Rates that a search tries, about.
const PROBES: u32 = 16;
const PROBE_OVERHEAD: Duration = Duration::from_millis(150);

pub fn run(args: &CapacityArgs) -> Result<ExitCode> {
    let plan = output::understood(plan(args))?;
    let run =
        Run { named_cpus: !args.cpu.is_empty(), ..Run::new(&args.output, Expected::About(expected(&plan))) };
    run.make(|observer, stop| capacity::run(&plan, observer, stop))
}

pub fn plan(args: &CapacityArgs) -> Result<CapacityPlan> {
    let place = args.to.map_or_else(|| plans::place(args.lab, args.loopback), Place::To);
    // lo is no wire that frames could be put on.
    let here = |e: &Engine| place != Place::Loopback || e.passes_stack();
    let engines = match &args.engine[..] {
        named @ [_, ..] => named.to_vec(),
        _ if args.quick || args.transport == Transport::Tcp => vec![Engine::Send],
        _ => Engine::LADDER.into_iter().filter(here).collect(),
    };
    plans::permit(place, &args.allow, false)?;
    let plan = CapacityPlan {
        place,
        family: plans::family(args.ipv6, place),
        transport: args.transport,
        engines,
        workers: args.workers.clone(),
        hold_ns: args.hold,
        trials: args.trials,
        size_bytes: args.size,
        cpus: args.cpu.clone(),
        allow: args.allow.iter().map(ToString::to_string).collect(),
    };
    Ok(plan.validated()?)
}

fn expected(plan: &CapacityPlan) -> Duration {
    let rows = (plan.engines.len() * plan.workers.len()) as u32;
    (Duration::from_nanos(plan.hold_ns) + PROBE_OVERHEAD) * PROBES * (plan.trials + 1) * rows
}
