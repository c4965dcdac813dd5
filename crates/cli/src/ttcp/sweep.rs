//! `netfathom ttcp sweep`: arguments to plan, plan to run.

use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Result, bail};
use netfathom_measure::kind::sweep;
use netfathom_model::plan::{Place, SweepEnds, SweepPlan, Wire};

use crate::args::SweepArgs;
use crate::keep::Run;
use crate::progress::Expected;
use crate::{output, plans};

/// What a trial takes besides its time: connecting, and waiting until the receiver has all.
const TRIAL_OVERHEAD: Duration = Duration::from_millis(60);
/// Round trips of a trial that go by before its first byte and after its last.
const ROUND_TRIPS: u32 = 3;

pub fn run(args: &SweepArgs) -> Result<ExitCode> {
    let plan = output::understood(plan(args))?;
    Run::new(&args.output, Expected::About(expected(&plan)))
        .make(|observer, stop| sweep::run(&plan, observer, stop))
}

fn plan(args: &SweepArgs) -> Result<SweepPlan> {
    let plan = SweepPlan {
        ends: ends(args)?,
        socket_buffers_bytes: args.sndbuf.iter().map(|buffer| buffer.0).collect(),
        receive_buffer_bytes: args.rcvbuf,
        writes_bytes: args.write.clone(),
        no_delay: args.no_delay.to_vec(),
        time_ns: args.time,
        trials: args.trials,
        seed: args.seed.unwrap_or_else(plans::fresh_seed),
    };
    Ok(plan.validated()?)
}

fn ends(args: &SweepArgs) -> Result<SweepEnds> {
    if let Some(name) = &args.host {
        return Ok(SweepEnds::Host { name: name.clone(), port: args.port });
    }
    let wired = args.delay.is_some() || args.rate.is_some() || args.loss.is_some();
    let wire = wired.then(|| Wire {
        delay_ns: args.delay.unwrap_or(0),
        loss_per_million: args.loss.unwrap_or(0),
        rate_bits_per_s: args.rate,
        queue_bytes: args.queue,
    });
    match args.here {
        Some(Place::Loopback) if wired => bail!(
            "--here loopback has no --delay, --rate or --loss: leave them out, or take --here lab, which has them and \
             needs root"
        ),
        Some(Place::Loopback) => Ok(SweepEnds::Loopback),
        None if !wired && !plans::is_root() => Ok(SweepEnds::Loopback),
        _ => Ok(SweepEnds::Lab { wire }),
    }
}

fn expected(plan: &SweepPlan) -> Duration {
    let round_trip = match &plan.ends {
        SweepEnds::Lab { wire: Some(wire) } => Duration::from_nanos(2 * wire.delay_ns),
        _ => Duration::ZERO,
    };
    let trial = Duration::from_nanos(plan.time_ns) + TRIAL_OVERHEAD + ROUND_TRIPS * round_trip;
    trial * plan.order().len() as u32
}
