//! A benchmark that runs already and marks itself: it is watched for a while in each trial.
//!
//! It has no start and no end. From one mark of a thread to its next one is a span; what is compared is the mean
//! time of each kind of span.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread;
use std::time::{Duration, Instant};

use itertools::Itertools as _;
use netfathom_mark::listen::{ListenError, Listener, Mark};
use netfathom_model::record::{Condition, CostBenchmark};
use netfathom_sys::clock::monotonic_ns;

use super::{BenchmarkRun, Workload};
use crate::kind::cost::error::CostError;

/// How often the ring is emptied: it holds 65,536 marks.
const DRAIN: Duration = Duration::from_millis(5);
const MOST_KINDS: usize = 32;
/// A kind that is there less often than this in the first trial has no mean to speak of.
const LEAST_SPANS: u64 = 5;

/// Why marks are of no use.
pub const DAMAGED: &str = "its ring of marks held what cannot be: another program wrote into it, or its marks have times of another clock";

pub struct Marking {
    name: String,
    pid: u32,
    window: Duration,
    /// From which mark to which, in the order of their first appearance.
    kinds: Vec<(String, String)>,
    lost: u64,
    damaged: u64,
}

impl Marking {
    pub fn new(name: &str, pid: u32, window_ns: u64) -> Result<Self, CostError> {
        // Whether it can be is to be known before anything else is done.
        Listener::of_process(pid).map_err(benchmark_error)?;
        let window = Duration::from_nanos(window_ns);
        Ok(Self { name: name.into(), pid, window, kinds: Vec::new(), lost: 0, damaged: 0 })
    }

    /// What it does for a while: its spans by kind, and from when to when.
    fn watch(&mut self, stop: &AtomicBool) -> Result<(Spans, (u64, u64)), CostError> {
        let from_ns = monotonic_ns();
        let mut listener = Listener::of_process(self.pid).map_err(benchmark_error)?;
        let began = Instant::now();
        let mut spans = Spans::default();
        let mut marks = Vec::new();
        while began.elapsed() < self.window && !stop.load(Relaxed) {
            thread::sleep(DRAIN);
            listener.drain(&mut marks);
            let then = from_ns..=monotonic_ns();
            for mark in marks.drain(..) {
                if then.contains(&mark.at_ns) { spans.add(mark) } else { spans.damaged += 1 }
            }
            if listener.ended() {
                return Err(CostError::Benchmark(format!("--marks-from: process {} has ended", self.pid)));
            }
        }
        spans.damaged += listener.damaged();
        self.lost += listener.lost();
        self.damaged += spans.damaged;
        Ok((spans, (from_ns, monotonic_ns())))
    }
}

fn benchmark_error(error: ListenError) -> CostError {
    CostError::Benchmark(format!("--marks-from: {error}"))
}

#[derive(Default)]
struct Spans {
    last: BTreeMap<(u32, u32), Mark>,
    /// Count and sum, in the order of their first appearance.
    kinds: Vec<((String, String), u64, u64)>,
    /// How often the ring held what no mark of the process leaves there.
    damaged: u64,
}

impl Spans {
    fn add(&mut self, mark: Mark) {
        let thread = (mark.process, mark.thread);
        let Some(before) = self.last.insert(thread, mark.clone()) else { return };
        let kind = (before.name, mark.name);
        let took_ns = mark.at_ns.saturating_sub(before.at_ns);
        if let Some((_, count, sum_ns)) = self.kinds.iter_mut().find(|(known, ..)| *known == kind) {
            (*count, *sum_ns) = (*count + 1, sum_ns.saturating_add(took_ns));
        } else if self.kinds.len() < MOST_KINDS {
            self.kinds.push((kind, 1, took_ns));
        }
    }

    fn mean_ns(&self, kind: &(String, String)) -> Option<f64> {
        let (_, count, sum_ns) = self.kinds.iter().find(|(known, ..)| known == kind)?;
        Some(*sum_ns as f64 / *count as f64)
    }
}

impl Workload for Marking {
    fn name(&self) -> &str {
        &self.name
    }

    fn described(&self) -> CostBenchmark {
        let counted =
            |count: u64, text: &str| if count > 0 { format!("; {count} {text}") } else { String::new() };
        let lost = counted(self.lost, "marks were lost")
            + &counted(self.damaged, "times its ring held what cannot be");
        let seconds = self.window.as_secs_f64();
        CostBenchmark {
            name: self.name.clone(),
            about: format!(
                "process {} runs by itself; a trial is {seconds} s of it, and a span the mean of its kind{lost}",
                self.pid
            ),
            means: "the benchmark's own marks".into(),
            marks: self.kinds.iter().flat_map(|(from, to)| [from, to]).unique().cloned().collect(),
            spans: self.kinds.iter().map(|(from, to)| format!("{from} → {to}")).collect(),
            ..CostBenchmark::default()
        }
    }

    fn has_points(&self) -> bool {
        false
    }

    fn learn(&mut self, stop: &AtomicBool) -> Result<Duration, CostError> {
        let (spans, _) = self.watch(stop)?;
        let often = |(_, count, sum_ns): &&((String, String), u64, u64)| *count >= LEAST_SPANS && *sum_ns > 0;
        if spans.damaged > 0 {
            return Err(CostError::Benchmark(format!("--marks-from: process {}: {DAMAGED}", self.pid)));
        }
        self.kinds = spans.kinds.iter().filter(often).map(|(kind, ..)| kind.clone()).collect();
        if self.kinds.is_empty() && !stop.load(Relaxed) {
            return Err(CostError::Benchmark(format!(
                "--marks-from: process {} makes too few marks in {} s: give a longer --window",
                self.pid,
                self.window.as_secs_f64()
            )));
        }
        Ok(self.window)
    }

    fn run(&mut self, _: &Condition, stop: &AtomicBool) -> Result<BenchmarkRun, CostError> {
        let (spans, during_ns) = self.watch(stop)?;
        let whole = if spans.damaged > 0 { Err(DAMAGED.to_owned()) } else { Ok(()) };
        let mean = |kind: &(String, String)| {
            spans.mean_ns(kind).ok_or_else(|| format!("there was no {} → {} in the trial", kind.0, kind.1))
        };
        Ok(BenchmarkRun {
            spans_ns: whole.and_then(|()| self.kinds.iter().map(mean).collect()),
            during_ns,
            amounts: Vec::new(),
            calls: Vec::new(),
            stopped: stop.load(Relaxed),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_lie_between_marks_of_one_thread() {
        let mut spans = Spans::default();
        let mark =
            |thread, name: &str, at_ns| Mark { name: name.into(), cut: false, at_ns, process: 1, thread };
        for (thread, name, at_ns) in
            [(1, "a", 0), (2, "a", 5), (1, "b", 10), (2, "b", 35), (1, "a", 40), (1, "b", 60)]
        {
            spans.add(mark(thread, name, at_ns));
        }
        let kind = |from: &str, to: &str| spans.mean_ns(&(from.into(), to.into()));
        assert_eq!((kind("a", "b"), kind("b", "a"), kind("a", "a")), (Some(20.0), Some(30.0), None));
    }
}
