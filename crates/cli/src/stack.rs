//! `netfathom stack`: arguments to plan, plan to run.

use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Result, bail};
use netfathom_measure::kind::stack;
use netfathom_model::path::{Direction, Tap};
use netfathom_model::plan::{PcapPlan, Place, StackPlan, TapChoice, Until};

use crate::args::StackArgs;
use crate::keep::Run;
use crate::progress::Expected;
use crate::{invocation, output, plans};

/// Messages that an export holds, unless the user wants another number.
const EXPORTED: u32 = 10_000;
/// What a trial takes besides its profile: sockets, programs, the burst.
const TRIAL_OVERHEAD: Duration = Duration::from_millis(1200);

/// What was chosen for a user who named no place.
const WITHOUT_ROOT: &str =
    "measuring over loopback, as you are not root; --lab requires root or capabilities (netfathom host)";

pub fn run(args: &StackArgs) -> Result<ExitCode> {
    let plan = output::understood(plan(args))?;
    if plan.place == Place::Loopback && !args.loopback && !args.output.quiet {
        output::aside(WITHOUT_ROOT);
    }
    let run = Run {
        named_cpus: args.cpu.is_some(),
        capture: args.export.is_some(),
        ..Run::new(&args.output, expected(&plan))
    };
    run.make(|observer, stop| stack::run(&plan, observer, stop))
}

pub fn plan(args: &StackArgs) -> Result<StackPlan> {
    let (place, usual): (_, &[Direction]) = match (args.to, args.listen) {
        (Some(to), _) => (Place::To(to), &[Direction::Tx]),
        (None, Some(listen)) => (Place::Listen(listen), &[Direction::Rx]),
        (None, None) => (plans::place(args.lab, args.loopback), &[Direction::Tx, Direction::Rx]),
    };
    if args.export.is_some() && matches!(args.tap, TapChoice::Only(Tap::Timestamping | Tap::Pcap)) {
        bail!("--export writes the times of single messages, which only the bpf tap keeps: leave --tap out");
    }
    if args.export.is_some() && args.samples == Some(0) {
        bail!(
            "--export writes the messages that --samples keeps, and --samples 0 keeps none: leave --samples out"
        );
    }
    plans::permit(place, &args.allow, false)?;
    let profile = args.profile.clone().or_else(invocation::profile);
    // A network that others use gets no more than it was asked for.
    let is_within = matches!(place, Place::Lab | Place::Loopback);
    let counts = TrialCounts::of(args);
    let plan = StackPlan {
        directions: args.directions.unwrap_or(usual).to_vec(),
        place,
        family: plans::family(args.ipv6, place),
        transport: args.transport,
        profile: plans::profile(profile.as_deref().unwrap_or(counts.usual_profile(args.quick)))?,
        fits: profile.is_none() && is_within,
        trials: counts.trials,
        baselines: args.baselines.unwrap_or(counts.baselines),
        cross_checks: args.cross_checks.unwrap_or(counts.cross_checks),
        until: counts.until,
        tap: args.tap,
        stages: args.stages,
        pcap: PcapPlan { tcpdump: args.tcpdump, keep: args.keep_captures },
        size_bytes: args.size,
        samples: args.samples.unwrap_or(if args.export.is_some() { EXPORTED } else { 0 }),
        seed: args.seed.unwrap_or_else(plans::fresh_seed),
        workers: args.workers,
        processes: false,
        cpus: args.cpu,
        port: args.port,
        reader_polls: args.poll,
        reader_delay_ns: args.reader_delay,
        inserted_delay: args.insert_delay,
        allow: args.allow.iter().map(ToString::to_string).collect(),
    };
    Ok(plan.validated()?)
}

/// Trials of each kind, where the user names no number.
struct TrialCounts {
    trials: u32,
    baselines: u32,
    cross_checks: u32,
    until: Option<Until>,
}

impl TrialCounts {
    /// Trials of a sender on another host, which is given their number.
    const OF_SENDER: u32 = 10;

    fn of(args: &StackArgs) -> Self {
        match args.trials.or_else(|| args.listen.map(|_| Self::OF_SENDER)) {
            Some(trials) => Self::fixed(trials, args.tap),
            // Most of the time goes to what ends the run. A quick one has time for a round of each kind.
            None => Self {
                trials: if args.quick { Until::LEAST_TRIALS } else { 2 * Until::LEAST_TRIALS },
                baselines: 2,
                cross_checks: 2,
                until: Some(Until { precision: args.precision, time_limit_ns: args.time_limit }),
            },
        }
    }

    fn usual_profile(&self, quick: bool) -> &'static str {
        // What differs from trial to trial decides how wide the interval is: many short ones say more than few long ones.
        // The highest rate on schedule differs from run to run, and the time to receive with it: a quick look has one that
        // most hosts send.
        match (quick, self.until) {
            (true, _) => "ramp:1k..10k/500ms",
            (false, Some(_)) => "ramp:1k..200k/500ms",
            (false, None) => "ramp:1k..200k/10s",
        }
    }

    /// Of taps that are compared each has half as many trials as the run's own.
    fn fixed(trials: u32, tap: TapChoice) -> Self {
        let part = if tap == TapChoice::All { 2 } else { 3 };
        let several = trials >= 2;
        let of = |part, least| if several { trials.div_ceil(part).max(least) } else { 0 };
        // Two cross-checks have hardly an interval.
        Self { trials, baselines: of(2, 2), cross_checks: of(part, 3), until: None }
    }
}

fn expected(plan: &StackPlan) -> Expected {
    if let Some(until) = plan.until {
        return Expected::AtMost(Duration::from_nanos(until.time_limit_ns));
    }
    let trial = Duration::from_nanos(plan.profile.duration_ns()) + TRIAL_OVERHEAD;
    let others = if plan.tap == TapChoice::All { 2 } else { 1 };
    // One more tells what the tap adds to its own times.
    Expected::About(
        trial
            * (plan.trials + plan.baselines + others * plan.cross_checks + u32::from(plan.cross_checks > 0)),
    )
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        args: StackArgs,
    }

    fn planned(line: &str) -> Option<StackPlan> {
        let line = Line::try_parse_from(["stack"].into_iter().chain(line.split_whitespace())).ok()?;
        Some(plan(&line.args).unwrap())
    }

    #[test]
    fn a_run_without_a_number_of_trials_ends_by_precision_or_time() {
        let plan = planned("both --loopback").unwrap();
        assert_eq!(plan.until, Some(Until { precision: 0.05, time_limit_ns: 35_000_000_000 }));
        assert_eq!(expected(&plan), Expected::AtMost(Duration::from_secs(35)));
        let asked = planned("--loopback --precision 2% --time-limit 2m").unwrap().until;
        assert_eq!(asked, Some(Until { precision: 0.02, time_limit_ns: 120_000_000_000 }));
        let quick = planned("--loopback --quick").unwrap().until;
        assert_eq!(quick, Some(Until { precision: 0.1, time_limit_ns: 10_000_000_000 }));
        for line in ["--trials 3", "--quick --trials 3", "--listen 127.0.0.1:9"] {
            assert_eq!(planned(line).unwrap().until, None, "{line}");
            assert!(planned(&format!("{line} --precision 2%")).is_none(), "{line}");
        }
    }

    #[test]
    fn what_cannot_be_kept_or_reached_is_refused() {
        let why = |line: &str| {
            let line = ["stack", "--loopback"].into_iter().chain(line.split_whitespace());
            plan(&Line::try_parse_from(line).unwrap().args).unwrap_err().to_string()
        };
        assert!(why("--export pcapng --samples 0").contains("--samples 0 keeps none"));
        assert!(why("--precision 5").contains("with its %"), "{}", why("--precision 5"));
        assert!(!why("--precision 30%").contains("with its %"));
    }

    #[test]
    fn a_number_of_trials_is_what_it_was() {
        let counts = |line| {
            let plan = planned(line).unwrap();
            (plan.trials, plan.baselines, plan.cross_checks, plan.profile.duration_ns() / 1_000_000)
        };
        assert_eq!(counts("--loopback --trials 10"), (10, 5, 4, 10_000));
        assert_eq!(counts("--loopback --trials 1"), (1, 0, 0, 10_000));
        assert_eq!(counts("--loopback --quick --trials 3"), (3, 2, 3, 500));
        assert_eq!(counts("--loopback --trials 10 --tap all"), (10, 5, 5, 10_000));
        assert_eq!(counts("--listen 127.0.0.1:9"), (10, 5, 4, 10_000));
    }
}
