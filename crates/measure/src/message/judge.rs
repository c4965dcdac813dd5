//! What the trials are worth.

use netfathom_model::plan::{Carrier, MessagePlan};
use netfathom_model::record::{MessageCell, MessageResult, MessageTrial};
use netfathom_model::verdict::{Level, Verdict};

use super::{cells, stalls};
use crate::observer::Progressed;

/// Part of an interval that the 99th percentile of the lag may take.
const LAG: f64 = 0.1;

/// Ratios, verdict and findings of what is there.
pub fn conclude(p: &mut Progressed<MessageResult>, planned: usize) {
    cells::compare(&mut p.result);
    p.verdict = judge(&p.result, planned);
    p.findings = stalls::findings(&p.result);
}

fn judge(result: &MessageResult, planned: usize) -> Verdict {
    let mut verdict = Verdict::default();
    let trials = || result.cells.iter().flat_map(|cell| &cell.trials);
    let there = trials().count();
    if there == 0 {
        verdict.lower(Level::Void, "no trial was finished");
        return verdict;
    }
    let lost: u64 = trials().map(|t| t.lost).sum();
    if lost > 0 && result.plan.carrier != Carrier::Udp {
        let text = format!("{lost} messages were sent over a stream and did not come: the ends do not agree");
        verdict.lower(Level::Void, text);
    }
    if trials().any(|t| t.messages == 0) {
        verdict.lower(Level::Void, "there are trials in which nothing came");
    }
    if there < planned {
        verdict.lower(Level::Degraded, format!("only {there} of {planned} trials were finished"));
    }
    if let Some(rate) = result.plan.rate_per_s
        && let Some(text) = late(result, rate)
    {
        verdict.lower(Level::Degraded, text);
    }
    if let Some(text) = short(&result.plan, &result.cells) {
        verdict.lower(Level::Degraded, text);
    }
    verdict
}

/// An open loop whose messages leave late is none.
fn late(result: &MessageResult, rate_per_s: f64) -> Option<String> {
    let allowed_ns = LAG * 1e9 / rate_per_s;
    let late = |cell: &&MessageCell| cell.lag.as_ref().is_some_and(|lag| lag.p99_ns as f64 > allowed_ns);
    let cells: Vec<&MessageCell> = result.cells.iter().filter(late).collect();
    let worst = cells.iter().max_by_key(|cell| cell.lag.as_ref().map(|lag| lag.p99_ns))?;
    let p99_us = worst.lag.as_ref()?.p99_ns as f64 / 1e3;
    Some(format!(
        "messages left late in {} of {} cells, most with {} and {} bytes: the 99th percentile is {p99_us:.1} us, \
         more than a tenth of the time between two; choose a lower --rate",
        cells.len(),
        result.cells.len(),
        worst.layer,
        worst.bytes
    ))
}

/// Too few of them tell nothing of their tail.
fn short(plan: &MessagePlan, cells: &[MessageCell]) -> Option<String> {
    const TAIL: u64 = 100;
    let few = |t: &MessageTrial| t.cut_short && t.messages < TAIL.min(plan.messages);
    let cell = cells.iter().find(|cell| cell.trials.iter().any(few))?;
    Some(format!(
        "trials ran out of time before they had {TAIL} {}, such as those of {} with {} bytes: their 99th percentile is \
         the longest; choose a longer --most",
        plan.test.counts(),
        cell.layer,
        cell.bytes
    ))
}
