//! The way from one capture to the next.

use std::sync::atomic::AtomicBool;

use netfathom_capture::join::{
    Captured, ClockFit, Fitted, Joined, Jump, Options, Sighting, join as join_both,
};
use netfathom_model::plan::{ClockChoice, JoinPlan};

use super::files::{self, JoinError, Watched};
use super::pair::options;
use super::times::Times;
use crate::ground::observer::Live;

/// A capture and the one before it, and what came of them.
#[derive(Debug)]
pub struct Hop {
    /// The capture where the way ends, by its place among them.
    pub to: usize,
    /// The capture before is the log of it.
    pub joined: Joined,
    pub times: Times,
    pub jump: Option<Jump>,
}

/// Joins a capture with the previous one, which has the messages of a log.
pub fn join(plan: &JoinPlan, to: usize, live: &Live, stop: &AtomicBool) -> Result<Hop, JoinError> {
    let fit = match plan.clock {
        ClockChoice::Stated => None,
        ClockChoice::Fitted => {
            let mut fit = ClockFit::default();
            let as_it_is = Some(Fitted::default());
            pass(plan, to, as_it_is, live, stop, |s| {
                if let Some((captured_ns, difference_ns)) = s.captured_ns.zip(s.out_ns()) {
                    fit.add(captured_ns, difference_ns);
                }
            })?;
            fit.fit()
        }
    };
    let mut times = Times::default();
    let fitted = fit.map(|fit| fit.fitted);
    let joined = pass(plan, to, fitted, live, stop, |s| {
        if let Some((sent_ns, time_ns)) = s.sent_ns.zip(s.out_ns()) {
            times.add(sent_ns as i64, time_ns, s.uncertainty_ns);
        }
    })?;
    Ok(Hop { to, joined, times, jump: fit.and_then(|fit| fit.jump) })
}

/// Reads both once, and tells the messages that both have.
fn pass(
    plan: &JoinPlan,
    to: usize,
    fitted: Option<Fitted>,
    live: &Live,
    stop: &AtomicBool,
    mut each: impl FnMut(&Sighting),
) -> Result<Joined, JoinError> {
    let options = Options { fitted, ..options(plan) };
    let (before, _) = files::capture(&plan.captures[to - 1], stop)?;
    let (packets, _) = files::capture(&plan.captures[to], stop)?;
    Ok(join_both(
        &mut Watched::new(packets, live, stop),
        &mut Watched::new(Captured::new(before, &options), live, stop),
        &options,
        |sighting| {
            if sighting.in_log && sighting.first {
                each(sighting);
            }
        },
    ))
}
