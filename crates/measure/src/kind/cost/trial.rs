//! One trial: the load and the program are there or not, and the benchmark runs.

use netfathom_model::record::{Condition, CostTrial};

use super::error::CostError;
use super::load::BackgroundLoad;
use super::machine::Machine;
use super::program::{Pause, Switch};
use super::workload::{BenchmarkRun, Workload};

pub struct Stage<'a> {
    pub load: BackgroundLoad<'a>,
    pub program: Box<dyn Switch + 'a>,
    /// What the program gets to start up, and as long a rest where it is not.
    pub settle: Pause<'a>,
}

#[derive(Clone, Copy, Debug)]
pub struct Coordinates {
    /// Among all trials.
    pub index: u32,
    pub block: u32,
    pub condition: usize,
}

impl Stage<'_> {
    /// Makes one; `None` if the user wants an end. A trial in which the benchmark or the program fails is kept with
    /// the reason.
    pub fn trial(
        &mut self,
        workload: &mut dyn Workload,
        condition: &Condition,
        place: Coordinates,
    ) -> Result<Option<CostTrial>, CostError> {
        let level = condition.level.as_ref();
        if let Some(level) = level {
            self.load.on(level)?;
        }
        let come = if condition.program {
            self.program.on(level)
        } else {
            // As much time passes before the benchmark: a machine that has rested is a faster one.
            self.settle.make();
            Ok(())
        };
        let measured = come.and_then(|()| self.run(workload, condition));
        let during = measured.as_ref().ok().map_or((0, 0), |(run, _)| run.during_ns);
        let ran = condition.program.then(|| self.program.off(during));
        let missed = if level.is_some() { self.load.off() } else { Ok(None) };
        let (run, load_reached) = measured?;
        let ran = ran.transpose()?;
        let missed = missed?;
        if run.stopped {
            return Ok(None);
        }
        let failed = run.spans_ns.as_ref().err().cloned();
        let spans_ns = run.spans_ns.unwrap_or_default();
        // A program that was not there is no trial of it.
        let absent = ran.as_ref().and_then(|ran| ran.trouble.clone());
        Ok(Some(CostTrial {
            index: place.index,
            block: place.block,
            condition: place.condition,
            total_ns: spans_ns.iter().sum(),
            spans_ns,
            amounts: run.amounts,
            program: ran.map(|ran| ran.used),
            failed: failed.or(absent).or(missed),
            calls: run.calls,
            load_reached,
        }))
    }

    /// What the benchmark did, the whole machine's amounts included, and the part of its level that the load reached.
    fn run(
        &mut self,
        workload: &mut dyn Workload,
        condition: &Condition,
    ) -> Result<(BenchmarkRun, Option<f64>), CostError> {
        workload.prepare()?;
        if condition.program {
            self.program.begins()?;
        }
        let from = self.load.moment()?;
        let before = Machine::now();
        let mut run = workload.run(condition, self.settle.stop)?;
        run.amounts.extend(Machine::now().since(&before));
        let load_reached = self.load.reached(from, self.load.moment()?);
        Ok((run, load_reached))
    }
}
