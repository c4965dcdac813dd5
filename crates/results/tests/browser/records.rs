//! The records that the tests draw: the fixture, and what can happen to it.

pub use crate::poison::{HOSTILE, poisoned};
use netfathom_model::accounting::{Fate, FateCount};
use netfathom_model::path::Direction;
use netfathom_model::record::{
    Measurement, Record, Series, StackResult, StageOutcome, StageSummaryTimes, State, TrialKind,
};

pub fn fixture() -> Record {
    serde_json::from_str(include_str!("../fixtures/stack.json")).expect("the fixture is a record")
}

pub fn stack(record: &Record) -> &StackResult {
    let Measurement::Stack(stack) = &record.measurement else {
        panic!("the fixture is of another measurement")
    };
    stack
}

pub fn stack_mut(record: &mut Record) -> &mut StackResult {
    let Measurement::Stack(stack) = &mut record.measurement else {
        panic!("the fixture is of another measurement")
    };
    stack
}

/// A full measurement: ten trials with the tap and ten controls.
pub fn ten_trials() -> Record {
    let mut record = fixture();
    let stack = stack_mut(&mut record);
    let some = stack.trials.clone();
    let of = |kind| some.iter().filter(move |t| t.kind == kind).cycle().take(10).cloned();
    stack.trials = of(TrialKind::Measured).chain(of(TrialKind::Control)).collect();
    (0..).zip(&mut stack.trials).for_each(|(i, t)| t.index = i);
    record
}

/// Records with something missing, each with its name.
pub fn sparse() -> Vec<(&'static str, Record)> {
    let with = |edit: fn(&mut StackResult)| {
        let mut record = fixture();
        edit(stack_mut(&mut record));
        record
    };
    let mut nothing = with(no_trials);
    nothing.state = State::Partial;
    nothing.findings.clear();
    vec![
        ("one trial", with(only_the_first)),
        ("no controls", with(no_controls)),
        ("no peak", with(no_peak)),
        ("one direction", with(only_out)),
        ("only controls", with(only_controls)),
        ("no windows", with(no_windows)),
        ("no stages", with(no_stages)),
        ("no trials", nothing),
    ]
}

fn only_the_first(stack: &mut StackResult) {
    stack.trials.truncate(1);
    stack.self_cost = None;
    stack.witnesses.clear();
    for summary in &mut stack.summaries {
        summary.overall.trials = 1;
        summary.overall.between_trials_ns = None;
    }
}

fn no_controls(stack: &mut StackResult) {
    stack.trials.retain(|t| t.kind != TrialKind::Control);
    stack.self_cost = None;
}

fn no_peak(stack: &mut StackResult) {
    for s in &mut stack.summaries {
        (s.peak, s.theoretical_per_s, s.reached_per_s) = (None, None, None);
    }
    stack.trials.iter_mut().flat_map(|t| &mut t.paths).for_each(|p| p.peak = None);
}

fn only_out(stack: &mut StackResult) {
    stack.summaries.retain(|p| p.direction == Direction::Tx);
    stack.trials.iter_mut().for_each(|t| t.paths.retain(|p| p.direction == Direction::Tx));
}

fn only_controls(stack: &mut StackResult) {
    stack.trials.retain(|t| t.kind == TrialKind::Control);
    stack.summaries.clear();
}

/// As of a trial in which nothing left.
fn no_windows(stack: &mut StackResult) {
    for trial in &mut stack.trials {
        trial.load.series = Series::default();
        trial.paths.iter_mut().for_each(|p| p.series = Series::default());
    }
}

/// As the timestamping tap leaves them.
fn no_stages(stack: &mut StackResult) {
    let why = || "this tap sees the link layer alone".to_owned();
    for stage in stack.trials.iter_mut().flat_map(|t| &mut t.paths).flat_map(|p| &mut p.stages) {
        stage.times = StageOutcome::Unavailable(why());
    }
    for stage in stack.summaries.iter_mut().flat_map(|s| &mut s.stages) {
        (stage.share, stage.times) = (None, StageSummaryTimes::Unavailable(why()));
    }
}

fn no_trials(stack: &mut StackResult) {
    stack.trials.clear();
    stack.summaries.clear();
    stack.witnesses.clear();
    stack.self_cost = None;
}

/// The fixture, [`poisoned`].
pub fn hostile() -> Record {
    let mut record = fixture();
    for trial in &mut stack_mut(&mut record).trials {
        trial.accounting.fates.push(FateCount { fate: Fate::KernelDrop("x".into()), count: 0 });
    }
    poisoned(record)
}
