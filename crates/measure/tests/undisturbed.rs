//! Undisturbed messages take what they take where nothing disturbs: beside a program that has a processor for 5 ms of
//! every 20, alternating with trials without it.
//!
//! The threads of the load have real-time priority, so that ordinary programs do not take part.

use std::process::Command;
use std::sync::atomic::AtomicBool;

use netfathom_measure::ground::observer::Progressed;
use netfathom_measure::kind::stack::run;
use netfathom_model::path::{Direction, Stage};
use netfathom_model::plan::StackPlan;
use netfathom_model::record::{Contention, Held, Holder, PathTimes, StackResult, StageSummary, Trial};
use netfathom_model::sample::Sample;
use netfathom_model::verdict::{Level, Part};
use netfathom_stats::{Contrast, middle_of};
use netfathom_sys::cpu::{allowed, thread_id};
use netfathom_testkit::{Burner, alone, privileged, skipped};

/// With more, the machine itself may be the reason: 0.4 ms of a round, with messages that take some
/// milliseconds together.
const OTHERS: f64 = 0.001;
/// Quiet ones and the others, interleaved.
const ROUNDS: [bool; 12] = [false, true, true, false, false, true, true, false, false, true, true, false];
/// What the work of another process leaves to the first messages after it.
const COLD: f64 = 1.1;
/// Of either kind, that the machine must have left alone.
const LEAST: usize = 3;

/// This thread, and those that it starts from now on, run before all ordinary ones.
fn first_of_all() -> bool {
    let thread = thread_id().to_string();
    let set = Command::new("chrt").args(["-f", "-p", "50", &thread]).status();
    let done = set.is_ok_and(|status| status.success());
    if !done {
        skipped("undisturbed messages", "needs real-time priority (chrt)");
    }
    done
}

/// Trials without and with the burner.
#[derive(Default)]
struct Rounds {
    quiet: Vec<Round>,
    burned: Vec<Round>,
}

struct Round {
    progressed: Progressed<StackResult>,
    /// What others than the burner had of a processor.
    others: f64,
}

fn rounds(of_reader: bool) -> Option<Rounds> {
    let cpus = allowed().unwrap();
    let [sender, .., reader] = cpus[..] else {
        skipped("undisturbed messages", "needs two processors");
        return None;
    };
    let mut plan = StackPlan::one_trial("constant:1k/400ms".parse().unwrap());
    (plan.cpus, plan.reader_polls) = (Some((sender, reader)), true);
    let plan = plan.validated().unwrap();
    let mut rounds = Rounds::default();
    for burns in ROUNDS {
        let burner = burns.then(|| Burner::alternating(if of_reader { reader } else { sender }, 15));
        let progressed = run(&plan, &mut (), &AtomicBool::new(false)).unwrap();
        let pid = burner.map(|burner| burner.pid());
        let round = Round { others: others(&progressed.result.trials[0], pid), progressed };
        if burns { rounds.burned.push(round) } else { rounds.quiet.push(round) }
    }
    Some(rounds)
}

/// Of the time of a thread, the most that others than the burner had. None of these threads sleeps for long, so an idle
/// processor is one that the kernel kept from them (kernel.sched_rt_runtime_us).
fn others(trial: &Trial, burner: Option<u32>) -> f64 {
    let is_other = |held: &&Held| match held.by {
        Holder::Process { pid, .. } => Some(pid) != burner,
        Holder::Idle => true,
        _ => held.by.is_foreign(),
    };
    let of = |c: &Contention| {
        let held: u64 = c.holders.iter().filter(is_other).map(|held| held.ns).sum();
        (held + c.stolen_ns) as f64 / c.span_ns as f64
    };
    trial.load.contention.iter().map(of).fold(0.0, f64::max)
}

/// Beside the burner by quiet, of the means of the rounds.
#[derive(Debug)]
struct Ratio {
    /// Of their medians, since what a hypervisor takes is not always counted as stolen.
    middle: f64,
    /// The 99 % interval (Welch, of logarithms).
    interval: (f64, f64),
}

impl Ratio {
    fn of(quiet: &[f64], burned: &[f64]) -> Self {
        let middle = |means: &[f64]| middle_of(means.iter().copied()).unwrap();
        let logarithms = |means: &[f64]| means.iter().map(|mean| mean.ln()).collect::<Vec<_>>();
        let (least, most) = Contrast::apart(&logarithms(quiet), &logarithms(burned)).unwrap().interval(0.99);
        Self { middle: middle(burned) / middle(quiet), interval: (least.exp(), most.exp()) }
    }

    /// Whether the two may be the same, but for caches that a burner leaves cold.
    fn may_be_same(&self) -> bool {
        self.interval.0 < COLD && self.interval.1 > 1.0 / COLD && (0.6..1.67).contains(&self.middle)
    }
}

fn path(round: &Round, direction: Direction) -> &PathTimes {
    let trial = &round.progressed.result.trials[0];
    trial.paths.iter().find(|path| path.direction == direction).unwrap()
}

fn mean_of_all(path: &PathTimes) -> f64 {
    path.total.mean_ns
}

fn mean_of_undisturbed(path: &PathTimes) -> f64 {
    path.undisturbed.as_ref().unwrap().times.mean_ns
}

/// All messages, and the undisturbed ones.
fn ratios(rounds: &Rounds, direction: Direction) -> [Ratio; 2] {
    [mean_of_all, mean_of_undisturbed].map(|mean| {
        let of = |rounds: &[Round]| -> Vec<f64> {
            rounds.iter().map(|round| mean(path(round, direction))).collect()
        };
        let ratio = Ratio::of(&of(&rounds.quiet), &of(&rounds.burned));
        println!("{direction:?}: {ratio:?}");
        ratio
    })
}

/// Where nothing foreign runs, all messages take what the undisturbed ones take.
fn assert_agreement(rounds: &Rounds, direction: Direction) {
    let agree = |round: &Round| {
        let path = path(round, direction);
        mean_of_all(path) / mean_of_undisturbed(path)
    };
    let ratios: Vec<f64> = rounds.quiet.iter().map(agree).collect();
    println!("quiet, {direction:?}, all by undisturbed: {ratios:?}");
    let middle = middle_of(ratios.iter().copied()).unwrap();
    assert!((1.0 / COLD..COLD).contains(&middle), "{direction:?}: {ratios:?}");
}

/// Those rounds that the machine left alone; says so if they are too few.
fn decided(mut rounds: Rounds, test: &str) -> Option<Rounds> {
    let Rounds { quiet, burned } = &mut rounds;
    let worst = quiet.iter().chain(&*burned).map(|round| round.others).fold(0.0, f64::max);
    for of_kind in [&mut *quiet, &mut *burned] {
        of_kind.retain(|round| round.others <= OTHERS);
    }
    let enough = quiet.len().min(burned.len()) >= LEAST;
    if !enough {
        skipped(test, &format!("disturbed: others had up to {:.1} % of a processor", 100.0 * worst));
    }
    enough.then_some(rounds)
}

#[test]
fn undisturbed_messages_take_the_same_beside_a_busy_reader() {
    if !privileged("undisturbed messages") || !first_of_all() {
        return;
    }
    let _alone = alone();
    let Some(rounds) = rounds(true) else { return };
    let Some(rounds) = decided(rounds, "undisturbed messages beside a busy reader") else { return };
    let [all, undisturbed] = ratios(&rounds, Direction::Rx);
    // A quarter of the messages wait for milliseconds.
    assert!(all.middle > 10.0 && !all.may_be_same(), "{all:?}");
    assert!(undisturbed.middle < all.middle / 5.0, "{undisturbed:?} of {all:?}");
    assert!(undisturbed.may_be_same(), "{undisturbed:?}");
    assert_agreement(&rounds, Direction::Rx);
    for Round { progressed: p, .. } in &rounds.burned {
        assert!(p.verdict.of(Part::Rx) < Level::Void, "{:?}", p.verdict);
        let [of_all, of_undisturbed] = runqueue_of_rx(&p.result);
        assert!(of_all > 0.5 && of_undisturbed < of_all / 5.0, "{of_undisturbed} of {of_all}");
    }
}

#[test]
fn samples_are_disturbed_as_often_as_the_figures_say() {
    if !privileged("samples of disturbed messages") || !first_of_all() {
        return;
    }
    let _alone = alone();
    let cpus = allowed().unwrap();
    let [sender, .., reader] = cpus[..] else {
        return skipped("samples of disturbed messages", "needs two processors");
    };
    let mut plan = StackPlan::one_trial("constant:1k/400ms".parse().unwrap());
    (plan.cpus, plan.reader_polls, plan.samples) = (Some((sender, reader)), true, 400);
    let _burner = Burner::alternating(reader, 15);
    let p = run(&plan.validated().unwrap(), &mut (), &AtomicBool::new(false)).unwrap();
    for path in &p.result.trials[0].paths {
        let flag = |sample: &Sample| match path.direction {
            Direction::Tx => sample.tx_disturbed,
            Direction::Rx => sample.rx_disturbed,
        };
        let n = |wanted: u64| p.samples.iter().filter(|sample| flag(sample) == Some(wanted)).count() as u64;
        let of = path.undisturbed.as_ref().unwrap();
        assert_eq!((n(0), n(0) + n(1)), (of.times.n, of.judged), "{:?}", path.direction);
        assert!(path.direction == Direction::Tx || n(1) > 0, "the burner disturbs the reader");
    }
}

/// The share of the run queue in the time to receive, of all messages and of the undisturbed ones. The stages of these add up.
fn runqueue_of_rx(result: &StackResult) -> [f64; 2] {
    let share = |stages: &[StageSummary]| {
        stages.iter().find(|s| s.stage == Stage::Runqueue).and_then(|s| s.share).unwrap_or(0.0)
    };
    for summary in &result.summaries {
        let of = &summary.undisturbed.as_ref().unwrap().total;
        let times = |s: &StageSummary| s.times.distribution().unwrap().clone();
        let sum: i64 = of.stages.iter().filter(|s| s.inside).map(|s| times(s).sum_ns).sum();
        // The last stage of its way, which none skips.
        let last = [Stage::Device, Stage::Return];
        let n = of.stages.iter().find(|s| last.contains(&s.stage)).map_or(0, |s| times(s).n);
        let whole = summary.direction == Direction::Tx || n == of.times.n;
        assert!(sum == of.times.sum_ns || !whole, "{sum} of {}", of.times.sum_ns);
        assert!(20 * n > 19 * of.times.n, "{n} of {} have stages", of.times.n);
    }
    let rx = result.summaries.iter().find(|s| s.direction == Direction::Rx).unwrap();
    [share(&rx.stages), share(&rx.undisturbed.as_ref().unwrap().total.stages)]
}

#[test]
fn undisturbed_messages_take_the_same_beside_a_busy_sender_and_are_on_time() {
    if !privileged("undisturbed messages") || !first_of_all() {
        return;
    }
    let _alone = alone();
    let Some(rounds) = rounds(false) else { return };
    for Round { progressed: p, .. } in &rounds.burned {
        // Five of twenty messages are due meanwhile, all but the last more than a slot before the end of it.
        let load = &p.result.trials[0].load;
        assert!(load.missed_slots * 10 > load.planned, "{} of {}", load.missed_slots, load.planned);
        assert_eq!(p.verdict.of(Part::Load), Level::Void, "{:?}", p.verdict);
    }
    let Some(rounds) = decided(rounds, "undisturbed messages beside a busy sender") else { return };
    for direction in [Direction::Tx, Direction::Rx] {
        let [_, undisturbed] = ratios(&rounds, direction);
        assert!(undisturbed.may_be_same(), "{direction:?}: {undisturbed:?}");
        assert_agreement(&rounds, direction);
    }
    for Round { progressed: p, .. } in &rounds.burned {
        assert!(p.verdict.level < Level::Void, "{:?}", p.verdict);
    }
}
