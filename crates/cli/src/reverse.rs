//! `netfathom reverse`: arguments to plan, plan to run.

use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context, Result};
use netfathom_measure::kind::reverse;
use netfathom_measure::kind::reverse::serve::{ServeEvent, ServePlan};
use netfathom_model::plan::{Place, ReversePlan, Variant};
use netfathom_model::print::counted;

use crate::args::{ReverseArgs, ReverseCommand, ReverseServeArgs};
use crate::keep::Run;
use crate::progress::Expected;
use crate::sink_events::reachable;
use crate::{exit, output, plans, stop};

const TRIAL_OVERHEAD: Duration = Duration::from_millis(800);

pub fn run(args: &ReverseArgs) -> Result<ExitCode> {
    match &args.command {
        Some(ReverseCommand::Serve(args)) => serve(args),
        None => measure(args),
    }
}

fn measure(args: &ReverseArgs) -> Result<ExitCode> {
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

fn serve(args: &ReverseServeArgs) -> Result<ExitCode> {
    let stop = stop::on_signals().context("cannot listen for signals")?;
    let ReverseServeArgs { listen, cpu, allow, max_rate, max_time, hosts } = args.clone();
    let mut lost = false;
    let mut tell = |event| {
        lost |= matches!(event, ServeEvent::Lost { .. });
        // A reader that has gone is no reason to stop serving.
        let _ = output::print(&line(&event));
    };
    let plan = ServePlan { listen, cpu, allow, most_per_s: max_rate, most_ns: max_time, most_hosts: hosts };
    reverse::serve::serve(&plan, &mut tell, &stop)?;
    // A host that was lost fails a counterpart that was to serve a number of them.
    Ok(if lost && hosts.is_some() { exit::FAILED.into() } else { ExitCode::SUCCESS })
}

fn line(event: &ServeEvent) -> String {
    match event {
        ServeEvent::Listening { at, cpu } => format!(
            "listening on {at}, TCP and UDP, CPU {cpu}; on another host: netfathom reverse --to {}; Ctrl-C ends",
            reachable(*at)
        ),
        ServeEvent::Begins { peer } => format!("{peer}: begins"),
        ServeEvent::Ended { peer, trials } => format!("{peer}: ended after {}", counted(*trials, "trial")),
        ServeEvent::Lost { peer, trials, why } => {
            format!("{peer}: after {}: {why}", counted(*trials, "trial"))
        }
    }
}

fn plan(args: &ReverseArgs) -> Result<ReversePlan> {
    for &to in &args.to {
        plans::permit(Place::To(to), &args.allow, false)?;
    }
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
        to: (!args.to.is_empty()).then(|| args.to.clone()),
        allow: (!args.allow.is_empty()).then(|| args.allow.iter().map(ToString::to_string).collect()),
    };
    Ok(plan.validated()?)
}
