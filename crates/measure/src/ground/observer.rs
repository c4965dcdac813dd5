//! What a run reports while it goes on, and who is interested: the command line, the live view of `watch`, or nothing.

use std::error::Error;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64};
use std::time::Duration;

use netfathom_model::environment::Environment;
use netfathom_model::sample::Sample;
use netfathom_model::verdict::{Finding, Verdict};
use netfathom_sys::directory::Directory;

/// The counters of a running trial, for the line of progress.
#[derive(Debug, Default)]
pub struct Live {
    pub sent: AtomicU64,
    pub lag_ns: AtomicI64,
}

/// All that a measurement has so far; in the end, what it hands over for the record.
#[derive(Clone, Debug)]
pub struct Progressed<R> {
    pub environment: Environment,
    pub result: R,
    pub verdict: Verdict,
    pub findings: Vec<Finding>,
    /// The raw stream, where one was asked for.
    pub samples: Vec<Sample>,
}

impl<R> Progressed<R> {
    /// Nothing but the plan.
    pub fn new(environment: Environment, result: R) -> Self {
        Self { environment, result, verdict: Verdict::default(), findings: Vec::new(), samples: Vec::new() }
    }
}

/// A part of a run that takes a while.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// What it is, such as `trial 3/10 (baseline, no tap)`.
    pub name: String,
    /// Its number, from 1.
    pub number: usize,
    /// Of how many; 0 while unknown.
    pub of: usize,
}

impl Step {
    pub fn trial(kind: &str, number: usize, of: usize) -> Self {
        let of_all = if of > 0 { format!("/{of}") } else { String::new() };
        Self { name: format!("trial {number}{of_all} ({kind})"), number, of }
    }
}

/// Somebody who wants to know how a run goes on.
pub trait Observer<R> {
    /// Where files that belong to the run may lie; `None` of an observer that keeps none.
    fn directory(&self) -> Option<&Directory> {
        None
    }
    /// What the measurement itself takes is known: before the first step, if at all.
    fn costs(&mut self, _so_far: &R) {}
    /// The run takes at least that long, for a reason that goes before the time asked for.
    fn takes(&mut self, _least: Duration, _why: &str) {}
    /// Why a part is not measured; the rest is.
    fn warns(&mut self, _why: &dyn Error) {}
    /// The run waits until this command is run on another host.
    fn awaits(&mut self, _command: &str) {}
    /// A step begins; `live` moves while it runs.
    fn begins(&mut self, _step: Step, _live: &Arc<Live>) {}
    /// Whether [`Self::shows`] is of use.
    fn looks(&self) -> bool {
        false
    }
    /// What a run without steps has so far, about once a second.
    fn shows(&mut self, _so_far: &R) {}
    /// Whether somebody has asked since the last call that a run without steps keeps what it has.
    fn is_asked(&mut self) -> bool {
        false
    }
    /// This is all there is so far: before the first step, and after each.
    fn keep(&mut self, _so_far: &Progressed<R>) -> io::Result<()> {
        Ok(())
    }
}

/// A run that is not watched.
impl<R> Observer<R> for () {}
