//! `netfathom watch`: arguments to plan, plan to run.

use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result};
use netfathom_measure::kind::watch;
use netfathom_model::path::Direction;
use netfathom_model::plan::{PlanError, WatchPlan, WatchTarget};
use netfathom_results::story;

use crate::args::{First, OutputArgs, WatchArgs};
use crate::keep::Run;
use crate::progress::Expected;
use crate::{output, stop};

mod counts;
mod exporter;
mod lines;
pub mod live;
mod second;
mod shown;

use counts::Counts;
use exporter::Exporter;
use live::Live;
use second::Seconds;
use shown::{Medium, Shown};

const RX: &[Direction] = &[Direction::Rx];

pub fn run(args: &WatchArgs) -> Result<ExitCode> {
    let shows = is_live(args);
    let plan = output::understood(plan(args, shows))?;
    let expected = plan.time_ns.map_or(Expected::Endless, |ns| Expected::About(Duration::from_nanos(ns)));
    let output = OutputArgs { quiet: args.output.quiet || args.json_lines, ..args.output.clone() };
    let run = Run::new(&output, expected);
    let asked = stop::on_request().context("cannot listen for signals")?;
    let exporter = args.serve.map(Exporter::start).transpose()?;
    run.make(|keeper, stop| {
        let medium = match shows {
            true => Medium::Terminal(Live::start(&plan, stop)?),
            false if args.json_lines => Medium::Lines(Counts::default()),
            false => Medium::Progress,
        };
        let served = exporter.iter().map(|at| format!("{} has what is seen, for Prometheus", at.url()));
        let watching = || format!("watching {}", story::watch::sockets(&plan.target));
        let watching = (!args.output.quiet).then(watching);
        // Lines would be drawn over the view.
        keeper.may_warn &= !shows;
        let begun = if shows { Vec::new() } else { served.chain(watching).collect() };
        let mut shown = Shown {
            keeper,
            medium,
            begun,
            has_begun: false,
            shows_cost: !shows && !args.output.quiet,
            exporter,
            seconds: Seconds::default(),
            stop: Arc::clone(stop),
            asked,
            failed: None,
        };
        watch::run(&plan, &mut shown, stop)
    })
}

/// A terminal shows the run while it goes on, unless its output is for another program.
fn is_live(args: &WatchArgs) -> bool {
    let output = &args.output;
    !(output.quiet || output.json || args.json_lines) && live::is_possible()
}

fn plan(args: &WatchArgs, shows: bool) -> Result<WatchPlan, PlanError> {
    let (directions, name) = match &args.first {
        Some(First::Direction(directions)) => (*directions, args.name.clone()),
        Some(First::Name(name)) if args.name.is_none() => (RX, Some(name.clone())),
        Some(First::Name(name)) => {
            return Err(PlanError(format!("{name}: no direction; choose rx, tx or both")));
        }
        None => (RX, None),
    };
    let targets = [
        name.map(WatchTarget::Name),
        args.pid.map(WatchTarget::Process),
        args.port.map(WatchTarget::Port),
        args.cgroup.clone().map(WatchTarget::Cgroup),
        args.container.clone().map(WatchTarget::Container),
        args.flow.map(|(local, peer)| WatchTarget::Flow { local, peer }),
        args.all.then_some(WatchTarget::All),
    ];
    let mut targets = targets.into_iter().flatten();
    let (Some(target), None) = (targets.next(), targets.next()) else {
        return Err(PlanError(
            "name one target: NAME, --pid, --port, --cgroup, --container, --flow or --all; `ps -eo pid,comm` lists processes, `ss -tulpn` those that listen".into(),
        ));
    };
    // Of the whole host, the live view begins with processes.
    let by_socket = args.sockets || args.json_lines || shows && !args.all;
    let awaits = args.serve.is_some() && target.is_group();
    let plan = WatchPlan {
        target,
        directions: directions.to_vec(),
        time_ns: args.time,
        by_socket,
        slow: args.slow,
        stop_after: args.stop_after,
        budget: args.budget,
        unix: args.unix.then_some(true),
        awaits: awaits.then_some(true),
    };
    plan.validated()
}
