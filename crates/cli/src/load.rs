//! `netfathom load`: the generator and its counterpart alone.

use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context, Result};
use netfathom_measure::kind::load;
use netfathom_measure::kind::load::sink::{self, SinkEvent, SinkPlan};
use netfathom_measure::load::instance;
use netfathom_model::engine::Receive;
use netfathom_model::plan::{EngineChoice, LoadPlan, Place, ReceiveChoice};

use crate::args::{LoadCommand, SendArgs, SinkArgs};
use crate::keep::Run;
use crate::progress::Expected;
use crate::{exit, output, plans, sink_events, stop};

const TRIAL_OVERHEAD: Duration = Duration::from_millis(400);
/// What it takes to find out which engine.
const LADDER: Duration = Duration::from_secs(4);
/// An idle trial, before each loaded one where answers are timed.
const IDLE: Duration = Duration::from_secs(2);

pub fn run(command: &LoadCommand) -> Result<ExitCode> {
    match command {
        LoadCommand::Send(args) => send(args),
        LoadCommand::Sink(args) => sink(args),
        LoadCommand::Instance { size } => {
            instance::serve(*size, &*stop::on_signals()?)?;
            Ok(ExitCode::SUCCESS)
        }
    }
}

fn send(args: &SendArgs) -> Result<ExitCode> {
    let plan = output::understood(plan(args))?;
    let run =
        Run { named_cpus: !args.cpu.is_empty(), ..Run::new(&args.output, Expected::About(expected(&plan))) };
    run.make(|observer, stop| load::run(&plan, observer, stop))
}

fn plan(args: &SendArgs) -> Result<LoadPlan> {
    let place = args.to.map_or_else(|| plans::place(args.lab, args.loopback), Place::To);
    plans::permit(place, &args.allow, args.one_way)?;
    let plan = LoadPlan {
        place,
        family: plans::family(args.ipv6, place),
        profile: plans::profile(&args.profile)?,
        trials: args.trials,
        engine: args.engine,
        receive: args.receive,
        workers: args.workers,
        size_bytes: args.size,
        seed: args.seed.unwrap_or_else(plans::fresh_seed),
        cpus: args.cpu.clone(),
        port: args.port,
        spin: args.spin,
        echo: args.echo,
        one_way: args.one_way,
        log: args.log.clone(),
        allow: args.allow.iter().map(ToString::to_string).collect(),
    };
    Ok(plan.validated()?)
}

fn expected(plan: &LoadPlan) -> Duration {
    let idle = if plan.echo { IDLE + TRIAL_OVERHEAD } else { Duration::ZERO };
    let trial = Duration::from_nanos(plan.profile.duration_ns()) + TRIAL_OVERHEAD + idle;
    trial * plan.trials + if plan.engine == EngineChoice::Auto { LADDER } else { Duration::ZERO }
}

fn sink(args: &SinkArgs) -> Result<ExitCode> {
    if args.log.is_some() && args.receive == ReceiveChoice::Only(Receive::Xdp) {
        return output::misused(
            "--log writes down what comes to this program, and with --receive xdp the driver keeps the messages: \
             choose another --receive",
        );
    }
    let stop = stop::on_signals().context("cannot listen for signals")?;
    let receive = match args.receive {
        ReceiveChoice::Only(receive) => receive,
        ReceiveChoice::Auto => Receive::Recvmmsg,
    };
    let plan = SinkPlan {
        listen: args.listen,
        receive,
        allow: args.allow.clone(),
        most_ns: args.max_time,
        most_echo_per_s: f64::INFINITY,
        most_senders: args.senders,
        most_loads: args.loads,
        log: args.log.clone(),
    };
    let mut lost = false;
    let mut tell = |event| {
        lost |= matches!(event, SinkEvent::Lost { .. });
        sink_events::tell(&event, args.json);
    };
    sink::serve(&plan, &mut tell, &stop)?;
    // A load that did not come through fails a sink that was to serve a number of them.
    Ok(if lost && args.loads.is_some() { exit::FAILED.into() } else { ExitCode::SUCCESS })
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Line {
        #[command(subcommand)]
        command: LoadCommand,
    }

    #[test]
    fn an_echo_has_a_lower_rate_unless_one_is_named() {
        let rate = |line: &str| match Line::parse_from(line.split(' ')).command {
            LoadCommand::Send(args) => plan(&args).unwrap().profile.peak_per_s(),
            other => panic!("{other:?}"),
        };
        assert_eq!(rate("load send --loopback"), 50e3);
        assert_eq!(rate("load send --loopback --echo"), 5e3);
        assert_eq!(rate("load send --loopback --echo --profile constant:20k/1s"), 20e3);
    }
}
