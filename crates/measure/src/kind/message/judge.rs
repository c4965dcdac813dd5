//! What the trials are worth.

use netfathom_model::plan::Carrier;
use netfathom_model::print;
use netfathom_model::record::{LoadThread, MessageCell, MessageResult, Shares};
use netfathom_model::verdict::{Level, Verdict};

use super::{cells, precision, stalls};
use crate::ground::observer::Progressed;
use crate::load::judge::{free_cpus, occupied, share};

/// Part of an interval that the 99th percentile of the lag may take.
const LAG: f64 = 0.1;

/// Trials of bare sockets differ by less where a machine is left alone.
const RESTLESS: f64 = 2.0;

/// Whoever had this part of an end's time is named as the one to stop.
const LEAST_HELD: f64 = 0.02;

/// Ends that wait for CPUs for less of the time are late for another reason.
const WAITED: f64 = 0.25;

const ENDS: [LoadThread; 2] = [LoadThread::Client, LoadThread::Server];

/// Part of the datagrams that may be lost.
const LOST: f64 = 0.01;

/// A 99th percentile of fewer times is the longest of them.
const TAIL: u64 = 100;

/// Ratios, precision, verdict and findings of what is there. `planned` is 0 where the number of trials is not fixed.
pub fn conclude(p: &mut Progressed<MessageResult>, planned: usize, after_ns: u64) {
    cells::compare(&mut p.result);
    precision::note(&mut p.result, after_ns);
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
    let udp = result.plan.carrier == Carrier::Udp;
    let lost: u64 = trials().map(|t| t.lost).sum();
    if lost > 0 && !udp {
        let text = format!("{lost} messages were sent over a stream and not received");
        verdict.lower(Level::Void, text);
    }
    if trials().any(|t| t.messages == 0) {
        verdict.lower(Level::Void, "in some trials no message arrived");
    }
    let degraded = [
        (there < planned).then(|| format!("only {there} of {planned} trials were finished")),
        result.plan.rate_per_s.and_then(|rate| late(result, rate)),
        restless(result),
        lossy(&result.cells).filter(|_| udp),
        short(&result.cells),
    ];
    degraded.into_iter().flatten().for_each(|text| verdict.lower(Level::Degraded, text));
    precision::judge(&mut verdict, result);
    verdict
}

/// A load with late messages is no open loop.
fn late(result: &MessageResult, rate_per_s: f64) -> Option<String> {
    let allowed_ns = LAG * 1e9 / rate_per_s;
    let late = |cell: &&MessageCell| cell.lag.as_ref().is_some_and(|lag| lag.p99_ns as f64 > allowed_ns);
    let cells: Vec<&MessageCell> = result.cells.iter().filter(late).collect();
    let worst = cells.iter().max_by_key(|cell| cell.lag.as_ref().map(|lag| lag.p99_ns))?;
    Some(format!(
        "sent late in {} of {} cells, worst p99 {} ({}, {} bytes), over 10 % of a send slot: {}",
        cells.len(),
        result.cells.len(),
        print::time(worst.lag.as_ref()?.p99_ns as f64),
        worst.layer,
        worst.bytes,
        on_schedule(result, &cells)
    ))
}

/// What to do: a lower rate helps only where the ends had their CPUs.
fn on_schedule(result: &MessageResult, late: &[&MessageCell]) -> String {
    let is_known = !result.contention.is_empty() || waited(result, late) > WAITED;
    let free = || free_cpus(result.contention.iter(), &ENDS, LEAST_HELD);
    is_known.then(free).flatten().unwrap_or_else(|| "lower --rate".into())
}

/// The part of the time that both ends waited for a CPU; on one CPU they wait for each other.
fn waited(result: &MessageResult, late: &[&MessageCell]) -> f64 {
    let apart = |cell: &MessageCell| result.pairs.get(cell.pair).is_none_or(|p| p.shares != Shares::Same);
    let trials = late.iter().filter(|cell| apart(cell)).flat_map(|cell| &cell.trials);
    let (waited_ns, whole_ns) =
        trials.fold((0, 0), |(waited, whole), t| (waited + stalls::waited_ns(t), whole + t.duration_ns));
    share(waited_ns, whole_ns)
}

/// What is the same each time, and takes twice as long at times, is disturbed.
fn restless(result: &MessageResult) -> Option<String> {
    let first = result.plan.layers.first()?;
    let spread = |cell: &MessageCell| Some((cell.rate?.highest_per_s / cell.rate?.lowest_per_s, cell.bytes));
    let cells = || result.cells.iter().filter(|cell| cell.layer == *first).filter_map(spread);
    let restless = cells().filter(|&(spread, _)| spread > RESTLESS).count();
    let (most, bytes) = cells().max_by(|a, b| a.0.total_cmp(&b.0))?;
    (restless > 0).then(|| {
        format!(
            "trials of {first} differ up to × {most:.1} ({bytes} bytes; {restless} of {} cells): {}",
            cells().count(),
            occupied(result.contention.iter(), &ENDS, LEAST_HELD)
                .unwrap_or_else(|| "use a quiet machine".into())
        )
    })
}

/// Too many datagrams were lost: the times are those of the rest.
fn lossy(cells: &[MessageCell]) -> Option<String> {
    let share = |cell: &MessageCell| {
        let lost: u64 = cell.trials.iter().map(|t| t.lost).sum();
        let sent: u64 = cell.trials.iter().map(|t| t.sent).sum();
        lost as f64 / sent.max(1) as f64
    };
    let lossy: Vec<_> = cells.iter().map(|cell| (cell, share(cell))).filter(|c| c.1 > LOST).collect();
    let (worst, share) = lossy.iter().max_by(|a, b| a.1.total_cmp(&b.1))?;
    Some(format!(
        "over {:.0} % lost in {} of {} cells, most with {} and {} bytes: {:.1} %; figures are of the rest",
        100.0 * LOST,
        lossy.len(),
        cells.len(),
        worst.layer,
        worst.bytes,
        100.0 * share
    ))
}

/// Too few of them tell nothing of their tail.
fn short(cells: &[MessageCell]) -> Option<String> {
    let short: Vec<_> = cells.iter().filter(|cell| (1..TAIL).contains(&cell.times.n)).collect();
    let least = short.iter().min_by_key(|cell| cell.times.n)?;
    let remedy = match least.trials.iter().any(|trial| trial.cut_short) {
        true => "raise --max-time",
        false => "add --messages",
    };
    Some(format!(
        "{} of {} cells have under {TAIL} samples, too few for a p99 ({} with {} bytes: {}): {remedy}",
        short.len(),
        cells.len(),
        least.layer,
        least.bytes,
        least.times.n
    ))
}

#[cfg(test)]
mod tests {
    use netfathom_model::record::{Contention, Distribution, EndCost, Held, Holder, MessageTrial};
    use netfathom_stats as stats;

    use super::super::fixture;
    use super::*;
    use crate::load::judge::priority;

    fn cell(layer: &str, times: u64, sent: u64, lost: u64) -> MessageCell {
        let mut all = stats::Distribution::new(7);
        all.add_many(1000, times);
        let trial = MessageTrial { sent, lost, ..fixture::trial(sent - lost) };
        fixture::cell(layer, trial, &all)
    }

    fn judged(cells: Vec<MessageCell>) -> Verdict {
        let planned = cells.len();
        let mut result = MessageResult { cells, ..fixture::result() };
        result.plan.carrier = Carrier::Udp;
        judge(&result, planned)
    }

    #[test]
    fn losses_are_reported_with_the_worst_layer() {
        let few = judged(vec![cell("write", 990, 1000, 10)]);
        assert_eq!(few.level, Level::Valid, "{few:?}");
        let many = judged(vec![cell("write", 980, 1000, 20), cell("writev", 700, 1000, 300)]);
        assert_eq!(many.level, Level::Degraded);
        let text = format!("{many:?}");
        assert!(text.contains("in 2 of 2 cells") && text.contains("writev and 64 bytes: 30.0 %"), "{text}");
    }

    /// Of round trips at 2k/s, 290 ms late, in a trial of 1 µs.
    fn late_text(waited_ns: u64, contention: Vec<Contention>) -> String {
        let times = stats::Distribution::new(7);
        let client = EndCost { run_delay_ns: Some(waited_ns), ..EndCost::default() };
        let trial = MessageTrial { client, duration_ns: 1000, ..fixture::trial(100) };
        let lag = Some(Distribution { p99_ns: 290_455_600, ..(&times).into() });
        let cell = MessageCell { lag, ..fixture::cell("write", trial, &times) };
        let result = MessageResult { cells: vec![cell], contention, ..fixture::result() };
        late(&result, 2000.0).unwrap()
    }

    #[test]
    fn a_lower_rate_is_advised_only_where_the_ends_had_their_cpus() {
        let client = |ns| Contention {
            thread: LoadThread::Client,
            cpu: 1,
            span_ns: 1000,
            waited_ns: ns,
            holders: vec![Held { by: Holder::Process { name: "rustc".into(), pid: 7, cgroup: None }, ns }],
            stolen_ns: 0,
            interrupts: Vec::new(),
            stopped_ns: 0,
            blocked_ns: 0,
        };
        let slow = late_text(100, Vec::new());
        assert!(slow.contains("worst p99 290 ms (write, 64 bytes)"), "{slow}");
        assert!(slow.ends_with(": lower --rate"), "{slow}");
        assert!(late_text(0, vec![client(5)]).ends_with(": lower --rate"));
        assert!(late_text(770, vec![client(770)]).ends_with(": stop rustc (pid 7) on CPU 1"));
        assert!(late_text(770, Vec::new()).ends_with(&priority()), "no one was followed");
    }

    #[test]
    fn a_tail_of_a_few_times_is_none() {
        assert_eq!(judged(vec![cell("write", 100, 100, 0)]).level, Level::Valid);
        // There are none at all where a sink counts.
        assert_eq!(judged(vec![cell("write", 0, 5000, 0)]).level, Level::Valid);
        let short = judged(vec![cell("write", 100, 100, 0), cell("writev", 20, 20, 0)]);
        assert_eq!(short.level, Level::Degraded);
        let text = format!("{short:?}");
        assert!(text.contains("1 of 2 cells") && text.contains("writev with 64 bytes: 20"), "{text}");
    }
}
