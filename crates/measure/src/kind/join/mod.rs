//! `netfathom join`: stack time from captures and message logs, for hosts where netfathom
//! cannot run beside the load.
//!
//! [`run`] is the map: each capture is joined with each log, each capture with the next, and
//! what is between the application and the first or the last capture is the stack's time.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use netfathom_capture::join::Joined;
use netfathom_model::plan::JoinPlan;
use netfathom_model::record::{CaptureFile, JoinResult, KindCount, LogFile, LogKinds};

use crate::ground::environment;
use crate::ground::error::RunError;
use crate::ground::observer::{Live, Observer, Progressed, Step};

mod between;
mod files;
mod findings;
mod judge;
mod pair;
mod pipe;
mod spans;
mod times;

pub use files::{JoinError, sort};

use between::Hop;
use pair::Pair;

/// Joins. Ends early, keeping the finished pairs of files, once `stop` is set.
pub fn run(
    plan: &JoinPlan,
    observer: &mut impl Observer<JoinResult>,
    stop: &AtomicBool,
) -> Result<Progressed<JoinResult>, RunError> {
    files::check_inputs(plan)?;
    let result = JoinResult {
        plan: plan.clone(),
        captures: Vec::new(),
        logs: Vec::new(),
        clocks: Vec::new(),
        spans: Vec::new(),
    };
    let mut progressed = Progressed::new(environment::read(Vec::new(), Vec::new(), None), result);
    conclude(&mut progressed, &[], &[]);
    observer.keep(&progressed)?;
    let (captures, logs) = (plan.captures.len(), plan.logs.len());
    let (mut number, of) = (0, captures * logs + captures - 1);
    let mut begin = |name| {
        number += 1;
        let live = Arc::new(Live::default());
        observer.begins(Step { name, number, of }, &live);
        live
    };
    let mut pairs = Vec::new();
    let all = (0..captures).flat_map(|capture| (0..logs).map(move |log| (capture, log)));
    for (capture, log) in all.take_while(|_| !stop.load(Relaxed)) {
        let name = format!("{} with {}", plan.captures[capture], plan.logs[log]);
        let live = begin(name);
        pairs.extend(whole(pair::join(plan, (capture, log), &live, stop), stop)?);
    }
    let mut ways = Vec::new();
    for capture in (1..captures).take_while(|_| !stop.load(Relaxed)) {
        let name = format!("{} to {}", plan.captures[capture - 1], plan.captures[capture]);
        let live = begin(name);
        ways.extend(whole(between::join(plan, capture, &live, stop), stop)?);
    }
    conclude(&mut progressed, &pairs, &ways);
    observer.keep(&progressed)?;
    Ok(progressed)
}

/// What came of two files, unless an end was wanted meanwhile: of files that were read in part
/// only it would look as if one had not what the other has.
fn whole<T>(came: Result<T, JoinError>, stop: &AtomicBool) -> Result<Option<T>, JoinError> {
    if stop.load(Relaxed) { Ok(None) } else { Ok(Some(came?)) }
}

/// Draws every conclusion from the pairs that were joined.
fn conclude(p: &mut Progressed<JoinResult>, pairs: &[Pair], ways: &[Hop]) {
    let plan = p.result.plan.clone();
    p.result.captures =
        (0..plan.captures.len()).filter_map(|capture| capture_file(&plan, capture, pairs)).collect();
    p.result.logs = (0..plan.logs.len()).filter_map(|log| log_file(&plan, log, pairs)).collect();
    p.result.clocks = pairs.iter().map(|pair| pair.offset(plan.clock)).collect();
    let spans = spans::all(&plan, pairs, ways);
    p.verdict = judge::run(&plan, pairs, ways, &spans, &p.result.clocks);
    p.findings = findings::all(&plan, pairs, &spans);
    p.result.spans = spans.into_iter().map(|span| span.span).collect();
}

/// What was in a capture: of the log with which most of it was joined.
fn capture_file(plan: &JoinPlan, capture: usize, pairs: &[Pair]) -> Option<CaptureFile> {
    let of_capture = || pairs.iter().filter(|pair| pair.capture == capture);
    // Of those with the same number the first.
    let pair = of_capture().rev().max_by_key(|pair| pair.joined_count())?;
    let joined = &pair.joined;
    let by_log = of_capture().map(|pair| LogKinds { log: pair.log as u32, kinds: kinds(pair) });
    Some(CaptureFile {
        name: plan.captures[capture].clone(),
        format: pair.capture_format.clone(),
        links: joined.links.iter().map(|link| link.name()).collect(),
        steps_ns: joined.resolutions.iter().map(|resolution| resolution.step_ns()).collect(),
        packets: joined.packets,
        bytes: joined.bytes,
        span_ns: joined.last_ns.abs_diff(joined.first_ns),
        kinds: kinds(pair),
        by_log: if plan.logs.len() > 1 { by_log.collect() } else { Vec::new() },
        backwards: joined.backwards,
        untimed: joined.untimed,
        damage: joined.capture_damage.as_ref().map(ToString::to_string),
    })
}

fn kinds(pair: &Pair) -> Vec<KindCount> {
    let counts = pair.joined.kinds.counts().filter(|(_, count)| *count > 0);
    counts.map(|(kind, count)| KindCount { kind, count }).collect()
}

fn log_file(plan: &JoinPlan, log: usize, pairs: &[Pair]) -> Option<LogFile> {
    let of_log: Vec<&Pair> = pairs.iter().filter(|pair| pair.log == log).collect();
    let first = of_log.first()?;
    let each = |count: fn(&Joined) -> u64| of_log.iter().map(|pair| count(&pair.joined)).collect();
    Some(LogFile {
        name: plan.logs[log].clone(),
        format: first.log_format.clone(),
        messages: first.joined.messages,
        has_sent: first.columns.sent,
        has_received: first.columns.received,
        clock: first.joined.clock.clock_source(),
        step_ns: first.joined.log_resolution.step_ns(),
        missing: each(|joined| joined.missing),
        reordered: each(|joined| joined.reordered),
        unusable: first.joined.repeated,
        damage: first.joined.log_damage.as_ref().map(ToString::to_string),
    })
}
