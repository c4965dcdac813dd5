//! What follows from a record by the rules of the model and the arithmetic of stats, so
//! that the script in the page repeats neither.

mod cost;
mod histogram;
mod load;
mod message;
mod reproduce;
mod stack;

use std::collections::BTreeMap;

use netfathom_model::accounting::Accounting;
use netfathom_model::path::{Direction, Stage};
use netfathom_model::profile::Profile;
use netfathom_model::record::Measurement;
use serde::Serialize;

use crate::page::Page;
use crate::story::curves::{quantiles, values};
use crate::story::pooled::{merged, read};
use crate::story::{self, processors};

/// The facts of each kind of measurement.
#[derive(Serialize)]
#[serde(untagged)]
pub enum Facts {
    Stack(stack::StackFacts),
    Load(load::LoadFacts),
    Reproduce(reproduce::ReproduceFacts),
    Message(message::MessageFacts),
    Cost(cost::CostFacts),
    /// Of what is not drawn.
    Nothing(()),
    /// Of what is drawn from its page.
    Story {
        page: Page,
        plan: PlanWords,
    },
}

impl Facts {
    pub fn of(measurement: &Measurement) -> Self {
        if let Some(body) = story::body(measurement) {
            return Self::Story { page: body.page, plan: body.plan };
        }
        match measurement {
            Measurement::Stack(result) => Self::Stack(stack::StackFacts::of(result)),
            Measurement::Load(result) => Self::Load(load::LoadFacts::of(result)),
            Measurement::Capacity(_)
            | Measurement::Reverse(_)
            | Measurement::Join(_)
            | Measurement::Transfer(_)
            | Measurement::Sweep(_) => Self::Nothing(()),
            Measurement::Reproduce(result) => Self::Reproduce(reproduce::ReproduceFacts::of(result)),
            Measurement::Message(result) => Self::Message(message::MessageFacts::of(result)),
            Measurement::Cost(result) => Self::Cost(cost::CostFacts::of(result)),
        }
    }
}

/// A plan in words. A seed may not fit a number of JavaScript.
type PlanWords = Vec<(&'static str, String)>;

#[derive(Serialize)]
pub struct StageWords {
    meaning: &'static str,
    inside: bool,
}

#[derive(Serialize)]
pub struct Piece {
    start_s: f64,
    length_s: f64,
    from_per_s: f64,
    to_per_s: f64,
}

#[derive(Serialize)]
pub struct Closing {
    gap: i64,
    agrees: Vec<bool>,
}

impl Closing {
    fn of(accounting: &Accounting) -> Self {
        Self { gap: accounting.gap(), agrees: accounting.counters.iter().map(|c| c.agrees()).collect() }
    }
}

fn stage_words() -> BTreeMap<&'static str, StageWords> {
    let words = |s: &Stage| (s.name(), StageWords { meaning: s.meaning(), inside: s.is_inside() });
    [Direction::Tx, Direction::Rx].iter().flat_map(|d| d.stages()).map(words).collect()
}

fn pieces(profile: &Profile) -> Vec<Piece> {
    let piece = |p: netfathom_model::profile::Piece| Piece {
        start_s: p.start_s,
        length_s: p.length_s,
        from_per_s: p.from_per_s,
        to_per_s: p.to_per_s,
    };
    profile.pieces().into_iter().map(piece).collect()
}
