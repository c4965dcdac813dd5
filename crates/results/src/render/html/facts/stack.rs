//! What follows from a record of `netfathom stack`.

use std::collections::BTreeMap;

use netfathom_model::path::{Direction, Tap};
use netfathom_model::plan::{StackPlan, TapChoice};
use netfathom_model::record::{Distribution, Estimate, StackResult, TapRow, TrialKind};
use netfathom_model::units::format_duration;
use serde::Serialize;

use super::{Closing, Piece, PlanWords, StageWords, merged, pieces, quantiles, read, stage_words, values};
use crate::render::html::answer::place;
use crate::story::standing::distorts;

#[derive(Serialize)]
pub struct StackFacts {
    /// What each stage is.
    stages: BTreeMap<&'static str, StageWords>,
    /// The profile's linear pieces.
    pieces: Vec<Piece>,
    /// Length of a trial.
    duration_s: f64,
    plan: PlanWords,
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
    /// What must be said of each tap of the comparison.
    taps: Vec<TapFacts>,
}

#[derive(Serialize)]
struct Curve {
    trial: Option<u32>,
    direction: Direction,
    values: Vec<Option<i64>>,
}

#[derive(Serialize)]
struct Nothing {
    send_call_ns: bool,
    send_call_share: Option<bool>,
    within_tx_ns: Option<bool>,
    within_rx_ns: Option<bool>,
    reader_cpu_ns: Option<bool>,
    rate_lost: Option<bool>,
}

/// Where an interval holds zero; `None` where there is none.
#[derive(Serialize)]
struct TapFacts {
    tx_bias_ns: Option<bool>,
    rx_bias_ns: Option<bool>,
    send_call_ns: Option<bool>,
    send_call_share: Option<bool>,
    reader_cpu_ns: Option<bool>,
    rate_lost: Option<bool>,
    /// Whether the tap takes so much of the send call that it distorts.
    send_distorts: bool,
    /// The same of the flat-out rate.
    rate_distorts: bool,
}

impl TapFacts {
    fn of(row: &TapRow) -> Self {
        let zero = |e: Option<Estimate>| e.map(|e| e.holds(0.0));
        let (share, rate) = row.cost.map_or((None, None), |c| (c.send_call_share, c.rate_lost));
        Self {
            tx_bias_ns: zero(row.tx_bias_ns),
            rx_bias_ns: zero(row.rx_bias_ns),
            send_call_ns: zero(row.cost.map(|c| c.send_call_ns)),
            send_call_share: zero(share),
            reader_cpu_ns: zero(row.cost.and_then(|c| c.reader_cpu_ns)),
            rate_lost: zero(rate),
            send_distorts: distorts(share),
            rate_distorts: distorts(rate),
        }
    }
}

impl StackFacts {
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
            pieces: pieces(&stack.plan.profile),
            duration_s: stack.plan.profile.duration_ns() as f64 / 1e9,
            plan: plan_words(&stack.plan),
            totals: stack.summaries.iter().map(|s| curve(None, s.direction, &s.total)).collect(),
            trials: measured()
                .flat_map(|t| t.paths.iter().map(move |p| (t.index, p)))
                .map(|(index, p)| curve(Some(index), p.direction, &p.total))
                .collect(),
            lag: values(&merged(measured().map(|t| &t.load.lag)), &quantiles),
            send_call: values(&merged(measured().map(|t| &t.load.send_call)), &quantiles),
            accounting: stack.trials.iter().map(|t| Closing::of(&t.accounting)).collect(),
            taps: stack.taps.iter().map(TapFacts::of).collect(),
            nothing: stack.self_cost.map(|c| {
                let zero = |e: Estimate| e.holds(0.0);
                Nothing {
                    send_call_ns: zero(c.send_call_ns),
                    send_call_share: c.send_call_share.map(zero),
                    within_tx_ns: c.within_tx_ns.map(zero),
                    within_rx_ns: c.within_rx_ns.map(zero),
                    reader_cpu_ns: c.reader_cpu_ns.map(zero),
                    rate_lost: c.rate_lost.map(zero),
                }
            }),
            quantiles,
        }
    }
}

fn plan_words(plan: &StackPlan) -> PlanWords {
    let tap = match plan.tap {
        TapChoice::Auto => "auto".to_owned(),
        TapChoice::All => "all, beside each other on the same load".to_owned(),
        TapChoice::Only(tap) => tap.name().to_owned(),
    };
    let directions: Vec<&str> = plan.directions.iter().map(|d| d.name()).collect();
    let cpus = plan.cpus.map_or("chosen by netfathom".into(), |(s, r)| format!("sender {s}, reader {r}"));
    let port = if plan.port == 0 { "a free one".into() } else { plan.port.to_string() };
    let mut rows = vec![
        ("directions", directions.join(", ")),
        ("place", place(plan.place)),
        ("profile", plan.profile.to_string()),
        ("trials with the tap", plan.trials.to_string()),
        ("control trials", plan.controls.to_string()),
        ("witness trials", plan.witnesses.to_string()),
        ("tap asked for", tap),
        ("workers", plan.workers.to_string()),
        ("size", format!("{} bytes of UDP payload", plan.size_bytes)),
        ("samples", plan.samples.to_string()),
        ("processors", cpus),
        ("port", port),
        ("seed", plan.seed.to_string()),
    ];
    if matches!(plan.tap, TapChoice::All | TapChoice::Only(Tap::Pcap)) {
        let by =
            if plan.pcap.tcpdump { "Debian's tcpdump" } else { "netfathom's own reader of the packet ring" };
        let kept = if plan.pcap.keep { "in the run's directory" } else { "no" };
        rows.extend([("the pcap tap captures by", by.into()), ("captures and logs kept", kept.into())]);
    }
    if plan.reader_delay_ns > 0 {
        rows.push(("reader's delay", format_duration(plan.reader_delay_ns)));
    }
    if let Some(delay) = plan.inserted_delay {
        let text = format!("{} on {}", format_duration(delay.delay_ns.into()), delay.direction.name());
        rows.push(("inserted delay", text));
    }
    rows
}
