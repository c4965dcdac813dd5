//! From searches to what the record says of them.

use netfathom_model::engine::Engine;
use netfathom_model::print::{Scale, counted};
use netfathom_model::record::{Bounded, CapacityRow, LoadThread, Probe, Search};
use netfathom_model::verdict::Finding;
use netfathom_stats::between_trials;

use super::search::step_per_s;
use crate::load::judge::{free_cpus, occupied, percent};

/// Who had a smaller part of the time is no reason for searches that disagree.
pub const OCCUPIED: f64 = 0.005;

/// A loss that is worth a word.
const WORTH_A_WORD: f64 = 0.01;

/// A row's name, as it is written in progress, in reasons and among what was left out.
pub fn name(engine: Engine, workers: u32) -> String {
    format!("{}, {}", engine.name(), counted(workers, "worker"))
}

/// Fewer values have no interval worth its name: two that ended on the same step have one of nothing, and two
/// that did not one of everything.
const LEAST: usize = 3;

/// Mean and interval, to which each value's own step adds; `None` of no value at all.
pub fn bounded(values_per_s: &[f64], step_per_s: f64) -> Option<Bounded> {
    let n = values_per_s.len();
    let interval = between_trials(values_per_s).filter(|_| n >= LEAST);
    (n > 0).then(|| Bounded {
        mean_per_s: values_per_s.iter().sum::<f64>() / n as f64,
        half_width_per_s: interval.map(|e| e.half_width + step_per_s),
        n: n as u32,
    })
}

/// What the searches found that the probes of `good` decided.
pub fn mean_of(
    searches: &[Search],
    of: fn(&Search) -> Option<f64>,
    good: fn(&Probe) -> bool,
) -> Option<Bounded> {
    let found: Vec<(&Search, f64)> = searches.iter().filter_map(|s| Some((s, of(s)?))).collect();
    let values: Vec<f64> = found.iter().map(|f| f.1).collect();
    let steps: f64 = found.iter().map(|&(search, held)| step_per_s(search, held, good)).sum();
    bounded(&values, steps / values.len().max(1) as f64)
}

/// What to do about whoever had the processors while rates were tried.
pub fn free(row: &CapacityRow) -> Option<String> {
    occupied(row.contention.iter(), &[LoadThread::Sender, LoadThread::Reader], OCCUPIED)
}

/// What the numbers of a row show, explained; `lost` is the part of the bursts that did not
/// arrive, and `processors` is what its workers have among them.
pub fn findings(row: &CapacityRow, lost: Option<f64>, processors: usize) -> Vec<Finding> {
    let name = name(row.engine, row.workers);
    let rate = |b: Bounded| Scale::Multiple.text(b.mean_per_s);
    let mut findings = Vec::new();
    if let Some((flat_out, lost)) = row.flat_out_per_s.zip(lost).filter(|(_, lost)| *lost > WORTH_A_WORD) {
        let arrived = Scale::Multiple.text(flat_out.mean_per_s * (1.0 - lost));
        findings.push(Finding {
            seen: format!("{name}: unpaced, {} messages/s are sent, but only {arrived} arrive", rate(flat_out)),
            cause: "the receiver is slower than the sender; where both are on one machine they also take CPUs from each other, so this is what the pair can do".into(),
            evidence: format!("{} of the messages of its bursts were lost", percent(lost)),
            remedy: "use the sustained rate, or send to another host with --to".into(),
        });
    }
    if let Some((sustained, capacity)) = row.sustained_per_s.zip(row.capacity_per_s)
        && capacity.mean_per_s < sustained.mean_per_s / 2.0
    {
        findings.push(Finding {
            seen: format!(
                "{name}: {}/s are sustained, but only {}/s on schedule",
                rate(sustained),
                rate(capacity)
            ),
            cause:
                "the sender is interrupted and catches up afterwards: the rate is right, its spacing is not"
                    .into(),
            evidence:
                "above that the p99 lag is more than 10 % of a send slot, or more than 1 % of the send slots are missed"
                    .into(),
            remedy: free_cpus(row.contention.iter(), &[LoadThread::Sender], OCCUPIED)
                .unwrap_or_else(|| "repeat the run when the host is quiet".into()),
        });
    }
    if processors < row.workers as usize {
        findings.push(Finding {
            seen: format!("{name}: they share CPUs with each other"),
            cause: "this machine has fewer CPUs than there are workers and a receiver".into(),
            evidence: format!("{} workers ran on {processors} of its CPUs", row.workers),
            remedy: "use fewer workers: those that share a CPU take turns, and are late for it".into(),
        });
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    fn probe(wanted_per_s: f64, sustained: bool) -> Probe {
        Probe { wanted_per_s, reached_per_s: wanted_per_s, lost: Some(0.0), sustained, ..Probe::default() }
    }

    #[test]
    fn the_step_of_a_search_is_part_of_its_interval() {
        let probes = vec![probe(300e3, false), probe(275e3, true), probe(283e3, false), probe(283e3, false)];
        let search = Search { probes, capacity_per_s: None, sustained_per_s: Some(275e3) };
        let of = |n| mean_of(&vec![search.clone(); n], |s| s.sustained_per_s, |p| p.sustained).unwrap();
        // All end on the same step, so nothing lies between them but the step.
        assert_eq!((of(3).mean_per_s, of(3).half_width_per_s), (275e3, Some(8e3)));
        assert_eq!((of(2).mean_per_s, of(2).half_width_per_s), (275e3, None));
    }
}
