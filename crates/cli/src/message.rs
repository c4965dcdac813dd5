//! `netfathom message`: arguments to plan, plan to run.

use std::process::ExitCode;
use std::time::Duration;

use anyhow::Result;
use netfathom_measure::message;
use netfathom_model::plan::{MessagePlan, MessageTest};

use crate::args::{MessageArgs, MessageCommand};
use crate::keep::Run;
use crate::{exit, output, plans};

/// What a trial takes besides its time: connecting, and closing.
const TRIAL_OVERHEAD: Duration = Duration::from_millis(6);
/// Of the paper's sizes in the short form: every so manieth.
const QUICK_SIZES: usize = 4;

/// Runs the command.
pub fn run(command: &MessageCommand) -> Result<ExitCode> {
    let (test, args) = command.parts();
    let Some(plan) = output::understood(plan(test, args)) else { return Ok(exit::USAGE.into()) };
    let run = Run {
        name: "message",
        seed: plan.seed,
        output: &args.output,
        expected: expected(&plan),
        named_cpus: !args.cpu.is_empty(),
        capture: false,
    };
    run.make(|observer, stop| message::run(&plan, observer, stop))
}

fn plan(test: MessageTest, args: &MessageArgs) -> Result<MessagePlan> {
    let carrier = args.over.carrier();
    let mut plan = MessagePlan {
        carrier,
        layers: args.layers.clone(),
        peers: args.peers,
        placements: args.placement.iter().map(|p| p.placement()).collect(),
        processors: args.cpus.choice(),
        cpus: args.cpu.clone(),
        least_ns: args.least,
        most_ns: args.most,
        rate_per_s: args.rate,
        trials: args.trials,
        seed: args.seed.unwrap_or_else(plans::fresh_seed),
        remedies: !args.no_remedies,
        ..MessagePlan::paper(test, plans::place(args.lab, args.loopback))
    };
    if plan.layers.is_empty() {
        plan.layers = MessagePlan::usual_layers(carrier, plan.place, &plan.placements);
    }
    match args.messages {
        Some(messages) => plan.messages = messages,
        None if args.quick => plan.messages = (plan.messages / 10).max(100),
        None => {}
    }
    if !args.sizes.is_empty() {
        plan.sizes_bytes.clone_from(&args.sizes);
    } else if args.quick {
        plan.sizes_bytes = plan.sizes_bytes.into_iter().step_by(QUICK_SIZES).collect();
    }
    Ok(plan.validated()?)
}

/// About: a trial ends with its messages, whose time nobody knows yet.
fn expected(plan: &MessagePlan) -> Duration {
    let cells = plan.sizes_bytes.len() * plan.layers.len() * plan.placements.len() * 2;
    let trial = Duration::from_nanos(plan.least_ns) + TRIAL_OVERHEAD;
    trial * plan.trials * cells as u32
}
