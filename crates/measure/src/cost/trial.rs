//! One trial: the load and the program are there or not, and the benchmark runs.

use std::sync::atomic::AtomicBool;

use netfathom_model::record::{Amount, Condition, CostTrial};

use super::error::CostError;
use super::load::Load;
use super::machine::Machine;
use super::program::{Ran, Switch};
use super::workload::{Outcome, Workload};

/// What every trial has.
pub struct Stage<'a> {
    /// What the program has to do.
    pub load: Load,
    /// The program.
    pub program: Box<dyn Switch>,
    /// The user wants an end.
    pub stop: &'a AtomicBool,
}

/// Where a trial stands among the others.
#[derive(Clone, Copy, Debug)]
pub struct Place {
    /// Among all trials.
    pub index: u32,
    /// Its block.
    pub block: u32,
    /// Its condition.
    pub condition: usize,
}

impl Stage<'_> {
    /// Makes one; `None` if the user wants an end. A trial in which the benchmark or the program fails is kept with
    /// the reason.
    ///
    /// # Errors
    /// If program or load do not come, or do not go: then no other trial could be made either.
    pub fn trial(
        &mut self,
        workload: &mut dyn Workload,
        condition: &Condition,
        place: Place,
    ) -> Result<Option<CostTrial>, CostError> {
        let level = condition.level.as_ref();
        if let Some(level) = level {
            self.load.on(level)?;
        }
        let come = if condition.program { self.program.on(level) } else { Ok(()) };
        let measured = come.and_then(|()| run(workload, condition, self.stop));
        let during = measured.as_ref().ok().map_or((0, 0), |(outcome, _)| outcome.during_ns);
        let ran = condition.program.then(|| self.program.off(during));
        let loaded = if level.is_some() { self.load.off() } else { Ok((None, None)) };
        let (outcome, machine) = measured?;
        let ran = ran.transpose()?;
        let loaded = loaded?;
        if outcome.stopped {
            return Ok(None);
        }
        Ok(Some(told(place, outcome, machine, ran, loaded)))
    }
}

fn run(
    workload: &mut dyn Workload,
    condition: &Condition,
    stop: &AtomicBool,
) -> Result<(Outcome, Vec<Amount>), CostError> {
    workload.prepare()?;
    let before = Machine::now();
    let outcome = workload.run(condition, stop)?;
    Ok((outcome, Machine::now().since(&before)))
}

fn told(
    place: Place,
    outcome: Outcome,
    machine: Vec<Amount>,
    ran: Option<Ran>,
    (load_reached, missed): (Option<f64>, Option<String>),
) -> CostTrial {
    let Outcome { spans_ns, amounts, calls, .. } = outcome;
    let (spans_ns, failed) = match spans_ns {
        Ok(spans_ns) => (spans_ns, None),
        Err(why) => (Vec::new(), Some(why)),
    };
    // A program that was not there is no trial of it.
    let absent = ran.as_ref().and_then(|ran| ran.trouble.clone());
    CostTrial {
        index: place.index,
        block: place.block,
        condition: place.condition,
        total_ns: spans_ns.iter().sum(),
        spans_ns,
        amounts: amounts.into_iter().chain(machine).collect(),
        program: ran.map(|ran| ran.used),
        failed: failed.or(absent).or(missed),
        calls,
        load_reached,
    }
}
