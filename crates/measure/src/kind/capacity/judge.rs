//! How far a row can be trusted, and the run.

use netfathom_model::accounting::Fate;
use netfathom_model::engine::Engine;
use netfathom_model::print::{Scale, share_of};
use netfathom_model::record::{CapacityRow, LoadThread, Probe, Search};
use netfathom_model::verdict::{Level, Part, Verdict};
use netfathom_stats::between_trials;

use super::report;
use super::search::{FLOOR_PER_S, ceiling_per_s};
use crate::load::judge as load;
use crate::load::judge::percent;
use crate::load::shot::ShotOutcome;

/// Searches disagree if their interval is wider than this share of their mean.
const AGREED: f64 = 0.2;
/// No rate is known if they then differ by this share of their mean.
const NO_ANSWER: f64 = 1.0;
/// More searches than these make no unsteady machine steady.
const MOST_ADVISED: usize = 8;
/// A rate that failed so far below one that held is no matter of the bracket.
const BY_FAR: f64 = 1.1;

/// What was wrong with the flights of a row, added up.
#[derive(Clone, Debug, Default)]
pub struct Faults {
    gap: u64,
    unexplained: u64,
    disagreeing: u32,
    unsplit: bool,
    messages_a_packet: f64,
    refused_by_driver: bool,
}

impl Faults {
    pub fn note(&mut self, outcome: &ShotOutcome) {
        let a = &outcome.accounting;
        self.gap += a.gap().unsigned_abs();
        self.unexplained += a.count(&Fate::Unexplained);
        self.disagreeing += u32::from(a.counters.iter().any(|c| !c.agrees()));
        self.messages_a_packet = self.messages_a_packet.max(load::messages_a_packet(a));
        self.unsplit |= outcome.unsplit;
        let sent = &outcome.sent;
        self.refused_by_driver |=
            outcome.ways.engine == Engine::Xdp && sent.accepted == 0 && !sent.refused.is_empty();
    }

    fn lower(&self, verdict: &mut Verdict) {
        if self.gap > 0 {
            let text =
                format!("{} messages have no outcome, or several: please report this defect", self.gap);
            verdict.lower(Level::Void, text);
        }
        if self.unexplained > 0 {
            let text = format!("{} messages vanished: no counter explains them", self.unexplained);
            verdict.lower(Level::Void, text);
        }
        if self.disagreeing > 0 {
            let text = format!(
                "kernel counters disagree with the count of messages in {} of its probes",
                self.disagreeing
            );
            verdict.lower(Level::Degraded, text);
        }
        if self.unsplit || self.messages_a_packet > 2.0 {
            verdict.lower(Level::Degraded, load::unsplit(self.messages_a_packet.max(1.0)));
        }
        if self.refused_by_driver {
            verdict.lower(Level::Void, load::NO_FRAME_TAKEN);
        }
    }
}

/// How far one row of `planned` searches can be trusted.
pub fn row(row: &CapacityRow, planned: u32, faults: &Faults) -> Verdict {
    let mut verdict = Verdict::default();
    faults.lower(&mut verdict);
    let mut degraded = |text: String| verdict.lower(Level::Degraded, text);
    let all = row.searches.len();
    if all < planned as usize {
        degraded(format!("only {all} of {planned} searches were finished"));
    }
    let lacking = |of: fn(&Search) -> Option<f64>| row.searches.iter().filter(|s| of(s).is_none()).count();
    let unsustained = lacking(|s| s.sustained_per_s);
    if unsustained > 0 {
        degraded(format!("{}no rate was sustained, down to {}/s", which_searches(unsustained, all), floor()));
    }
    let late = lacking(|s| s.capacity_per_s);
    if late > unsustained {
        degraded(format!(
            "{}no rate was on schedule, down to {}/s ({}): {}",
            which_searches(late, all),
            floor(),
            how_late(row),
            load::free_cpus(row.contention.iter(), &[LoadThread::Sender], report::OCCUPIED)
                .unwrap_or_else(|| "repeat the run when the host is quiet".into())
        ));
    }
    if let Some((failed, held)) = row.searches.iter().find_map(contradiction) {
        degraded(format!(
            "a search contradicts itself: {}/s failed whenever it was tried, though {}/s succeeded: {}",
            Scale::Multiple.text(failed),
            Scale::Multiple.text(held),
            report::free(row).unwrap_or_else(|| "repeat the run".into())
        ));
    }
    // The answer is of sustained rates; those on schedule have their interval in the table.
    let sustained: Vec<f64> = row.searches.iter().filter_map(|s| s.sustained_per_s).collect();
    if let Some(apart) = disagreement(&sustained) {
        let remedy = report::free(row).unwrap_or_else(|| match 2 * all.max(2) {
            more @ ..=MOST_ADVISED => format!("take more, --trials {more}"),
            _ => "repeat the run when the host is quiet".into(),
        });
        let level = if apart < NO_ANSWER { Level::Degraded } else { Level::Void };
        let apart = percent(apart);
        verdict.lower(level, format!("sustained rates differ by {apart} between searches: {remedy}"));
    }
    if let Some((flat_out, sustained)) = row.flat_out_per_s.zip(row.sustained_per_s)
        && sustained.mean_per_s >= ceiling_per_s(flat_out.mean_per_s)
    {
        let held = Scale::Multiple.text(sustained.mean_per_s);
        let text = format!("the search ended at {held}/s, which still held: the host sustains more");
        verdict.lower(Level::Degraded, text);
    }
    verdict
}

fn which_searches(n: usize, all: usize) -> String {
    if n == all { String::new() } else { format!("in {n} of {all} searches ") }
}

fn floor() -> String {
    Scale::Multiple.text(FLOOR_PER_S)
}

/// How far searches lie apart, of their mean, where their interval is too wide for one answer.
fn disagreement(found_per_s: &[f64]) -> Option<f64> {
    let mean = between_trials(found_per_s).filter(|e| e.half_width > AGREED * e.value)?.value;
    let (least, most) = found_per_s.iter().fold((f64::INFINITY, 0.0), |(a, b), &v| (v.min(a), v.max(b)));
    Some((most - least) / mean.max(1.0))
}

/// The least late of the probes at the lowest rate.
fn how_late(row: &CapacityRow) -> String {
    let probes = || row.searches.iter().filter(|s| s.capacity_per_s.is_none()).flat_map(|s| &s.probes);
    let lowest = probes().map(|p| p.wanted_per_s).fold(f64::INFINITY, f64::min);
    let at_lowest = probes().filter(|p| p.wanted_per_s == lowest);
    at_lowest.min_by(|a, b| a.lag_p99_of_slot.total_cmp(&b.lag_p99_of_slot)).map_or_else(String::new, |p| {
        format!(
            "at {}/s p99 lag {}, 10 % allowed; {} of the send slots missed",
            Scale::Multiple.text(p.wanted_per_s),
            share_of(p.lag_p99_of_slot, "send slot"),
            percent(p.missed)
        )
    })
}

/// A rate at which every probe failed, far below one that held.
fn contradiction(search: &Search) -> Option<(f64, f64)> {
    let against = |good: fn(&Probe) -> bool, highest: Option<f64>| {
        let held = |rate: f64| search.probes.iter().any(|p| p.wanted_per_s == rate && good(p));
        let below = search.probes.iter().map(|p| p.wanted_per_s);
        let highest = highest?;
        Some((below.filter(|&r| r * BY_FAR < highest).find(|&r| !held(r))?, highest))
    };
    against(|p| p.sustained, search.sustained_per_s).or_else(|| against(|p| p.in_time, search.capacity_per_s))
}

/// How far the run can be trusted: a row that cannot does not spoil the others. What is inferred is no part of the answer,
/// and has a verdict of its own.
pub fn run(rows: &[CapacityRow], wanted: usize, left_out: usize) -> Verdict {
    let mut verdict = Verdict::default();
    if rows.is_empty() {
        verdict.lower(Level::Void, "no search was finished");
        return verdict;
    }
    let all_void = rows.iter().all(|r| r.verdict.level == Level::Void);
    for row in rows {
        let name = report::name(row.engine, row.workers);
        for reason in &row.verdict.reasons {
            let level = if all_void { reason.level } else { reason.level.min(Level::Degraded) };
            let mark = if reason.level == Level::Void { " (VOID)" } else { "" };
            verdict.lower_only(&[Part::Cells], level, format!("{name}{mark}: {}", reason.text));
        }
    }
    let done = rows.len() + left_out;
    if done < wanted {
        let text =
            format!("only {} of {wanted} combinations of engine and workers were finished", rows.len());
        verdict.lower(Level::Degraded, text);
    }
    verdict
}

#[cfg(test)]
mod tests;
