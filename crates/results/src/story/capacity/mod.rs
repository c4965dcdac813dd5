//! `netfathom capacity`: what was tried, what was sustained, and what the paper would infer.

mod rates;
mod searches;

use netfathom_model::engine::Engine;
use netfathom_model::plan::{CapacityPlan, Transport};
use netfathom_model::print::{Scale, listed};
use netfathom_model::record::{Bounded, CapacityResult, CapacityRow, Inferred};
use netfathom_model::units::format_duration;
use netfathom_model::verdict::Level;

use super::{
    Body, CHOSEN, LONGEST_ANSWER, Story, contention, counted, number,
    place::{Site, ends as place},
    processors,
};
use crate::page::Page;

impl Story for CapacityResult {
    fn body(&self) -> Body<'_> {
        let mut page = Page::default();
        rates::rows(&mut page, self);
        inferred(&mut page, self);
        rates::empty(&mut page, self);
        searches::draw(&mut page, self);
        contention::draw(&mut page, self.rows.iter().flat_map(|row| &row.contention));
        Body {
            title: "Sending capacity of this host".into(),
            done: finished(self),
            page,
            remarks: remarks(self),
            plan: plan(&self.plan),
            left_out: &self.left_out,
        }
    }

    /// Such as `1 thread sustains 301k ± 9k messages/s, one per call; 238k/s to a sleeping receiver`: with one call a message
    /// where that was searched, since that is what most programs do. The other rates are remarks.
    fn answer(&self) -> String {
        if self.rows.is_empty() {
            return "no engine was searched, so there is no answer yet".into();
        }
        let tcp = if self.plan.transport == Transport::Tcp { "TCP " } else { "" };
        let Some((row, most)) = leading(self) else {
            return "no rate was sustained".into();
        };
        let rate = sustained(row, &most);
        let threads = counted(row.workers, "thread");
        let sustain = if row.workers == 1 { "sustains" } else { "sustain" };
        let how = match row.engine {
            Engine::Send => ", one per call".into(),
            other => format!(" with {}", other.name()),
        };
        let doubt = if differ(&most) { "inconclusive: " } else { "" };
        let polled = format!("{doubt}{threads} {sustain} {rate} {tcp}messages/s{how}{}", past(row));
        let both = row.blocking_per_s.map(|b| format!("{polled}; {} to a sleeping receiver", bounded(&b)));
        both.filter(|both| both.chars().count() <= LONGEST_ANSWER).unwrap_or(polled)
    }

    fn is_of_values(&self) -> bool {
        leading(self).is_some()
    }

    fn site(&self) -> Site {
        Site::At(self.plan.place)
    }
}

fn plan(plan: &CapacityPlan) -> Vec<(&'static str, String)> {
    vec![
        ("place", place(plan.place)),
        ("engines", listed(plan.engines.iter().map(|e| e.name()))),
        ("workers", listed(&plan.workers)),
        ("each rate held for", format_duration(plan.hold_ns)),
        ("searches", plan.trials.to_string()),
        ("size", format!("{} bytes over {}", plan.size_bytes, plan.transport.title())),
        ("CPUs", processors(&plan.cpus, CHOSEN)),
    ]
}

fn finished(result: &CapacityResult) -> String {
    let wanted = result.plan.engines.len() * result.plan.workers.len();
    format!("{} of {wanted} pairs of engine and workers are finished", result.rows.len())
}

/// What the answer means, the other rates by their names, and what narrows them.
fn remarks(result: &CapacityResult) -> Vec<String> {
    let plan = &result.plan;
    let sustained = leading(result);
    let fastest = best(result, |r| r.sustained_per_s)
        .filter(|(row, _)| sustained.is_some_and(|(leading, _)| leading.engine != row.engine));
    let fastest =
        fastest.map(|(row, b)| format!("fastest engine: {} ({}{})", bounded(&b), name(row), past(row)));
    let inferred = result.trusted_inference();
    let how = format!(
        "sustained: a polling receiver loses under 0.1 % of the {}-byte messages, some sent late; {}, {}",
        plan.size_bytes,
        place(plan.place),
        counted(plan.trials, "search") + " for the highest rate"
    );
    let waits = contention::remarks(result.rows.iter().flat_map(|row| &row.contention), None);
    [
        sustained.map(|(row, _)| others(row)),
        sustained.and_then(|(row, rate)| more_workers(result, row, &rate)),
        fastest,
        Some(how).filter(|_| !result.rows.is_empty()),
        waits.into_iter().next(),
        sustained.and_then(|(row, _)| asleep(result, row)),
        inferred.map(|i| format!("inferred from the stack time: {}", number::rate(i.theoretical_per_s))),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// Who has the second rate of the answer, and the rate of the same row that is not in it.
fn others(row: &CapacityRow) -> String {
    let asleep =
        row.blocking_per_s.map(|b| format!("most programs sleep until a message comes: {}; ", bounded(&b)));
    let paced = match row.capacity_per_s {
        Some(b) if differ(&b) => format!("evenly paced (on schedule): inconclusive, {}", bounded(&b)),
        Some(b) => format!("evenly paced (on schedule): {}", bounded(&b)),
        None => "no rate was evenly paced (on schedule)".into(),
    };
    asleep.unwrap_or_default() + &paced
}

/// That more workers with the same engine sustain less, beyond what searches differ among themselves.
fn more_workers(result: &CapacityResult, than: &CapacityRow, rate: &Bounded) -> Option<String> {
    let stands = |row: &&CapacityRow| {
        row.engine == than.engine && row.verdict.level != Level::Void && row.workers > than.workers
    };
    let less = result.rows.iter().filter(stands).find_map(|row| {
        let of = row.sustained_per_s?;
        (of.mean_per_s + of.half_width_per_s? < rate.mean_per_s - rate.half_width_per_s?).then_some((row, of))
    });
    let (row, rate) = less.map(|(row, of)| (short_name(row), bounded(&of)))?;
    Some(format!("{row} sustains less, {rate}: does each worker, and the receiver, have a CPU of its own?"))
}

fn past(row: &CapacityRow) -> &'static str {
    if row.engine.passes_stack() { "" } else { ", bypassing the stack" }
}

/// What another engine sustains with the receiver that most programs have; engines past the stack have none.
fn asleep(result: &CapacityResult, row: &CapacityRow) -> Option<String> {
    let (with, blocking) = best(result, |r| r.blocking_per_s).filter(|_| row.blocking_per_s.is_none())?;
    Some(format!("a sleeping receiver sustains {} ({})", bounded(&blocking), name(with)))
}

/// What the answer is of.
fn leading(result: &CapacityResult) -> Option<(&CapacityRow, Bounded)> {
    let stands = |row: &&CapacityRow| row.engine == Engine::Send && row.verdict.level != Level::Void;
    let sustained = |row: &CapacityRow| row.sustained_per_s;
    best_of(result.rows.iter().filter(stands), sustained).or_else(|| best(result, sustained))
}

fn best(result: &CapacityResult, of: fn(&CapacityRow) -> Option<Bounded>) -> Option<(&CapacityRow, Bounded)> {
    best_of(result.rows.iter(), of)
}

fn best_of<'a>(
    rows: impl Iterator<Item = &'a CapacityRow>,
    of: fn(&CapacityRow) -> Option<Bounded>,
) -> Option<(&'a CapacityRow, Bounded)> {
    let known = rows.filter_map(|r| of(r).map(|b| (r, b)));
    known.max_by(|a, b| a.1.mean_per_s.total_cmp(&b.1.mean_per_s))
}

fn name(row: &CapacityRow) -> String {
    format!("{}, {}", row.engine.name(), counted(row.workers, "worker"))
}

fn short_name(row: &CapacityRow) -> String {
    format!("{} ×{}", row.engine.name(), row.workers)
}

/// Whether searches differ too much for one rate: those of the answer are DEGRADED then.
fn differ(b: &Bounded) -> bool {
    b.half_width_per_s.is_some_and(|half| half > 0.2 * b.mean_per_s)
}

fn bounded(b: &Bounded) -> String {
    Scale::Rate.interval(b.mean_per_s, b.half_width_per_s)
}

/// Below a heading that says that it is a second.
fn bare(b: &Bounded) -> String {
    Scale::Multiple.interval(b.mean_per_s, b.half_width_per_s)
}

/// What a row sustains, in the answer and in the table; of two searches both.
fn sustained(row: &CapacityRow, b: &Bounded) -> String {
    range(row).unwrap_or_else(|| bare(b))
}

/// From the least to the most that two searches found: too few for an interval.
fn range(row: &CapacityRow) -> Option<String> {
    let found: Vec<f64> = row.searches.iter().filter_map(|search| search.sustained_per_s).collect();
    let [a, b] = found[..] else { return None };
    let [low, high] = [a.min(b), a.max(b)].map(|rate| Scale::Multiple.text(rate));
    (low != high).then(|| format!("{low} to {high}"))
}

/// What the paper would say of this machine.
fn inferred(page: &mut Page, result: &CapacityResult) {
    page.heading("Inferred from the stack time (Borodin 2014)");
    let Some(i) = &result.inferred else {
        page.text("n/a: the stack time could not be taken; what was left out stands below");
        return;
    };
    let is_void = result.trusted_inference().is_none();
    if is_void {
        page.text("n/a: the stack times are VOID");
    } else {
        inference(i).iter().for_each(|line| page.text(line));
    }
    for row in &result.rows {
        if let Some(of) = row.of_inferred {
            page.bullet(&format!(
                "{}: sustained {} times that",
                name(row),
                Scale::Ratio.interval(of.value, Some(of.half_width))
            ));
        }
    }
    for (place, reason) in i.verdict.reasons.iter().enumerate() {
        // Both ways may have it. What is VOID is not less so for a lesser reason.
        if (!is_void || reason.level == Level::Void)
            && !i.verdict.reasons[..place].iter().any(|before| before.text == reason.text)
        {
            page.bullet(&format!("this inference is {}: {}", reason.level.name(), reason.text));
        }
    }
}

fn inference(i: &Inferred) -> [String; 2] {
    [
        format!(
            "mean time to send at peak {}, {}, {} tap, taken at {}",
            Scale::Time.interval(i.peak.mean_ns, i.peak.between_trials_ns),
            counted(i.peak.trials, "trial"),
            i.tap.name(),
            number::rate(i.at_per_s)
        ),
        format!("1 / mean = {}: the theoretical load capability", number::rate(i.theoretical_per_s)),
    ]
}
