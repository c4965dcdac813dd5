//! The spans that are told, in the order in which a message passes them.

use netfathom_model::path::Direction;
use netfathom_model::plan::JoinPlan;
use netfathom_model::record::JoinedSpan;

use super::between::Way;
use super::pair::Pair;
use super::times::Times;

/// A span, and how many of its times were of clocks that are not one.
#[derive(Debug)]
pub struct Span {
    pub span: JoinedSpan,
    pub apart: u64,
}

/// From the application to the first capture, from each capture to the next, and from the
/// last to the application.
pub fn all(plan: &JoinPlan, pairs: &[Pair], ways: &[Way]) -> Vec<Span> {
    let name = |capture: usize| plan.captures[capture].as_str();
    let last = plan.captures.len() - 1;
    let mut spans = Vec::new();
    // What a message says of its sending is of no use without the clock of who sent it.
    for pair in pairs.iter().filter(|pair| pair.capture == 0 && pair.columns.sent) {
        let application = application(plan, pairs, pair, |pair| pair.columns.sent);
        spans.extend(span(application, name(0), Some(Direction::Tx), &pair.out));
    }
    for way in ways {
        spans.extend(span(name(way.to - 1).into(), name(way.to), None, &way.times));
    }
    for pair in pairs.iter().filter(|pair| pair.capture == last && pair.columns.received) {
        let application = application(plan, pairs, pair, |pair| pair.columns.received);
        spans.extend(span(name(last).into(), &application, Some(Direction::Rx), &pair.inward));
    }
    spans
}

/// The application, by its log where there are several of its kind.
fn application(plan: &JoinPlan, pairs: &[Pair], pair: &Pair, is_of_kind: fn(&Pair) -> bool) -> String {
    let several = pairs.iter().filter(|other| other.capture == pair.capture && is_of_kind(other)).count() > 1;
    if several { format!("application ({})", plan.logs[pair.log]) } else { "application".into() }
}

fn span(from: String, to: &str, direction: Option<Direction>, times: &Times) -> Option<Span> {
    let apart = times.apart;
    let (times, series, peak_per_s) = times.clone().told();
    let span = JoinedSpan { from, to: to.into(), direction, times, series, peak_per_s };
    (span.times.n + apart > 0).then_some(Span { span, apart })
}
