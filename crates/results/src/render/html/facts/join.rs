//! What follows from a record of `netfathom join`.

use std::collections::BTreeMap;

use netfathom_model::record::{CaptureFile, JoinResult, JoinedSpan, PacketKind};
use serde::Serialize;

use super::{PlanWords, quantiles, read, values};
use crate::story::joined;

#[derive(Serialize)]
pub struct JoinFacts {
    plan: PlanWords,
    /// The quantiles of every curve.
    quantiles: Vec<f64>,
    /// One curve a span.
    spans: Vec<Vec<Option<i64>>>,
    /// How packets are called, by their kinds, for each capture.
    kinds: Vec<BTreeMap<PacketKind, &'static str>>,
    /// What the times of each capture and of each log count in, where these are not nanoseconds.
    steps: [Vec<Option<String>>; 2],
    /// What the times of each span are where the clocks were fitted; empty otherwise.
    above: Vec<&'static str>,
}

impl JoinFacts {
    pub fn of(join: &JoinResult) -> Self {
        let quantiles = quantiles();
        let kinds = |c: &CaptureFile| {
            let by_log = c.by_log.iter().flat_map(|of_log| &of_log.kinds);
            c.kinds.iter().chain(by_log).map(|k| (k.kind, k.kind.name())).collect()
        };
        let above = |s: &JoinedSpan| {
            let told = s.direction.map_or("", |d| joined::above_shortest(join, d));
            told.trim_matches([' ', ','])
        };
        Self {
            plan: plan_words(join),
            spans: join.spans.iter().map(|s| values(&read(&s.times), &quantiles)).collect(),
            kinds: join.captures.iter().map(kinds).collect(),
            above: join.spans.iter().map(above).collect(),
            steps: [
                join.captures.iter().map(|c| joined::steps(&c.steps_ns)).collect(),
                join.logs.iter().map(|l| joined::steps(&[l.step_ns])).collect(),
            ],
            quantiles,
        }
    }
}

fn plan_words(join: &JoinResult) -> PlanWords {
    let plan = &join.plan;
    vec![
        ("captures", plan.captures.join(", ")),
        ("logs", plan.logs.join(", ")),
        ("a message's number", joined::numbering(plan)),
        ("UDP port", plan.port.map_or("any".into(), |p| p.to_string())),
        ("clocks", joined::clock(plan).into()),
        ("window", format!("{} messages", plan.window)),
    ]
}
