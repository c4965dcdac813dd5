//! The answer of `netfathom capacity`.

use netfathom_model::record::{Bounded, CapacityResult, CapacityRow};
use netfathom_model::units::format_duration;

use netfathom_model::verdict::Level;

use super::{Words, family, place, rate, rate_interval};

pub fn words(capacity: &CapacityResult) -> Words {
    let plan = &capacity.plan;
    let engines: Vec<&str> = plan.engines.iter().map(|e| e.name()).collect();
    let wanted = plan.engines.len() * plan.workers.len();
    Words {
        title: "The load that this machine can make".into(),
        sentence: sentence(capacity),
        there: format!("{} of {wanted} pairs of engine and workers are here.", capacity.rows.len()),
        circumstances: vec![
            place(plan.place),
            engines.join(", "),
            format!("each rate held for {}", format_duration(plan.hold_ns)),
            if plan.trials == 1 { "1 search".into() } else { format!("{} searches", plan.trials) },
            format!("{} bytes over UDP, {}", plan.size_bytes, family(plan.family)),
        ],
    }
}

fn sentence(capacity: &CapacityResult) -> String {
    let inferred = capacity.inferred.as_ref().map_or(String::new(), |i| {
        let doubt = if i.verdict.level == Level::Void { ", but that measurement is VOID" } else { "" };
        format!(" From the stack time alone one would infer {}{doubt}.", rate(i.theoretical_per_s))
    });
    let Some((row, most)) = best(capacity, |r| r.sustained_per_s) else {
        return format!("No rate was kept up, so there is no capacity to tell.{inferred}");
    };
    format!("This host sustains {} messages a second, {}.{}{inferred}", bounded(&most), how(row), beside(row))
}

/// What the same engine does with another receiver, on schedule, and without one.
fn beside(row: &CapacityRow) -> String {
    let receiver = row.blocking_per_s.map_or(String::new(), |b| {
        format!(" The receiver polls; one that sleeps until a message comes sustains {}.", rate(b.mean_per_s))
    });
    let on_schedule = row.capacity_per_s.map_or("no rate leaves on schedule".into(), |b| {
        format!("up to {} leave on schedule", rate_interval(b.mean_per_s, b.half_width_per_s))
    });
    let flat_out = row
        .flat_out_per_s
        .map_or(String::new(), |b| format!(", {} in bursts without one", rate(b.mean_per_s)));
    format!("{receiver} By the same engine {on_schedule}{flat_out}.")
}

fn best(
    capacity: &CapacityResult,
    of: impl Fn(&CapacityRow) -> Option<Bounded>,
) -> Option<(&CapacityRow, Bounded)> {
    let known = capacity.rows.iter().filter_map(|r| of(r).map(|b| (r, b)));
    known.max_by(|a, b| a.1.mean_per_s.total_cmp(&b.1.mean_per_s))
}

fn bounded(b: &Bounded) -> String {
    rate_interval(b.mean_per_s, b.half_width_per_s)
}

fn how(row: &CapacityRow) -> String {
    let workers = if row.workers == 1 { "1 worker".into() } else { format!("{} workers", row.workers) };
    format!("by {} with {workers}", row.engine.name())
}
