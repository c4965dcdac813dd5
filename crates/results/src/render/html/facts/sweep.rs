//! What follows from a record of `netfathom ttcp sweep`.

use netfathom_model::record::{Cause, Explanation, SweepPoint, SweepResult, SweepTrial};
use serde::Serialize;

use super::PlanWords;
use crate::story::{carried, swept};

#[derive(Serialize)]
pub struct SweepFacts {
    plan: PlanWords,
    /// One a point.
    points: Vec<PointFacts>,
    /// Those that were met, the most frequent first.
    causes: Vec<CauseFacts>,
}

#[derive(Serialize)]
pub struct PointFacts {
    buffer: String,
    series: String,
    cause: String,
    /// What became of trials that did not come to their end.
    trouble: Vec<String>,
}

#[derive(Serialize)]
pub struct CauseFacts {
    cause: String,
    name: &'static str,
    points: usize,
    said: String,
    remedy: String,
}

impl SweepFacts {
    pub fn of(result: &SweepResult) -> Self {
        let cause = |(cause, points, e): (Cause, usize, &Explanation)| {
            CauseFacts {
                // As it is written in the record.
                cause: serde_json::to_value(cause)
                    .ok()
                    .and_then(|v| v.as_str().map(Into::into))
                    .unwrap_or_default(),
                name: cause.name(),
                points,
                said: e.said.clone(),
                remedy: e.remedy.clone(),
            }
        };
        Self {
            plan: swept::plan_words(&result.plan),
            points: result.points.iter().map(PointFacts::of).collect(),
            causes: swept::causes(result).into_iter().map(cause).collect(),
        }
    }
}

impl PointFacts {
    fn of(p: &SweepPoint) -> Self {
        let trouble = |t: &SweepTrial| {
            carried::ended(&t.end).map(|how| format!("Trial {}: {how}", u64::from(t.index) + 1))
        };
        Self {
            buffer: swept::buffer(p.socket_buffer_bytes),
            series: swept::series(p),
            cause: swept::cause(p),
            trouble: p.trials.iter().filter_map(trouble).collect(),
        }
    }
}
