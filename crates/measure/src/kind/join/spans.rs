//! The spans that are reported, in the order in which a message passes them.

use netfathom_capture::join::Jump;
use netfathom_model::path::Direction;
use netfathom_model::plan::{ClockChoice, JoinPlan};
use netfathom_model::record::JoinedSpan;
use netfathom_model::verdict::Part;

use super::between::Hop;
use super::pair::Pair;
use super::times::{Times, TimesSummary};
use crate::load::window::GRAIN;

/// A span, and how many of its times were of clocks that are not one.
#[derive(Debug)]
pub struct Span {
    pub span: JoinedSpan,
    pub apart: u64,
    pub jump: Option<Jump>,
}

/// A shortest time that nearly all of a span's times consist of: of clocks that are apart, or of a long path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Constant {
    pub least_ns: i64,
    /// From the first quartile of the times to the third.
    pub spread_ns: i64,
    /// Whether no path is so long.
    pub beyond_paths: bool,
}

/// Quartiles of fewer times say little.
const FEWEST: u64 = 20;
/// A way by a geostationary satellite takes 0.3 s, by two of them 0.6 s; a queue that holds more is emptied and filled, so
/// that its times differ by as much.
const LONGEST_PATH_NS: i64 = 1_000_000_000;
/// By which factor the shortest time is more than the spread: of a path that is too long, and of one that may be so.
const BEYOND: i64 = 10;
const SUSPECT: i64 = 100;
/// NTP keeps clocks together to a millisecond or so; stacks take less.
const LEAST_SUSPECT_NS: i64 = 1_000_000;

impl Span {
    /// What all its times have in common, if that is so much more than they differ by that clocks may be the reason.
    pub fn constant(&self) -> Option<Constant> {
        let times = netfathom_stats::Distribution::from(&self.span.times);
        let (first, third) = times.quantile(0.25).zip(times.quantile(0.75))?;
        let least_ns = self.span.times.min_ns;
        // Times that fall into one bucket of the histogram may still differ by its width.
        let spread_ns = (third - first).max(least_ns >> GRAIN);
        let is_many = |factor: i64| least_ns / factor > spread_ns;
        let beyond_paths = least_ns > LONGEST_PATH_NS && is_many(BEYOND);
        let suspect = least_ns > LEAST_SUSPECT_NS && is_many(SUSPECT);
        let found = Constant { least_ns, spread_ns, beyond_paths };
        (self.span.times.n >= FEWEST && (beyond_paths || suspect)).then_some(found)
    }

    pub fn part(&self) -> Part {
        self.span.direction.map_or(Part::Between, Part::from)
    }

    /// Such as `a.pcap to application`.
    pub fn name(&self) -> String {
        format!("{} to {}", self.span.from, self.span.to)
    }
}

/// From the application to the first capture, from each capture to the next, and from the
/// last to the application.
pub fn all(plan: &JoinPlan, pairs: &[Pair], ways: &[Hop]) -> Vec<Span> {
    let name = |capture: usize| plan.captures[capture].as_str();
    let last = plan.captures.len() - 1;
    let mut spans = Vec::new();
    // What a message says of its sending is of no use without the clock of who sent it.
    for pair in pairs.iter().filter(|pair| pair.capture == 0 && pair.columns.sent) {
        let application = application(plan, pairs, pair, |pair| pair.columns.sent);
        spans.extend(span(plan, application, name(0), Some(Direction::Tx), (&pair.out, pair.jump())));
    }
    for way in ways {
        spans.extend(span(plan, name(way.to - 1).into(), name(way.to), None, (&way.times, way.jump)));
    }
    for pair in pairs.iter().filter(|pair| pair.capture == last && pair.columns.received) {
        let application = application(plan, pairs, pair, |pair| pair.columns.received);
        let times = (&pair.inward, pair.jump());
        spans.extend(span(plan, name(last).into(), &application, Some(Direction::Rx), times));
    }
    spans
}

/// The application, by its log where there are several of its kind.
fn application(plan: &JoinPlan, pairs: &[Pair], pair: &Pair, is_of_kind: fn(&Pair) -> bool) -> String {
    let several = pairs.iter().filter(|other| other.capture == pair.capture && is_of_kind(other)).count() > 1;
    if several { format!("application ({})", plan.logs[pair.log]) } else { "application".into() }
}

fn span(
    plan: &JoinPlan,
    from: String,
    to: &str,
    direction: Option<Direction>,
    (times, jump): (&Times, Option<Jump>),
) -> Option<Span> {
    let apart = times.apart;
    let TimesSummary { times, series, peak_per_s, uncertainty_ns } = times.clone().summary();
    // What the clocks were fitted by may be off by as much again.
    let fitted = if plan.clock == ClockChoice::Fitted { 2.0 } else { 1.0 };
    let uncertainty_ns = fitted * uncertainty_ns;
    let span = JoinedSpan { from, to: to.into(), direction, times, uncertainty_ns, series, peak_per_s };
    (span.times.n + apart > 0).then_some(Span { span, apart, jump })
}
