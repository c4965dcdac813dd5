//! What follows from a record of `netfathom reproduce`: the facts of each of its runs, and its
//! numbers as readers want them.

use netfathom_model::plan::TapChoice;
use netfathom_model::record::{Figure, Measurement, ReproduceResult, ReproducedRun};
use netfathom_model::verdict::Level;
use serde::Serialize;

use super::{Facts, PlanWords};
use crate::render::html::answer::Words;
use crate::story::beside::{self, Shown};
use crate::story::standing::standing;

#[derive(Serialize)]
pub struct ReproduceFacts {
    plan: PlanWords,
    runs: Vec<RunFacts>,
    /// The cells of each table, column by column.
    tables: Vec<Vec<Vec<Option<Shown>>>>,
    /// The points of each figure, series by series.
    figures: Vec<Vec<Vec<Shown>>>,
}

#[derive(Serialize)]
struct RunFacts {
    facts: Facts,
    sentence: String,
    circumstances: Vec<String>,
    /// The worst verdict of its trials; `None` where none was judged.
    level: Option<Level>,
    trust: String,
    reasons: Vec<String>,
}

impl ReproduceFacts {
    pub fn of(reproduce: &ReproduceResult) -> Self {
        let table = |t: &netfathom_model::record::BesideTable| {
            (0..t.columns.len()).map(|i| beside::column(t, i)).collect()
        };
        Self {
            plan: plan_words(reproduce),
            runs: reproduce.runs.iter().map(run).collect(),
            tables: reproduce.tables.iter().map(table).collect(),
            figures: reproduce.figures.iter().map(figure).collect(),
        }
    }
}

fn run(run: &ReproducedRun) -> RunFacts {
    let words = Words::of_measurement(&run.measurement);
    let standing = standing(&run.measurement);
    // An experiment within an experiment is told of, not drawn: nothing makes one.
    let facts = match &run.measurement {
        Measurement::Reproduce(_) => Facts::Nothing(()),
        other => Facts::of(other),
    };
    RunFacts {
        facts,
        sentence: words.sentence,
        circumstances: words.circumstances,
        level: standing.as_ref().map(|s| s.level),
        trust: standing.as_ref().map_or(String::new(), |s| s.text.clone()),
        reasons: standing.map_or(Vec::new(), |s| s.reasons),
    }
}

fn figure(figure: &Figure) -> Vec<Vec<Shown>> {
    let point = |p: &netfathom_model::record::FigurePoint| beside::point(p.y, p.half_width);
    figure.series.iter().map(|s| s.points.iter().map(point).collect()).collect()
}

fn plan_words(reproduce: &ReproduceResult) -> PlanWords {
    let plan = &reproduce.plan;
    let tap = match plan.tap {
        TapChoice::Auto => "auto",
        TapChoice::All => "all",
        TapChoice::Only(tap) => tap.name(),
    };
    vec![
        ("experiment", plan.name.clone()),
        ("size", if plan.quick { "quick" } else { "whole" }.into()),
        ("tap asked for", tap.into()),
        ("seed", plan.seed.to_string()),
    ]
}
