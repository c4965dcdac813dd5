//! `netfathom reverse`: arguments to plan, plan to run.

use std::process::ExitCode;
use std::time::Duration;

use anyhow::Result;
use netfathom_measure::kind::reverse;
use netfathom_measure::kind::reverse::serve::ServePlan;
use netfathom_model::plan::{Place, ReversePlan, Variant};

use crate::args::{ReverseArgs, ReverseCommand, ReverseServeArgs};
use crate::keep::Run;
use crate::progress::Expected;
use crate::{counterpart, output, plans};

const TRIAL_OVERHEAD: Duration = Duration::from_millis(800);

pub fn run(args: &ReverseArgs) -> Result<ExitCode> {
    match &args.command {
        Some(ReverseCommand::Serve(args)) => serve(args),
        None => measure(args),
    }
}

fn measure(args: &ReverseArgs) -> Result<ExitCode> {
    let plan = output::understood(plan(args))?;
    let trials = plan.trials * plan.variants.len() as u32;
    let run = Run {
        named_cpus: args.cpu.is_some(),
        ..Run::new(
            &args.output,
            Expected::About((Duration::from_nanos(plan.duration_ns) + TRIAL_OVERHEAD) * trials),
        )
    };
    run.make(|observer, stop| reverse::run(&plan, observer, stop))
}

fn serve(args: &ReverseServeArgs) -> Result<ExitCode> {
    let ReverseServeArgs { listen, cpu, allow, max_rate, max_time, hosts } = args.clone();
    let plan = ServePlan { listen, cpu, allow, most_per_s: max_rate, most_ns: max_time, most_hosts: hosts };
    counterpart::serve("reverse", hosts, |tell, stop| Ok(reverse::serve::serve(&plan, tell, stop)?))
}

fn plan(args: &ReverseArgs) -> Result<ReversePlan> {
    let (to, allow) = plans::hosts(&args.to, &args.allow)?;
    let place = args.to.first().map_or(Place::Lab, |&to| Place::To(to));
    let many = args.to.len() > 1;
    let usual = || Variant::ALL.into_iter().filter(|&variant| !many || variant != Variant::Echo).collect();
    let plan = ReversePlan {
        family: plans::family(args.ipv6, place),
        variants: if args.variant.is_empty() { usual() } else { args.variant.clone() },
        trials: args.trials,
        duration_ns: args.time,
        inbound_from_per_s: args.inbound.0,
        inbound_peak_per_s: args.inbound.1,
        size_bytes: args.size,
        tapped: !args.no_tap,
        cpus: args.cpu,
        to,
        allow,
    };
    Ok(plan.validated()?)
}
