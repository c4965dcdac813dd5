//! Observation points of an unknown program: system calls that are characteristic of it.
//!
//! Two runs are recorded. A call that both make equally often comes from what the program does, not from chance;
//! rare ones mark a place better than those that are made all the time. Of them those are taken that divide the
//! time of a run most evenly.

use std::collections::BTreeMap;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use itertools::Itertools as _;
use netfathom_bpf::tree::{Called, Recorded, Tree, TreeError, Watching, call_name};
use netfathom_model::plan::CostPlan;
use netfathom_sys::netns::Namespace;
use netfathom_sys::process::{Process, Waited, reap};

use super::benchmark_program::{GRACE, SpanSource, first_limit, start_there};
use crate::kind::cost::error::{CostError, step};
use crate::kind::cost::observation::{CallPoint, Points};
use crate::kind::cost::program::{Family, Starting, fresh_word};

/// Marks that are chosen, at most.
const MOST: usize = 8;
/// Calls that are made more often than this tell nothing of where a program is.
const MOST_CALLS: usize = 200;

/// Runs the command twice and chooses.
pub fn choose(
    command: &(dyn Fn() -> Command + Sync),
    home: Option<Arc<Namespace>>,
    plan: &CostPlan,
    stop: &AtomicBool,
) -> Result<(Points, SpanSource), CostError> {
    // Its own calls are what a program is asked for; there is no other way to time them.
    let (asked, remedy) = match plan.own {
        true => ("--self", "it needs CAP_BPF, CAP_PERFMON and Linux 5.12"),
        false => ("--sequence auto", "name files with --marks instead"),
    };
    let refused = |error: TreeError| {
        CostError::Benchmark(format!("{asked}: cannot record system calls: {error}; {remedy}"))
    };
    let watching = Watching { record_calls: true, ..Watching::default() };
    if plan.own {
        // What the trials will load as well: better refused now than after two runs.
        let marks = Watching { calls: vec![(0, 1)], ..watching.clone() };
        Tree::attach(&marks).map_err(&refused)?;
    }
    let tree =
        Tree::attach(&watching).and_then(|mut tree| tree.arm(true).map(|()| tree)).map_err(&refused)?;
    let failed = |error: String| CostError::Benchmark(format!("{asked}: {error}"));
    let runs = [(); 2].map(|()| record(&tree, command, home.as_deref(), plan, stop, failed));
    let [first, second] = runs;
    let chosen = chosen(&first?.first, &second?.first);
    if chosen.is_empty() {
        return Err(CostError::Benchmark(format!(
            "{asked}: no system call is made equally often in two runs; name files with --marks"
        )));
    }
    let name = |point: &CallPoint| format!("{} #{}", call_name(point.number), point.k);
    let names = chosen.iter().map(name).collect();
    Ok((Points::Calls(chosen), SpanSource::Points(names)))
}

fn record(
    tree: &Tree,
    command: &(dyn Fn() -> Command + Sync),
    home: Option<&Namespace>,
    plan: &CostPlan,
    stop: &AtomicBool,
    failed: impl Fn(String) -> CostError,
) -> Result<Recorded, CostError> {
    let limit = first_limit(plan.most_ns);
    tree.reset().map_err(|e| failed(e.to_string()))?;
    let word = fresh_word();
    let mut command = command();
    command.env(Family::WORD, &word).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let start = || {
        tree.adopt_next_child();
        command.spawn()
    };
    let starting = Starting::now();
    let started = start_there(&plan.cpu, home, start).map_err(&failed)?;
    let child = started.map_err(|e| failed(e.to_string()))?;
    let family = starting.family("the benchmark", word.clone(), child.id(), false);
    let process = Process::open(child.id()).map_err(step("watch the program"))?;
    let waited = process.wait(limit, stop).map_err(step("wait for the program"))?;
    family.end(if waited == Waited::Ended { GRACE } else { Duration::ZERO })?;
    let ended = reap(child).map_err(step("wait for the program"))?;
    if waited == Waited::TimeUp {
        return Err(failed(format!(
            "the program had not ended after {} s and was killed: it has to end by itself, within --time",
            limit.as_secs()
        )));
    }
    if !ended.status.success() {
        return Err(failed(format!("the program failed ({})", ended.status)));
    }
    tree.recorded().map_err(|e| failed(e.to_string()))
}

/// The points of the first run that are in both, nearest to even parts of its time.
fn chosen(first: &[Called], second: &[Called]) -> Vec<CallPoint> {
    let counts = [first, second].map(|calls| calls.iter().counts_by(|call| call.number));
    let same = |call: &Called| {
        let count = counts[0][&call.number];
        count <= MOST_CALLS && counts[1].get(&call.number) == Some(&count)
    };
    let mut seen: BTreeMap<u64, u64> = BTreeMap::new();
    let points: Vec<(u64, CallPoint)> = first
        .iter()
        .map(|call| {
            let k = seen.entry(call.number).or_default();
            *k += 1;
            (call, CallPoint { number: call.number as u32, k: *k })
        })
        .filter(|(call, _)| same(call))
        .map(|(call, point)| (call.at_ns, point))
        .collect();
    let (Some(start), Some(end)) = (first.first(), first.last()) else { return Vec::new() };
    let part = |i: usize| start.at_ns + (end.at_ns - start.at_ns) * (i as u64 + 1) / (MOST as u64 + 1);
    let nearest = |i| points.iter().min_by_key(|(at_ns, _)| at_ns.abs_diff(part(i))).copied();
    let mut chosen: Vec<(u64, CallPoint)> = (0..MOST).filter_map(nearest).collect();
    chosen.sort_by_key(|&(at_ns, _)| at_ns);
    chosen.dedup();
    chosen.into_iter().map(|(_, point)| point).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn calls(of: &[(u64, u64)]) -> Vec<Called> {
        of.iter().map(|&(at_ns, number)| Called { at_ns, number }).collect()
    }

    #[test]
    fn calls_that_both_runs_make_equally_often_divide_the_time() {
        // 5 differs from run to run; 7 is made at even times.
        let first = calls(&[(0, 5), (10, 7), (20, 5), (50, 7), (90, 7), (100, 5)]);
        let second = calls(&[(0, 5), (10, 7), (50, 7), (90, 7), (100, 5)]);
        let points = chosen(&first, &second);
        assert_eq!(points.iter().map(|p| (p.number, p.k)).collect::<Vec<_>>(), [(7, 1), (7, 2), (7, 3)]);
        assert!(chosen(&calls(&[(0, 1)]), &calls(&[(0, 2)])).is_empty());
        assert!(chosen(&[], &[]).is_empty());
    }

    #[test]
    fn what_is_called_all_the_time_marks_no_place() {
        let many: Vec<(u64, u64)> = (0..1000).map(|at| (at, 1)).chain([(500, 2)]).collect();
        let points = chosen(&calls(&many), &calls(&many));
        assert_eq!(points.iter().map(|p| p.number).collect::<Vec<_>>(), [2]);
    }
}
