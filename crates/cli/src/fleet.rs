//! `netfathom agent` and `netfathom fleet`: arguments to plan, plan to run.

mod list;
mod manifest;
mod up;

use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use netfathom_fleet::access::Access;
use netfathom_fleet::agent::{self, AgentEvent, AgentPlan, Limits};
use netfathom_fleet::controller;
use netfathom_model::plan::{FleetPlan, FleetTest, MOST_HOSTS, PlanError, as_name};
use netfathom_model::record::{FleetResult, Measured, State};
use netfathom_results::{store, story};

use crate::args::{
    AccessArgs, AgentArgs, AloneArgs, FleetCommand, FleetLoadArgs, HostsArgs, ListsArgs, MeshArgs,
    OutputArgs, ResumeArgs, WhoArgs,
};
use crate::keep::Run;
use crate::progress::Expected;
use crate::{exit, output, plans, stop};

const SERVER: &str = "nats://127.0.0.1:4222";
/// Beside the time of a load: orders, lead and reports.
const AROUND_ROUND: Duration = Duration::from_millis(800);

pub fn run(command: &FleetCommand) -> Result<ExitCode> {
    match command {
        FleetCommand::Hosts(args) => hosts(args),
        FleetCommand::Mesh(args) => mesh(args),
        FleetCommand::Load(args) => load(args),
        FleetCommand::Stack(args) => alone(FleetTest::Stack, args),
        FleetCommand::Capacity(args) => alone(FleetTest::Capacity, args),
        FleetCommand::Resume(args) => resume(args),
        FleetCommand::Up(args) => up::up(args),
        FleetCommand::Down(args) => up::down(args),
        FleetCommand::Manifest(args) => manifest::print(args),
    }
}

/// As it was typed, or as `fleet up` has left it.
fn access(args: &AccessArgs) -> Result<Access> {
    if args.nats.is_none()
        && let Some(state) = up::State::read(&args.fleet)?
    {
        return Ok(state.access());
    }
    Ok(typed(args))
}

fn typed(args: &AccessArgs) -> Access {
    Access {
        url: args.nats.clone().unwrap_or_else(|| SERVER.into()),
        ca: args.nats_ca.clone(),
        key: args.nats_key.clone(),
        plaintext: args.plaintext,
        fleet: args.fleet.clone(),
    }
}

/// The names of a file, of `fleet up`, or none: then all that answer take part.
fn expected(who: &WhoArgs) -> Result<Vec<String>> {
    if let Some(path) = &who.hosts {
        return list::read(path);
    }
    let state = if who.access.nats.is_none() { up::State::read(&who.access.fleet)? } else { None };
    Ok(state.map_or_else(Vec::new, |state| state.hosts))
}

pub fn agent(args: &AgentArgs) -> Result<ExitCode> {
    let host = || std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    let name = args.name.clone().unwrap_or_else(|| as_name(host().trim()));
    if name.is_empty() {
        return output::misused("this host has no name of its own: name it with --name");
    }
    let stop = stop::on_signals().context("cannot listen for signals")?;
    let plan = AgentPlan {
        access: typed(&args.access),
        name,
        labels: args.label.iter().cloned().collect(),
        address: args.address,
        limits: Limits {
            allow: args.allow.clone(),
            most_time_ns: args.max_time,
            most_rate_per_s: args.max_rate,
            most_bits_per_s: args.max_bits,
            takes: args.take.clone(),
        },
        most_ns: args.time,
    };
    let server = plan.access.shown();
    let mut tell = |event: AgentEvent| {
        let line = match event {
            AgentEvent::Joined { name, address } => {
                format!("{name} takes part at {server}, as {address}; Ctrl-C ends")
            }
            AgentEvent::Took { task } => task,
            AgentEvent::Disconnected => format!("lost the connection to {server}: connecting again"),
            AgentEvent::Reconnected => format!("connected to {server} again"),
            AgentEvent::Refused { why } => format!("refused: {why}"),
            AgentEvent::Abandoned { tasks } => format!("the controller is gone: ended {tasks} tasks"),
        };
        if !args.quiet {
            let _ = output::print(&line);
        }
    };
    agent::run(&plan, &stop, &mut tell)?;
    Ok(ExitCode::SUCCESS)
}

fn hosts(args: &HostsArgs) -> Result<ExitCode> {
    let (hosts, left_out) = controller::hosts(&access(&args.who.access)?, &expected(&args.who)?)?;
    if args.json {
        output::print(&serde_json::to_string(&hosts)?)?;
    } else {
        output::page(&story::fleet::page_of(&hosts), true)?;
    }
    if left_out > 0 {
        output::aside(&format!(
            "{left_out} more answers are left out: name the hosts that are meant with --hosts FILE"
        ));
    }
    let whole = left_out == 0 && hosts.iter().all(|host| host.missing.is_none());
    Ok(if whole { ExitCode::SUCCESS } else { exit::PARTIAL.into() })
}

fn plan(test: FleetTest, who: &WhoArgs, time_ns: u64) -> Result<FleetPlan> {
    Ok(FleetPlan {
        fleet: who.access.fleet.clone(),
        test,
        hosts: expected(who)?,
        time_ns,
        streams: 1,
        rates_per_s: vec![1000.0],
        size_bytes: 64,
        seed: plans::fresh_seed(),
        ..FleetPlan::default()
    })
}

fn mesh(args: &MeshArgs) -> Result<ExitCode> {
    let plan = plan(args.test, &args.who, args.time).and_then(|plan| {
        let plan = FleetPlan {
            streams: args.streams,
            rates_per_s: vec![args.rate],
            size_bytes: args.size,
            peers: args.peers,
            parallel: args.parallel,
            explain: !args.no_explain,
            seed: args.seed.unwrap_or(plan.seed),
            ..plan
        };
        Ok(plan.validated()?)
    });
    measure(plan, None, &args.who.access, &args.output, Some(&args.lists))
}

fn load(args: &FleetLoadArgs) -> Result<ExitCode> {
    let plan = plan(FleetTest::Load, &args.who, args.time).and_then(|plan| {
        let (rates_per_s, to) = (args.rate.clone(), Some(args.to.clone()));
        let streams = args.instances;
        Ok(FleetPlan { rates_per_s, to, streams, size_bytes: args.size, ..plan }.validated()?)
    });
    measure(plan, None, &args.who.access, &args.output, None)
}

fn alone(test: FleetTest, args: &AloneArgs) -> Result<ExitCode> {
    let plan = plan(test, &args.who, args.time).and_then(|plan| {
        let (rates_per_s, parallel) = (vec![args.rate], args.parallel);
        Ok(FleetPlan { rates_per_s, parallel, size_bytes: args.size, ..plan }.validated()?)
    });
    measure(plan, None, &args.who.access, &args.output, None)
}

/// A new run, of what an earlier one has and of what that lacks.
fn resume(args: &ResumeArgs) -> Result<ExitCode> {
    let path = store::resolve(&args.output.out, &args.run)?;
    let (record, shown) = (store::read(&path)?, path.display());
    let Some(known) = FleetResult::of(&record.measurement) else {
        bail!("{shown} is no run over a fleet: repeat the command that it was made by");
    };
    if record.state == State::Complete && !known.is_partial() {
        bail!("nothing is missing in {shown}: netfathom report shows it");
    }
    let plan = match known.plan.clone().validated() {
        Ok(plan) if plan.fleet != args.access.fleet => {
            Err(PlanError(format!("{shown} is of another fleet: add --fleet {}", plan.fleet)))
        }
        plan => plan,
    };
    if known.hosts.len() as u64 > MOST_HOSTS {
        bail!("{shown} has more than {MOST_HOSTS} hosts: it is damaged");
    }
    let known = FleetResult { resumed_from: Some(record.id.clone()), ..known.clone() };
    measure(plan.map_err(Into::into), Some(&known), &args.access, &args.output, Some(&args.lists))
}

fn measure(
    plan: Result<FleetPlan>,
    known: Option<&FleetResult>,
    access_args: &AccessArgs,
    output: &OutputArgs,
    lists: Option<&ListsArgs>,
) -> Result<ExitCode> {
    let plan = match plan {
        Err(error) if error.is::<PlanError>() => output::understood(Err(error))?,
        plan => plan?,
    };
    let access = access(access_args)?;
    let time = time_of(&plan);
    let expected = if known.is_some() { Expected::AtMost(time) } else { Expected::About(time) };
    let run = Run::new(output, expected);
    let mut result: Option<FleetResult> = None;
    let status = run.make(|observer, stop| {
        let progressed = controller::run(&plan, known, &access, observer, stop)?;
        result = Some(progressed.result.clone());
        Ok(progressed)
    })?;
    if let (Some(lists), Some(result)) = (lists, &result) {
        list::write(lists, result)?;
    }
    Ok(status)
}

/// As far as it is known before anybody has answered.
fn time_of(plan: &FleetPlan) -> Duration {
    let hosts = plan.hosts.len().max(4) as u32;
    let rounds = match plan.test {
        FleetTest::Throughput => 2 * plan.peers.unwrap_or(hosts - 1),
        FleetTest::Latency | FleetTest::Loss => plan.peers.unwrap_or(hosts - 1),
        FleetTest::Load => plan.rates_per_s.len() as u32,
        FleetTest::Stack => 12,
        FleetTest::Capacity => 20,
    };
    (Duration::from_nanos(plan.time_ns) + AROUND_ROUND) * rounds
}
