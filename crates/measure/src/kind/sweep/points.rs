//! Trials put together, and what they are worth.

use std::collections::{BTreeMap, BTreeSet};

use netfathom_model::plan::{Combination, SweepEnds};
use netfathom_model::record::{
    Cause, SweepPoint, SweepRate, SweepResult, SweepTrial, TransferEnd, TransferResult,
};
use netfathom_model::verdict::{Finding, Level, Verdict};
use netfathom_stats::{mean, median};

use super::path;
use crate::ground::observer::Progressed;

/// Puts a trial to its point, which is made with the first.
pub fn add(result: &mut SweepResult, c: Combination, index: u32, trial: TransferResult) {
    let is = |p: &SweepPoint| {
        (p.socket_buffer_bytes, p.write_bytes, p.no_delay)
            == (c.socket_buffer_bytes, c.write_bytes, c.no_delay)
    };
    let granted_buffer_bytes = trial.granted_buffer_bytes;
    let trial = trial_of(&result.plan.ends, index, trial);
    let at = result.points.iter().position(is).unwrap_or_else(|| {
        result.points.push(SweepPoint {
            socket_buffer_bytes: c.socket_buffer_bytes,
            granted_buffer_bytes,
            write_bytes: c.write_bytes,
            no_delay: c.no_delay,
            trials: Vec::new(),
            rate: None,
            cause: None,
        });
        result.points.len() - 1
    });
    let point = &mut result.points[at];
    point.trials.push(trial);
    (point.rate, point.cause) = (rate(&point.trials), cause(&point.trials));
    result.points.sort_by_key(|p| (p.write_bytes, p.no_delay, p.socket_buffer_bytes.unwrap_or(u32::MAX)));
}

fn trial_of(ends: &SweepEnds, index: u32, trial: TransferResult) -> SweepTrial {
    let TransferResult { mut streams, explanation, end, .. } = trial;
    // A sweep has one stream a transfer.
    let stream = streams.pop();
    SweepTrial {
        index,
        bytes: stream.as_ref().map_or(0, |s| s.bytes),
        calls: stream.as_ref().map_or(0, |s| s.calls),
        duration_ns: stream.as_ref().map_or(0, |s| s.duration_ns),
        closed_ns: stream.as_ref().and_then(|s| s.closed_ns),
        end,
        tcp: stream.as_ref().and_then(|s| s.tcp),
        calls_took: stream.as_ref().and_then(|s| s.calls_took),
        explanation: explanation.map(|explanation| path::known(ends, explanation)),
    }
}

fn rate(trials: &[SweepTrial]) -> Option<SweepRate> {
    let mut rates: Vec<f64> = trials.iter().filter_map(SweepTrial::bytes_per_s).collect();
    rates.sort_by(f64::total_cmp);
    let n = rates.len();
    Some(SweepRate {
        median_bytes_per_s: (rates.get(n.checked_sub(1)? / 2)? + rates.get(n / 2)?) / 2.0,
        lowest_bytes_per_s: *rates.first()?,
        highest_bytes_per_s: *rates.last()?,
        interval_bytes_per_s: median(&rates).map(|m| (m.low, m.high)),
        n: n as u32,
    })
}

/// What held most trials up; of several that are equally frequent the one with the largest share.
fn cause(trials: &[SweepTrial]) -> Option<(Cause, f64)> {
    let mut shares: BTreeMap<Cause, Vec<f64>> = BTreeMap::new();
    for explanation in trials.iter().filter_map(|t| t.explanation.as_ref()) {
        shares.entry(explanation.cause).or_default().push(explanation.share);
    }
    let weight = |of: &[f64]| (of.len(), of.iter().sum::<f64>());
    let most = shares.into_iter().max_by(|(_, a), (_, b)| {
        let (a, b) = (weight(a), weight(b));
        a.0.cmp(&b.0).then(a.1.total_cmp(&b.1))
    });
    most.map(|(cause, of)| (cause, mean(&of)))
}

pub fn conclude(p: &mut Progressed<SweepResult>) {
    p.verdict = judge(&p.result);
    p.findings = not_granted(&p.result).into_iter().collect();
}

fn judge(result: &SweepResult) -> Verdict {
    let mut verdict = Verdict::default();
    let trials = || result.points.iter().flat_map(|p| &p.trials);
    let (there, planned) = (trials().count(), result.plan.order().len());
    if there == 0 {
        verdict.lower(Level::Void, "no trial was finished");
        return verdict;
    }
    let broken: Vec<&str> = trials()
        .filter_map(|t| match &t.end {
            TransferEnd::Broken { why } => Some(why.as_str()),
            _ => None,
        })
        .collect();
    if let Some(&why) = broken.first() {
        let level = if broken.len() == there { Level::Void } else { Level::Degraded };
        verdict.lower(level, format!("{} of {there} trials failed, the first because: {why}", broken.len()));
    }
    if there < planned {
        verdict.lower(Level::Degraded, format!("only {there} of {planned} trials were finished"));
    }
    verdict
}

/// Buffers that the system's limit has cut: their points are all of the same buffer.
fn not_granted(result: &SweepResult) -> Option<Finding> {
    let asked_and_granted = |p: &SweepPoint| Some((p.socket_buffer_bytes?, p.granted_buffer_bytes?));
    let cut: BTreeSet<(u32, u32)> = result
        .points
        .iter()
        .filter_map(asked_and_granted)
        .filter(|(asked, granted)| granted < asked)
        .collect();
    let &(most, granted) = cut.last()?;
    let asked: Vec<String> = cut.iter().map(|(asked, _)| asked.to_string()).collect();
    Some(Finding {
        seen: format!("send buffers of {} bytes were asked for, and {granted} were granted", asked.join(", ")),
        cause: "the system's limit is net.core.wmem_max; what the kernel chooses by itself (auto) may go beyond it".into(),
        evidence: "the size was read back from each socket".into(),
        remedy: format!("raise it: sysctl -w net.core.wmem_max={most}"),
    })
}

#[cfg(test)]
mod tests {
    use netfathom_model::record::Explanation;

    use super::*;

    fn trial(mega: u64, end: TransferEnd, cause: Cause, share: f64) -> SweepTrial {
        let explanation = Explanation {
            cause,
            share,
            text: String::new(),
            evidence: Vec::new(),
            remedy: String::new(),
            others: Vec::new(),
        };
        SweepTrial {
            index: 0,
            bytes: mega * 1_000_000,
            calls: 1,
            duration_ns: 1,
            closed_ns: Some(1_000_000_000),
            end,
            tcp: None,
            calls_took: None,
            explanation: Some(explanation),
        }
    }

    #[test]
    fn a_rate_is_that_until_the_receiver_had_all() {
        let whole = |mega| trial(mega, TransferEnd::Whole, Cause::Path, 0.5);
        let broken = trial(900, TransferEnd::Broken { why: String::new() }, Cause::Path, 0.5);
        let rate = rate(&[whole(3), broken, whole(1), whole(7)]).unwrap();
        assert_eq!((rate.median_bytes_per_s, rate.n, rate.interval_bytes_per_s), (3e6, 3, None));
        assert_eq!((rate.lowest_bytes_per_s, rate.highest_bytes_per_s), (1e6, 7e6));
        let six: Vec<SweepTrial> = (1..=6).map(whole).collect();
        let rate = super::rate(&six).unwrap();
        assert_eq!((rate.median_bytes_per_s, rate.interval_bytes_per_s), (3.5e6, Some((1e6, 6e6))));
        assert!(super::rate(&[]).is_none());
    }

    #[test]
    fn the_cause_is_that_of_most() {
        let of = |cause, share| trial(1, TransferEnd::Whole, cause, share);
        let trials = [of(Cause::Path, 0.9), of(Cause::SendBuffer, 0.4), of(Cause::SendBuffer, 0.6)];
        assert_eq!(cause(&trials), Some((Cause::SendBuffer, 0.5)));
        assert_eq!(cause(&trials[..2]), Some((Cause::Path, 0.9)));
        assert_eq!(cause(&[]), None);
    }
}
