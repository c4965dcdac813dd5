//! Points of a sweep: their settings, what limited them, and what was asked for.

use std::collections::BTreeSet;

use netfathom_model::plan::{SweepEnds, SweepPlan};
use netfathom_model::print::{bit_rate, count, listed, percent};
use netfathom_model::record::{Cause, Explanation, SweepPoint, SweepRate, SweepResult};
use netfathom_model::units::format_duration;

use crate::story::Words;
use crate::story::place::path;
use crate::story::transfer::limited;

pub(super) fn finished(result: &SweepResult) -> String {
    let trials: usize = result.points.iter().map(|p| p.trials.len()).sum();
    format!("{trials} of {} trials are finished", planned(&result.plan))
}

/// How many trials there are to be. Counted, not listed: what a damaged plan asks for would not fit in memory.
fn planned(plan: &SweepPlan) -> u128 {
    let buffers = distinct(&plan.socket_buffers_bytes);
    let points = [distinct(&plan.writes_bytes), distinct(&plan.no_delay), buffers];
    points.iter().map(|&n| n as u128).product::<u128>() * u128::from(plan.trials)
}

fn distinct<T: Ord>(all: &[T]) -> usize {
    all.iter().collect::<BTreeSet<_>>().len()
}

pub(super) fn ends(plan: &SweepPlan) -> String {
    match &plan.ends {
        SweepEnds::Lab { wire: None } => "lab".into(),
        SweepEnds::Loopback => "loopback".into(),
        SweepEnds::Host { name, port } => format!("to {name}, port {port}"),
        SweepEnds::Lab { wire: Some(wire) } => format!("lab, {}", path(wire)),
    }
}

/// A send buffer as it was asked for: `16k`, `1448`, `auto`.
pub(super) fn buffer(asked: Option<u32>) -> String {
    match asked {
        None => "auto".into(),
        Some(b) if b >= 1 << 20 && b % (1 << 20) == 0 => format!("{}m", b >> 20),
        Some(b) if b >= 1 << 13 && b % 1024 == 0 => format!("{}k", b >> 10),
        Some(b) => b.to_string(),
    }
}

/// The settings of points that make one line.
pub(super) fn series(point: &SweepPoint) -> String {
    let no_delay = if point.no_delay { ", TCP_NODELAY" } else { "" };
    format!("writes of {} bytes{no_delay}", count(point.write_bytes))
}

/// Points that make one line, which follow each other.
pub(super) fn lines(result: &SweepResult) -> impl Iterator<Item = &[SweepPoint]> {
    result.points.chunk_by(|a, b| (a.write_bytes, a.no_delay) == (b.write_bytes, b.no_delay))
}

/// What limited a point, and how much of the time.
pub(super) fn cause(point: &SweepPoint) -> String {
    match point.cause {
        None if point.rate.is_none() => "broke off".into(),
        None => "unknown".into(),
        Some((cause @ Cause::TooShort, _)) => cause.name().into(),
        Some((cause, share)) => format!("{} {}", cause.name(), percent(share)),
    }
}

pub(super) fn median(rate: Option<SweepRate>) -> String {
    rate.map_or_else(|| "n/a".into(), |r| bit_rate(r.median_bytes_per_s))
}

/// The point with the highest median, and the one with the lowest.
fn extremes(result: &SweepResult) -> Option<[(&SweepPoint, f64); 2]> {
    let known = || result.points.iter().filter_map(|p| Some((p, p.rate?.median_bytes_per_s)));
    let by_rate = |a: &(&SweepPoint, f64), b: &(&SweepPoint, f64)| a.1.total_cmp(&b.1);
    Some([known().max_by(by_rate)?, known().min_by(by_rate)?])
}

/// Such as `96.6 Mb/s with send buffer auto (best), 171 kb/s with 1448 (worst)`; where points differ in more,
/// `5.24 Gb/s (-b 4096 -l 8192) at best, 119 Mb/s (-b 4096 -l 64) at worst`.
pub(in crate::story) fn answer(result: &SweepResult) -> String {
    let Some([(fast, highest), (slow, lowest)]) = extremes(result) else {
        return "no transfer came to its end, so there is no answer yet".into();
    };
    let answer = |p: &SweepPoint, rate, what: &str| {
        format!("{} with send buffer {}{what}", bit_rate(rate), buffer(p.socket_buffer_bytes))
    };
    // A single point is not two.
    if std::ptr::eq(fast, slow) {
        return answer(fast, highest, "");
    }
    let overlap = if overlap(fast, slow) { "; trials overlap" } else { "" };
    if lines(result).nth(1).is_none() {
        let (slow, lowest) = (buffer(slow.socket_buffer_bytes), bit_rate(lowest));
        return format!("{}, {lowest} with {slow} (worst){overlap}", answer(fast, highest, " (best)"));
    }
    let flags = |p: &SweepPoint, rate| {
        let no_delay = if p.no_delay { " -D" } else { "" };
        let buffer = buffer(p.socket_buffer_bytes);
        format!("{} (-b {buffer} -l {}{no_delay})", bit_rate(rate), p.write_bytes)
    };
    format!("{} at best, {} at worst{overlap}", flags(fast, highest), flags(slow, lowest))
}

/// The interval of a median, or with too few trials for one, from the slowest to the fastest.
pub(super) fn range(rate: &SweepRate) -> (f64, f64) {
    rate.interval_bytes_per_s.unwrap_or((rate.lowest_bytes_per_s, rate.highest_bytes_per_s))
}

/// Whether chance may have made one faster than the other.
fn overlap(fast: &SweepPoint, slow: &SweepPoint) -> bool {
    let [fast, slow] = [fast, slow].map(|point| point.rate.as_ref().map(range));
    fast.zip(slow).is_some_and(|(fast, slow)| fast.0 <= slow.1)
}

/// What limited the fastest and the slowest point, and how it was measured.
pub(super) fn remarks(result: &SweepResult) -> Vec<String> {
    let plan = &result.plan;
    let how =
        format!("{} trials of {} per point, {}", plan.trials, format_duration(plan.time_ns), ends(plan));
    let limit = |what: &str, p: &SweepPoint| {
        let by = p.cause.map_or_else(|| cause(p), |(cause, share)| limited(cause, share));
        let range = p.rate.as_ref().filter(|rate| rate.n > 1).map_or_else(String::new, |rate| {
            let (from, to) = range(rate);
            format!(": {} to {} in {} trials", bit_rate(from), bit_rate(to), rate.n)
        });
        format!("{what}{range}; {}, {by}", series(p))
    };
    let Some([(fast, _), (slow, _)]) = extremes(result) else { return Vec::new() };
    let worst = (!std::ptr::eq(fast, slow)).then(|| limit("worst", slow));
    [Some(limit("best", fast)), worst, Some(how)].into_iter().flatten().collect()
}

/// What was asked for.
pub(super) fn plan_words(plan: &SweepPlan) -> Words {
    let received = plan.receive_buffer_bytes.map(|bytes| ("receive buffer", buffer(Some(bytes))));
    let words = vec![
        ("ends", ends(plan)),
        ("send buffers", listed(plan.socket_buffers_bytes.iter().map(|&b| buffer(b)))),
        ("bytes per write", listed(&plan.writes_bytes)),
        ("TCP_NODELAY", listed(plan.no_delay.iter().map(|&on| if on { "on" } else { "off" }))),
        ("time of a trial", format_duration(plan.time_ns)),
        ("trials per point", plan.trials.to_string()),
        ("seed", plan.seed.to_string()),
    ];
    words.into_iter().chain(received).collect()
}

/// The causes that were met, the most frequent first: how many points, and the explanation with
/// the largest share.
pub(super) fn causes(result: &SweepResult) -> Vec<(Cause, usize, &Explanation)> {
    let mut found: Vec<(Cause, usize, &Explanation)> = Vec::new();
    for point in &result.points {
        let Some((cause, _)) = point.cause else { continue };
        let explained =
            point.trials.iter().filter_map(|t| t.explanation.as_ref()).filter(|e| e.cause == cause);
        let Some(best) = explained.max_by(|a, b| a.share.total_cmp(&b.share)) else { continue };
        match found.iter_mut().find(|known| known.0 == cause) {
            None => found.push((cause, 1, best)),
            Some(known) => {
                known.1 += 1;
                known.2 = if best.share > known.2.share { best } else { known.2 };
            }
        }
    }
    found.sort_by_key(|&(cause, points, _)| (std::cmp::Reverse(points), cause));
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_buffer_is_written_as_it_is_asked_for() {
        let all = [Some(1448), Some(4096), Some(16_384), Some(65_537), Some(1 << 20), Some(1536 << 10), None];
        assert_eq!(all.map(buffer), ["1448", "4096", "16k", "65537", "1m", "1536k", "auto"]);
    }
}
