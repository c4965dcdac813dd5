//! `netfathom ttcp sweep`: transfers with every send buffer, size of a write and TCP_NODELAY
//! that was asked for, each with what held it up.
//!
//! [`run`] is the map: `ends` has the two hosts and makes one trial, `points` puts the trials
//! together and says what they are worth, `path` has what is known of a path that was made.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use netfathom_model::plan::{Combination, SweepPlan};
use netfathom_model::record::{SweepResult, TransferEnd, TransferResult};

use crate::ground::environment;
use crate::ground::error::RunError;
use crate::ground::observer::{Live, Observer, Progressed, Step};

mod ends;
mod path;
mod points;

use ends::Ends;

/// Measures. Ends early, keeping the finished trials, once `stop` is set.
pub fn run(
    plan: &SweepPlan,
    observer: &mut impl Observer<SweepResult>,
    stop: &AtomicBool,
) -> Result<Progressed<SweepResult>, RunError> {
    let ends = Ends::build(plan)?;
    let environment = environment::read(Vec::new(), ends.devices(), ends.lab());
    let mut p = Progressed::new(environment, SweepResult { plan: plan.clone(), points: Vec::new() });
    points::conclude(&mut p);
    observer.keep(&p)?;
    let (combinations, order) = (plan.combinations(), plan.order());
    for (index, &place) in order.iter().enumerate() {
        if stop.load(Relaxed) {
            break;
        }
        let combination = combinations[place];
        let step = Step { name: name(combination, index, &order), number: index + 1, of: order.len() };
        observer.begins(step, &Arc::new(Live::default()));
        let Some(trial) = ends.trial(plan, combination, stop)?.filter(finished) else { break };
        points::add(&mut p.result, combination, index as u32, trial);
        points::conclude(&mut p);
        observer.keep(&p)?;
    }
    Ok(p)
}

/// What its user ended tells nothing of the buffer.
fn finished(trial: &TransferResult) -> bool {
    trial.end != TransferEnd::Interrupted
}

/// Such as `trial 5/42: send buffer 4096, writes of 8192, TCP_NODELAY`.
fn name(c: Combination, index: usize, order: &[usize]) -> String {
    let buffer = c.socket_buffer_bytes.map_or("of the kernel".into(), |bytes| bytes.to_string());
    let no_delay = if c.no_delay { ", TCP_NODELAY" } else { "" };
    format!(
        "trial {}/{}: send buffer {buffer}, writes of {}{no_delay}",
        index + 1,
        order.len(),
        c.write_bytes
    )
}
