//! What the trials are worth.

use netfathom_model::plan::Carrier;
use netfathom_model::print;
use netfathom_model::record::{LoadThread, MessageCell, MessageResult, Shares};
use netfathom_model::verdict::{Level, Part, Verdict};

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

/// A rule that some cells broke.
pub struct Broken {
    pub level: Level,
    /// Their places among the cells, and the reason that each of them has.
    pub cells: Vec<(usize, String)>,
    /// The reason of the run.
    pub text: String,
}

impl Broken {
    fn new(level: Level, cells: &[Beyond<'_>], each: impl Fn(&Beyond<'_>) -> String, text: String) -> Self {
        Self { level, cells: cells.iter().map(|beyond| (beyond.place, each(beyond))).collect(), text }
    }

    /// What a run has of it in which other cells can be used.
    fn beside_others(&self, cells: &[MessageCell]) -> String {
        if self.level < Level::Void {
            return self.text.clone();
        }
        let worst = &cells[self.cells[0].0];
        format!(
            "VOID in {} of {} cells, worst {} with {} bytes: {}",
            self.cells.len(),
            cells.len(),
            worst.layer,
            worst.bytes,
            self.text
        )
    }
}

/// A cell beyond the limit of a rule.
struct Beyond<'a> {
    place: usize,
    cell: &'a MessageCell,
    by: f64,
}

/// Those that `by` has a value of, the worst first.
fn beyond(cells: &[MessageCell], by: impl Fn(&MessageCell) -> Option<f64>) -> Vec<Beyond<'_>> {
    let of = |(place, cell)| Some(Beyond { place, cell, by: by(cell)? });
    let mut all: Vec<Beyond<'_>> = cells.iter().enumerate().filter_map(of).collect();
    all.sort_by(|a, b| b.by.total_cmp(&a.by));
    all
}

/// Ratios, precision, verdicts and findings of what is there. `planned` is 0 where the number of trials is not fixed.
pub fn conclude(p: &mut Progressed<MessageResult>, planned: usize, after_ns: u64) {
    cells::compare(&mut p.result);
    p.verdict = judge(&mut p.result, planned, after_ns);
    p.findings = stalls::findings(&p.result);
}

fn judge(result: &mut MessageResult, planned: usize, after_ns: u64) -> Verdict {
    let mut broken = rules(result);
    judge_cells(&mut result.cells, &broken);
    // The answer, and so how narrow it is, is of cells that are not VOID.
    precision::note(result, after_ns);
    broken.extend(precision::wide(result));
    judge_cells(&mut result.cells, &broken);
    judge_run(result, planned, &broken)
}

fn rules(result: &MessageResult) -> Vec<Broken> {
    let udp = result.plan.carrier == Carrier::Udp;
    let all = [
        unreceived(&result.cells).filter(|_| !udp),
        empty(&result.cells),
        result.plan.rate_per_s.and_then(|rate| late(result, rate)),
        restless(result),
        lossy(&result.cells).filter(|_| udp),
        short(&result.cells),
    ];
    all.into_iter().flatten().collect()
}

fn judge_cells(cells: &mut [MessageCell], broken: &[Broken]) {
    cells.iter_mut().for_each(|cell| cell.verdict = Verdict::default());
    for rule in broken {
        for (place, text) in &rule.cells {
            cells[*place].verdict.lower(rule.level, text);
        }
    }
}

/// A run is VOID where all of its cells are.
fn judge_run(result: &MessageResult, planned: usize, broken: &[Broken]) -> Verdict {
    let mut verdict = Verdict::default();
    let there: usize = result.cells.iter().map(|cell| cell.trials.len()).sum();
    if there == 0 {
        verdict.lower(Level::Void, "no trial was finished");
        return verdict;
    }
    let all_void = result.cells.iter().all(MessageCell::is_void);
    for rule in broken {
        let (level, text) = match all_void {
            true => (rule.level, rule.text.clone()),
            false => (rule.level.min(Level::Degraded), rule.beside_others(&result.cells)),
        };
        verdict.lower_only(&[Part::Cells], level, text);
    }
    if there < planned {
        verdict.lower(Level::Degraded, format!("only {there} of {planned} trials were finished"));
    }
    precision::judge(&mut verdict, result);
    verdict
}

fn lost(cell: &MessageCell) -> u64 {
    cell.trials.iter().map(|trial| trial.lost).sum()
}

/// A stream loses nothing.
fn unreceived(cells: &[MessageCell]) -> Option<Broken> {
    let found = beyond(cells, |cell| (lost(cell) > 0).then(|| lost(cell) as f64));
    let text = |lost: u64| format!("{lost} messages were sent over a stream and not received");
    let all: u64 = found.iter().map(|beyond| lost(beyond.cell)).sum();
    (all > 0).then(|| Broken::new(Level::Void, &found, |beyond| text(lost(beyond.cell)), text(all)))
}

fn empty(cells: &[MessageCell]) -> Option<Broken> {
    let empty = |cell: &MessageCell| cell.trials.iter().filter(|trial| trial.messages == 0).count();
    let found = beyond(cells, |cell| (empty(cell) > 0).then(|| empty(cell) as f64));
    let each = |b: &Beyond<'_>| format!("in {} of {} trials no message arrived", b.by, b.cell.trials.len());
    let text = "in some trials no message arrived";
    (!found.is_empty()).then(|| Broken::new(Level::Void, &found, each, text.into()))
}

/// A load with late messages is no open loop.
fn late(result: &MessageResult, rate_per_s: f64) -> Option<Broken> {
    let allowed_ns = LAG * 1e9 / rate_per_s;
    let p99_ns = |cell: &MessageCell| Some(cell.lag.as_ref()?.p99_ns as f64);
    let found = beyond(&result.cells, |cell| p99_ns(cell).filter(|&ns| ns > allowed_ns));
    let worst = found.first()?;
    let cells: Vec<&MessageCell> = found.iter().map(|beyond| beyond.cell).collect();
    let text = format!(
        "sent late in {} of {} cells, worst p99 {} ({}, {} bytes), over 10 % of a send slot: {}",
        cells.len(),
        result.cells.len(),
        print::time(worst.by),
        worst.cell.layer,
        worst.cell.bytes,
        on_schedule(result, &cells)
    );
    let each = |b: &Beyond<'_>| format!("sent late: p99 {}, over 10 % of a send slot", print::time(b.by));
    Some(Broken::new(Level::Degraded, &found, each, text))
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

/// What is the same each time, and takes twice as long at times, is disturbed; so is what ran interleaved with it.
fn restless(result: &MessageResult) -> Option<Broken> {
    let first = result.plan.layers.first()?;
    let spread = |cell: &MessageCell| Some(cell.rate?.highest_per_s / cell.rate?.lowest_per_s);
    let all = beyond(&result.cells, |cell| spread(cell).filter(|_| cell.layer == *first));
    let most = all.first().filter(|most| most.by > RESTLESS)?;
    let restless: Vec<&Beyond<'_>> = all.iter().filter(|beyond| beyond.by > RESTLESS).collect();
    let text = format!(
        "trials of {first} differ up to × {:.1} ({} bytes; {} of {} cells): {}",
        most.by,
        most.cell.bytes,
        restless.len(),
        all.len(),
        occupied(result.contention.iter(), &ENDS, LEAST_HELD).unwrap_or_else(|| "use a quiet machine".into())
    );
    let point = |cell: &MessageCell| (cell.bytes, cell.placement, cell.pair);
    let beside = |cell: &MessageCell| Some(restless.iter().find(|b| point(b.cell) == point(cell))?.by);
    let each = |b: &Beyond<'_>| format!("trials of {first} differ up to × {:.1}", b.by);
    Some(Broken::new(Level::Degraded, &beyond(&result.cells, beside), each, text))
}

/// Too many datagrams were lost: the times are those of the rest.
fn lossy(cells: &[MessageCell]) -> Option<Broken> {
    let share = |cell: &MessageCell| {
        let sent: u64 = cell.trials.iter().map(|t| t.sent).sum();
        lost(cell) as f64 / sent.max(1) as f64
    };
    let found = beyond(cells, |cell| Some(share(cell)).filter(|&share| share > LOST));
    let worst = found.first()?;
    let text = format!(
        "over {:.0} % lost in {} of {} cells, most with {} and {} bytes: {:.1} %; rates and times are of what arrived",
        100.0 * LOST,
        found.len(),
        cells.len(),
        worst.cell.layer,
        worst.cell.bytes,
        100.0 * worst.by
    );
    let each =
        |b: &Beyond<'_>| format!("{:.1} % were lost; rates and times are of what arrived", 100.0 * b.by);
    Some(Broken::new(Level::Degraded, &found, each, text))
}

/// Too few of them show nothing of their tail.
fn short(cells: &[MessageCell]) -> Option<Broken> {
    let is_short = |cell: &MessageCell| (1..TAIL).contains(&cell.times.n);
    let found = beyond(cells, |cell| is_short(cell).then(|| -(cell.times.n as f64)));
    let least = found.first()?.cell;
    let remedy = match least.trials.iter().any(|trial| trial.cut_short) {
        true => "raise --max-time",
        false => "add --messages",
    };
    let text = format!(
        "{} of {} cells have under {TAIL} samples, too few for a p99 ({} with {} bytes: {}): {remedy}",
        found.len(),
        cells.len(),
        least.layer,
        least.bytes,
        least.times.n
    );
    let each = |b: &Beyond<'_>| format!("{} samples are too few for a p99", b.cell.times.n);
    Some(Broken::new(Level::Degraded, &found, each, text))
}

#[cfg(test)]
mod tests;
