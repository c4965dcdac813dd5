//! `netfathom message`: arguments to plan, plan to run.

use std::process::ExitCode;
use std::time::Duration;

use anyhow::Result;
use netfathom_measure::kind::message;
use netfathom_measure::kind::message::serve::ServePlan;
use netfathom_model::plan::{MessagePlan, MessageTest, Place, Until, Wire};

use crate::args::{MessageArgs, MessageCommand, ServeArgs};
use crate::keep::Run;
use crate::progress::Expected;
use crate::{counterpart, output, plans};

/// What a trial takes besides its time: connecting, and closing.
const TRIAL_OVERHEAD: Duration = Duration::from_millis(6);
/// Of the paper's sizes in the short form: every so manieth.
const QUICK_SIZES: usize = 4;

/// How long a trial of the short form takes at most.
const QUICK_MOST_NS: u64 = 500_000_000;
/// How long one takes at least that is one of many: what differs from trial to trial decides how wide an interval is.
const SHORT_LEAST_NS: u64 = 30_000_000;
/// Enough messages for a 99th percentile that is not one of the longest few.
const FOR_TAIL: u64 = 1000;
/// What a trial with a rate may take, as a multiple of the time in which its messages are to leave.
const SPARE: f64 = 1.5;

pub fn run(command: &MessageCommand) -> Result<ExitCode> {
    match command {
        MessageCommand::Oneway(args) => measure(MessageTest::Oneway, args),
        MessageCommand::Pingpong(args) => measure(MessageTest::Pingpong, args),
        MessageCommand::Post(args) => measure(MessageTest::Post, args),
        MessageCommand::Serve(args) => serve(args),
    }
}

fn measure(test: MessageTest, args: &MessageArgs) -> Result<ExitCode> {
    let plan = output::understood(plan(test, args))?;
    let run = Run { named_cpus: !args.cpu.is_empty(), ..Run::new(&args.output, expected(&plan)) };
    run.make(|observer, stop| message::run(&plan, observer, stop))
}

fn serve(args: &ServeArgs) -> Result<ExitCode> {
    let ServeArgs { listen, cpu, allow, clients } = args.clone();
    let plan = ServePlan { listen, cpu, allow, most_clients: clients };
    counterpart::serve("message pingpong", clients, |tell, stop| {
        Ok(message::serve::serve(&plan, tell, stop)?)
    })
}

fn plan(test: MessageTest, args: &MessageArgs) -> Result<MessagePlan> {
    let carrier = args.over;
    let place = args.to.map_or_else(|| plans::place(args.lab, args.loopback), Place::To);
    let usual = MessagePlan::paper(test, place);
    let short = args.quick || args.trials.is_none();
    let until = Until { precision: args.precision, time_limit_ns: args.time_limit };
    let mut plan = MessagePlan {
        path: path(args),
        carrier,
        layers: args.layers.clone(),
        placements: args.placement.clone(),
        processors: args.cpu_pairs,
        cpus: args.cpu.clone(),
        least_ns: args.min_time.unwrap_or(if short { SHORT_LEAST_NS } else { usual.least_ns }),
        most_ns: args.max_time.unwrap_or(if args.quick { QUICK_MOST_NS } else { usual.most_ns }),
        rate_per_s: args.rate,
        trials: args.trials.unwrap_or(Until::LEAST_TRIALS),
        until: args.trials.is_none().then_some(until),
        seed: args.seed.unwrap_or_else(plans::fresh_seed),
        remedies: !args.no_remedies,
        ..usual
    };
    if plan.layers.is_empty() {
        plan.layers = MessagePlan::usual_layers(carrier, plan.place, &plan.placements);
        plan.layers.retain(|layer| layer.is_bare() || !args.poll);
    }
    if args.poll {
        plan = plan.polling()?;
    }
    match args.messages {
        Some(messages) => plan.messages = messages,
        None if args.rate.is_some() => plan.messages = at_rate(&plan),
        None if short => plan.messages = (plan.messages / 10).max(100),
        None => {}
    }
    if args.max_time.is_none() {
        plan.most_ns = plan.most_ns.max((SPARE * leaving_ns(&plan)) as u64);
    }
    if !args.sizes.is_empty() {
        plan.sizes_bytes.clone_from(&args.sizes);
    } else if args.quick {
        plan.sizes_bytes = plan.sizes_bytes.into_iter().step_by(QUICK_SIZES).collect();
    }
    Ok(plan.validated()?)
}

fn path(args: &MessageArgs) -> Option<Wire> {
    let is_asked_for = args.bandwidth.is_some() || args.delay.is_some();
    is_asked_for
        .then(|| Wire { rate_bits_per_s: args.bandwidth, ..Wire::long(args.delay.unwrap_or_default()) })
}

/// What leaves in the least time; more, if there is time for what a tail needs.
fn at_rate(plan: &MessagePlan) -> u64 {
    let within = |ns: u64| (plan.rate_per_s.unwrap_or(0.0) * ns as f64 / 1e9) as u64;
    within(plan.least_ns).max(within(plan.most_ns).min(FOR_TAIL)).max(1)
}

/// How long it takes until all messages have left; 0 if they leave as fast as they go.
fn leaving_ns(plan: &MessagePlan) -> f64 {
    // One that is out of range is refused by that, not by what follows from it.
    plan.rate_per_s.filter(|&rate| rate >= 1.0).map_or(0.0, |rate| plan.messages as f64 / rate * 1e9)
}

fn expected(plan: &MessagePlan) -> Expected {
    let round = of_a_round(plan);
    // The first round is whole, whatever the limit.
    let most = |until: Until| Expected::AtMost(round.max(Duration::from_nanos(until.time_limit_ns)));
    plan.until.map_or_else(|| Expected::About(round * plan.trials), most)
}

/// About: a trial ends with its messages, and their time is not known yet.
fn of_a_round(plan: &MessagePlan) -> Duration {
    let pairs = if matches!(plan.place, Place::To(_)) { 1 } else { 2 };
    let cells = plan.sizes_bytes.len() * plan.layers.len() * plan.placements.len() * pairs;
    let leaving_ns = match plan.path {
        // Few trials come to their messages, and what the socket buffers hold follows.
        Some(_) => plan.most_ns,
        None => (leaving_ns(plan) as u64).min(plan.most_ns),
    };
    let trial = Duration::from_nanos(plan.least_ns.max(leaving_ns)) + TRIAL_OVERHEAD;
    trial * cells as u32
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Line {
        #[command(subcommand)]
        command: MessageCommand,
    }

    fn planned(line: &str) -> MessagePlan {
        let line = Line::try_parse_from(["message"].into_iter().chain(line.split(' '))).unwrap();
        match line.command {
            MessageCommand::Oneway(args) => plan(MessageTest::Oneway, &args).unwrap(),
            MessageCommand::Pingpong(args) => plan(MessageTest::Pingpong, &args).unwrap(),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn with_a_rate_a_trial_has_time_for_its_messages() {
        let figures = |line: &str| {
            let plan = planned(line);
            (plan.messages, plan.most_ns / 1_000_000)
        };
        assert_eq!(figures("oneway --loopback"), (5000, 2000));
        assert_eq!(figures("oneway --loopback --trials 5"), (50_000, 2000));
        assert_eq!(figures("oneway --loopback --quick"), (5000, 500));
        assert_eq!(figures("oneway --loopback --rate 20k"), (1000, 2000));
        assert_eq!(figures("oneway --loopback --rate 20k --trials 5"), (2000, 2000));
        assert_eq!(figures("oneway --loopback --rate 100"), (200, 3000));
        assert_eq!(figures("oneway --loopback --rate 20k --messages 50000"), (50_000, 3750));
        assert_eq!(figures("oneway --loopback --rate 20k --messages 50000 --max-time 1s"), (50_000, 1000));
    }

    #[test]
    fn ends_that_poll_are_those_of_bare_sockets() {
        let layers = |line: &str| planned(line).layers.iter().map(ToString::to_string).collect::<Vec<_>>();
        let usual = ["write+nodelay+poll", "writev+nodelay+poll", "two+nodelay+poll"];
        assert_eq!(layers("pingpong --loopback --poll"), usual);
        assert_eq!(layers("pingpong --loopback --poll --over udp --layers write"), ["write+poll"]);
    }

    #[test]
    fn what_is_expected_knows_how_long_messages_take_to_leave() {
        let fast = planned("oneway --loopback --rate 20k");
        let slow = planned("oneway --loopback --rate 100");
        let [fast, slow] = [fast, slow].map(|plan| of_a_round(&plan));
        assert!(slow > 10 * fast, "{slow:?} {fast:?}");
    }

    #[test]
    fn a_run_without_a_number_of_trials_ends_by_precision_or_time() {
        let until = |line: &str| {
            let plan = planned(line);
            plan.until.map(|until| (until.precision, until.time_limit_ns / 1_000_000_000, plan.trials))
        };
        assert_eq!(until("oneway --loopback"), Some((0.05, 35, 6)));
        assert_eq!(until("oneway --loopback --quick"), Some((0.1, 10, 6)));
        assert_eq!(until("oneway --loopback --precision 2% --time-limit 2m"), Some((0.02, 120, 6)));
        assert_eq!(until("oneway --loopback --trials 3"), None);
        let limit = planned("oneway --loopback");
        assert_eq!(expected(&limit), Expected::AtMost(Duration::from_secs(35)));
        let slow = planned("oneway --loopback --rate 100 --time-limit 1s");
        assert_eq!(expected(&slow), Expected::AtMost(of_a_round(&slow)));
        let both = ["message", "oneway", "--trials", "3", "--precision", "2%"];
        assert!(Line::try_parse_from(both).is_err());
    }
}
