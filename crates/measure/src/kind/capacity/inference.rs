//! What Borodin's outgoing paper (2014) infers: 1 / mean time at peak. Our reading: a program that waits for the
//! stack with each message sends one in the time that a message takes there.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use netfathom_model::engine::Engine;
use netfathom_model::path::Direction;
use netfathom_model::plan::{CapacityPlan, Place, StackPlan, TapChoice};
use netfathom_model::profile::Profile;
use netfathom_model::record::{CapacityResult, Inferred, LeftOut, Search, StackResult, TrialKind};
use netfathom_stats::ratio;

use super::bench::places;
use crate::ground::error::RunError;
use crate::ground::observer::{Live, Observer, Progressed, Step};
use crate::kind::stack;

/// The stack is watched at this part of the sustained rate: the tap itself takes some.
const BELOW_SUSTAINED: f64 = 0.7;
/// The fewest that have an interval worth its name.
const TRIALS: u32 = 3;

/// Takes the stack time at the highest rate, and puts it beside the rows. Where it cannot be
/// had, the result says why.
pub fn infer(result: &mut CapacityResult, observer: &mut impl Observer<CapacityResult>, stop: &AtomicBool) {
    let left_out = |reason: String, remedy: &str| LeftOut {
        what: "what the paper infers".into(),
        reason,
        remedy: remedy.into(),
    };
    let searched = result.rows.iter().find(|r| r.engine == Engine::Send && r.workers == 1);
    let Some(sustained) = searched.and_then(|r| r.sustained_per_s) else {
        result.left_out.push(left_out(
            "it requires the rate that one worker sustains with the engine send, and there is none".into(),
            "search with the engine send and one worker as well",
        ));
        return;
    };
    let taken = stack_plan(&result.plan, sustained.mean_per_s)
        .and_then(|plan| stack::run(&plan, &mut Relay(observer), stop).map_err(|e: RunError| e.to_string()));
    match taken.as_ref().map(inferred) {
        Ok(Some((inferred, theoretical))) => {
            result.inferred = Some(inferred);
            if result.trusted_inference().is_some() {
                compare(result, &theoretical);
            }
        }
        Ok(None) => {
            let reason = "no stack time was taken at the highest rate".into();
            result.left_out.push(left_out(reason, "look at `netfathom stack tx`"));
        }
        Err(reason) => {
            let remedy = "see what this machine has with `netfathom host`";
            result.left_out.push(left_out(reason.clone(), remedy));
        }
    }
}

fn stack_plan(plan: &CapacityPlan, sustained_per_s: f64) -> Result<StackPlan, String> {
    if !matches!(plan.place, Place::Lab | Place::Loopback) {
        return Err("stack times are taken in the lab or over loopback, where both ends are here".into());
    }
    let rate_per_s = (BELOW_SUSTAINED * sustained_per_s).round();
    let cpus = places(plan, 1).map_err(|e| e.to_string())?;
    let stack_plan = StackPlan {
        directions: vec![Direction::Tx],
        place: plan.place,
        family: plan.family,
        transport: plan.transport,
        trials: TRIALS,
        tap: TapChoice::Auto,
        size_bytes: plan.size_bytes,
        cpus: cpus.senders.first().map(|&sender| (sender, cpus.reader)),
        ..StackPlan::one_trial(Profile::Constant { rate_per_s, duration_ns: plan.hold_ns })
    };
    stack_plan.validated().map_err(|e| e.to_string())
}

/// What the run says, and the same trial by trial.
fn inferred(p: &Progressed<StackResult>) -> Option<(Inferred, Vec<f64>)> {
    let summary = p.result.summaries.iter().find(|s| s.direction == Direction::Tx)?;
    let of_trials = p.result.trials.iter().filter(|t| t.kind == TrialKind::Measured).flat_map(|t| &t.paths);
    let peaks = of_trials.filter(|path| path.direction == Direction::Tx).filter_map(|path| path.peak);
    let theoretical = peaks.map(|peak| 1e9 / peak.mean_ns).collect();
    let inferred = Inferred {
        tap: p.result.tap,
        peak: summary.peak?,
        at_per_s: summary.reached_per_s?,
        theoretical_per_s: summary.theoretical_per_s?,
        // A rate needs the load that was planned.
        verdict: p.verdict.clone().of_everything(),
    };
    Some((inferred, theoretical))
}

/// Only what passes the stack, and one program alone, has a rate that its time bounds.
fn compare(result: &mut CapacityResult, theoretical_per_s: &[f64]) {
    for row in result.rows.iter_mut().filter(|r| r.engine.passes_stack() && r.workers == 1) {
        let sustained: Vec<f64> = row.searches.iter().filter_map(|s: &Search| s.sustained_per_s).collect();
        row.of_inferred = ratio(&sustained, theoretical_per_s).map(Into::into);
    }
}

/// Tells the observer of a part of the run that is a measurement of its own.
struct Relay<'a, O>(&'a mut O);

impl<O: Observer<CapacityResult>> Observer<StackResult> for Relay<'_, O> {
    fn begins(&mut self, step: Step, live: &Arc<Live>) {
        self.0.begins(Step { name: format!("stack time, {}", step.name), ..step }, live);
    }
}
