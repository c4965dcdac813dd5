//! What follows from a record by the rules of the model and the arithmetic of stats, so
//! that the script in the page repeats neither.

use std::collections::BTreeMap;

use netfathom_model::path::{Direction, Stage};
use netfathom_model::plan::{StackPlan, TapChoice};
use netfathom_model::record::{Distribution, Estimate, StackResult, Trial, TrialKind};
use netfathom_model::units::format_duration;
use netfathom_stats as stats;
use serde::Serialize;

#[derive(Serialize)]
pub struct Facts {
    /// What each stage is.
    stages: BTreeMap<&'static str, StageWords>,
    /// The profile's linear pieces.
    pieces: Vec<Piece>,
    /// Length of a trial.
    duration_s: f64,
    /// The plan in words. A seed may not fit a number of JavaScript.
    plan: Vec<(&'static str, String)>,
    /// The quantiles of every curve.
    quantiles: Vec<f64>,
    /// The merged stack time of each direction.
    totals: Vec<Curve>,
    /// The same of each measured trial.
    trials: Vec<Curve>,
    /// Lag and send call, all measured trials merged.
    lag: Vec<Option<i64>>,
    send_call: Vec<Option<i64>>,
    /// One a trial.
    accounting: Vec<Closing>,
    /// Which parts of the self-cost cannot be told from nothing.
    nothing: Option<Nothing>,
}

#[derive(Serialize)]
struct StageWords {
    meaning: &'static str,
    inside: bool,
}

#[derive(Serialize)]
struct Piece {
    start_s: f64,
    length_s: f64,
    from_per_s: f64,
    to_per_s: f64,
}

#[derive(Serialize)]
struct Curve {
    trial: Option<u32>,
    direction: Direction,
    values: Vec<Option<i64>>,
}

#[derive(Serialize)]
struct Closing {
    gap: i64,
    agrees: Vec<bool>,
}

#[derive(Serialize)]
struct Nothing {
    send_call_ns: bool,
    reader_cpu_ns: Option<bool>,
    rate_lost: Option<bool>,
}

impl Facts {
    pub fn of(stack: &StackResult) -> Self {
        let quantiles = quantiles();
        let measured = || stack.trials.iter().filter(|t| t.kind == TrialKind::Measured);
        let curve = |trial, direction, d: &Distribution| Curve {
            trial,
            direction,
            values: values(&read(d), &quantiles),
        };
        Self {
            stages: stage_words(),
            pieces: pieces(&stack.plan),
            duration_s: stack.plan.profile.duration_ns() as f64 / 1e9,
            plan: plan_words(&stack.plan),
            totals: stack.summaries.iter().map(|s| curve(None, s.direction, &s.total)).collect(),
            trials: measured()
                .flat_map(|t| t.paths.iter().map(move |p| (t.index, p)))
                .map(|(index, p)| curve(Some(index), p.direction, &p.total))
                .collect(),
            lag: values(&merged(measured().map(|t| &t.load.lag)), &quantiles),
            send_call: values(&merged(measured().map(|t| &t.load.send_call)), &quantiles),
            accounting: stack.trials.iter().map(closing).collect(),
            nothing: stack.self_cost.map(|c| {
                let zero = |e: Estimate| e.holds(0.0);
                Nothing {
                    send_call_ns: zero(c.send_call_ns),
                    reader_cpu_ns: c.reader_cpu_ns.map(zero),
                    rate_lost: c.rate_lost.map(zero),
                }
            }),
            quantiles,
        }
    }
}

/// 0, 10, ... 80, 85 %, and the same again within the last tenth, hundredth and thousandth.
fn quantiles() -> Vec<f64> {
    let above = [10_000u32, 1_000, 100, 10];
    let within = |unit: u32| [10, 9, 8, 7, 6, 5, 4, 3, 2].map(|m| m * unit).into_iter().chain([unit * 3 / 2]);
    above.into_iter().flat_map(within).chain([10]).map(|rest| f64::from(100_000 - rest) / 1e5).collect()
}

/// A quantile with fewer than ten values beyond it says nothing and is left out.
fn values(d: &stats::Distribution, quantiles: &[f64]) -> Vec<Option<i64>> {
    let beyond = |q: f64| d.moments.n as f64 * (1.0 - q);
    quantiles.iter().map(|&q| if beyond(q) < 10.0 { None } else { d.quantile(q) }).collect()
}

/// A damaged record may name buckets that no value has; such a histogram is not drawn.
fn read(d: &Distribution) -> stats::Distribution {
    let last = stats::bucket_index(u64::MAX, d.grain.min(16)) as u64;
    if d.grain > 16 || d.buckets.iter().any(|&(i, _)| u64::from(i) > last) {
        return stats::Distribution::new(0);
    }
    d.into()
}

fn merged<'a>(mut parts: impl Iterator<Item = &'a Distribution>) -> stats::Distribution {
    let Some(first) = parts.next() else { return stats::Distribution::new(0) };
    let mut all = read(first);
    // Histograms of another grain cannot be added bucket by bucket.
    parts.filter(|d| d.grain == first.grain).for_each(|d| all.merge(&read(d)));
    all
}

fn closing(trial: &Trial) -> Closing {
    Closing {
        gap: trial.accounting.gap(),
        agrees: trial.accounting.counters.iter().map(|c| c.agrees()).collect(),
    }
}

fn stage_words() -> BTreeMap<&'static str, StageWords> {
    let words = |s: &Stage| (s.name(), StageWords { meaning: s.meaning(), inside: s.is_inside() });
    [Direction::Tx, Direction::Rx].iter().flat_map(|d| d.stages()).map(words).collect()
}

fn pieces(plan: &StackPlan) -> Vec<Piece> {
    let piece = |p: netfathom_model::profile::Piece| Piece {
        start_s: p.start_s,
        length_s: p.length_s,
        from_per_s: p.from_per_s,
        to_per_s: p.to_per_s,
    };
    plan.profile.pieces().into_iter().map(piece).collect()
}

fn plan_words(plan: &StackPlan) -> Vec<(&'static str, String)> {
    let tap = match plan.tap {
        TapChoice::Auto => "auto".to_owned(),
        TapChoice::Only(tap) => tap.name().to_owned(),
    };
    let directions: Vec<&str> = plan.directions.iter().map(|d| d.name()).collect();
    let cpus = plan.cpus.map_or("chosen by netfathom".into(), |(s, r)| format!("sender {s}, reader {r}"));
    let port = if plan.port == 0 { "a free one".into() } else { plan.port.to_string() };
    let mut rows = vec![
        ("directions", directions.join(", ")),
        ("place", plan.place.name().to_owned()),
        ("profile", plan.profile.to_string()),
        ("trials with the tap", plan.trials.to_string()),
        ("control trials", plan.controls.to_string()),
        ("witness trials", plan.witnesses.to_string()),
        ("tap asked for", tap),
        ("size", format!("{} bytes of UDP payload", plan.size_bytes)),
        ("samples", plan.samples.to_string()),
        ("processors", cpus),
        ("port", port),
        ("seed", plan.seed.to_string()),
    ];
    if plan.reader_delay_ns > 0 {
        rows.push(("reader's delay", format_duration(plan.reader_delay_ns)));
    }
    if let Some(delay) = plan.inserted_delay {
        let text = format!("{} on {}", format_duration(delay.delay_ns.into()), delay.direction.name());
        rows.push(("inserted delay", text));
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_rise_and_hold_the_usual_ones() {
        let all = quantiles();
        assert!(all.is_sorted_by(|a, b| a < b), "{all:?}");
        for q in [0.0, 0.5, 0.9, 0.99, 0.999, 0.9999] {
            assert!(all.contains(&q), "{q}");
        }
    }

    #[test]
    fn a_bucket_that_no_value_has_is_not_allocated() {
        let mut d = Distribution::from(&stats::Distribution::new(5));
        d.buckets = vec![(u32::MAX, 1)];
        assert_eq!(read(&d).moments.n, 0);
    }
}
