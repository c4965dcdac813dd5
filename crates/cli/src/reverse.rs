//! `netfathom reverse`: arguments to plan, plan to run.

use std::process::ExitCode;
use std::time::Duration;

use anyhow::Result;
use netfathom_measure::kind::reverse;
use netfathom_model::plan::{Family, ReversePlan, Variant};

use crate::args::ReverseArgs;
use crate::keep::Run;
use crate::progress::Expected;
use crate::{exit, output};

const TRIAL_OVERHEAD: Duration = Duration::from_millis(800);

pub fn run(args: &ReverseArgs) -> Result<ExitCode> {
    let Some(plan) = output::understood(plan(args)) else { return Ok(exit::USAGE.into()) };
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

fn plan(args: &ReverseArgs) -> Result<ReversePlan> {
    let plan = ReversePlan {
        family: if args.ipv6 { Family::Ipv6 } else { Family::Ipv4 },
        variants: if args.variant.is_empty() { Variant::ALL.to_vec() } else { args.variant.clone() },
        trials: args.trials,
        duration_ns: args.time,
        inbound_from_per_s: args.inbound.0,
        inbound_peak_per_s: args.inbound.1,
        size_bytes: args.size,
        tapped: !args.no_tap,
        cpus: args.cpu,
    };
    Ok(plan.validated()?)
}
