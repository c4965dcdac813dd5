//! The records that the tests draw: the fixture, and what can happen to it.

pub use crate::walk::{HOSTILE, poisoned};
use netfathom_model::accounting::{Fate, FateCount};
use netfathom_model::record::{Measurement, Record, StackResult, TrialKind};

pub fn fixture() -> Record {
    crate::fixtures::fixture("stack")
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

/// A full measurement: ten trials with the tap and ten baselines.
pub fn ten_trials() -> Record {
    let mut record = fixture();
    let stack = stack_mut(&mut record);
    let some = stack.trials.clone();
    let of = |kind| some.iter().filter(move |t| t.kind == kind).cycle().take(10).cloned();
    stack.trials = of(TrialKind::Measured).chain(of(TrialKind::Baseline)).collect();
    (0..).zip(&mut stack.trials).for_each(|(i, t)| t.index = i);
    record
}

/// The fixture, [`poisoned`].
pub fn hostile() -> Record {
    let mut record = fixture();
    for trial in &mut stack_mut(&mut record).trials {
        trial.accounting.fates.push(FateCount { fate: Fate::KernelDrop("x".into()), count: 0 });
    }
    poisoned(record)
}
