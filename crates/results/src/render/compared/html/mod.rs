//! A comparison as one self-contained HTML file. Pictures are drawn here: nothing runs in the browser.

mod forest;
mod spread;
mod trials;

use askama::Template;

use crate::compare::{Compared, Comparison, Difference, Gates, Outcome};
use crate::render::html::Error;
use crate::render::html::embed::sha256_source;

use crate::story::compare::words;
use forest::Forest;
use spread::Spreads;
use trials::Trials;

const STYLE: &str = concat!(
    include_str!("../../html/style/base.css"),
    include_str!("../../html/style/parts.css"),
    include_str!("../../html/style/media.css"),
    include_str!("compare.css"),
);

/// Distributions that are drawn; the records have them all.
const MOST_SPREADS: usize = 24;
/// Quantities whose trials are drawn.
const MOST_TRIALS: usize = 24;
/// Rows of a table or of the picture of ratios.
const MOST_ROWS: usize = 400;

#[derive(Template)]
#[template(path = "compare.html", config = "src/render/compared/html/askama.toml")]
struct Page<'a> {
    policy: String,
    style: &'a str,
    title: String,
    parts: Vec<Part<'a>>,
}

/// One comparison.
struct Part<'a> {
    number: usize,
    comparison: &'a Comparison,
    label: &'static str,
    tone: &'static str,
    answer: String,
    runs: Vec<(&'static str, &'a str, &'a str, &'a str, String)>,
    gates: Vec<(String, &'static str)>,
    gates_method: Option<String>,
    differences: &'a [Difference],
    nothing_changed: String,
    cut: Vec<String>,
    forest: Forest,
    tables: Vec<(&'static str, Vec<Row<'a>>)>,
    alone: Vec<String>,
    trials: Vec<Trials>,
    spreads: Vec<Spreads>,
    method: String,
}

/// A quantity as the tables show it.
struct Row<'a> {
    quantity: &'a Compared,
    a: String,
    b: String,
    change: String,
    interval: String,
    smallest: String,
    tone: &'static str,
}

/// Draws comparisons, each with what came of its thresholds, as one HTML file that needs nothing beside itself.
///
/// # Errors
/// If the page cannot be filled.
pub fn render(comparisons: &[(Comparison, Gates)]) -> Result<String, Error> {
    let parts: Vec<Part<'_>> = comparisons
        .iter()
        .enumerate()
        .map(|(place, (comparison, gates))| part(place + 1, comparison, gates))
        .collect();
    let title = parts.first().map_or_else(String::new, |part| {
        format!("{} · {} · netfathom compare", part.label, part.comparison.measurement)
    });
    Ok(Page { policy: policy(), style: STYLE, title, parts }.render()?)
}

/// Nothing is allowed but the very style of this file.
fn policy() -> String {
    let style = sha256_source(STYLE);
    format!("default-src 'none'; style-src {style}; base-uri 'none'; form-action 'none'")
}

fn part<'a>(number: usize, comparison: &'a Comparison, gates: &Gates) -> Part<'a> {
    let (main, others): (Vec<&Compared>, Vec<&Compared>) = comparison.quantities.iter().partition(|q| q.main);
    let (label, tone) = label(comparison);
    let sides = [("A", &comparison.a), ("B", &comparison.b)];
    let runs = sides.into_iter().flat_map(|(side, heads)| {
        heads
            .iter()
            .map(move |h| (side, h.name.as_str(), h.id.as_str(), h.started_utc.as_str(), words::standing(h)))
    });
    let rows = |those: &[&'a Compared]| those.iter().take(MOST_ROWS).map(|q| row(q)).collect();
    let drawn: Vec<&Compared> = comparison.quantities.iter().take(MOST_ROWS).collect();
    Part {
        number,
        comparison,
        label,
        tone,
        answer: words::answer(comparison),
        runs: runs.collect(),
        gates: words::gates(gates),
        gates_method: words::gates_method(gates),
        differences: &comparison.differences[..comparison.differences.len().min(MOST_ROWS)],
        nothing_changed: words::nothing_changed(comparison),
        cut: cut(comparison),
        forest: Forest::of(&drawn),
        tables: vec![("Main quantities", rows(&main)), ("Other quantities", rows(&others))],
        alone: words::alone(comparison),
        trials: main.iter().take(MOST_TRIALS).map(|quantity| Trials::of(quantity)).collect(),
        spreads: comparison.spreads.iter().take(MOST_SPREADS).map(|(a, b)| Spreads::of(a, b)).collect(),
        method: words::method(comparison),
    }
}

/// What was left out, so that nobody misses it.
fn cut(comparison: &Comparison) -> Vec<String> {
    let all = [
        ("quantities", comparison.quantities.len(), MOST_ROWS),
        ("differences", comparison.differences.len(), MOST_ROWS),
        ("distributions", comparison.spreads.len(), MOST_SPREADS),
    ];
    let over = all.into_iter().filter(|(_, there, most)| there > most);
    over.map(|(what, there, most)| format!("{most} of {there} {what} are drawn; the records have all."))
        .collect()
}

fn label(comparison: &Comparison) -> (&'static str, &'static str) {
    if comparison.is_refused() {
        return ("NOT COMPARED", "void");
    }
    match words::overall(comparison) {
        Some(Outcome::Worse) => ("WORSE", "void"),
        Some(Outcome::Better) => ("BETTER", "valid"),
        Some(Outcome::Same) => ("THE SAME", "valid"),
        Some(Outcome::CannotTell) | None => ("CANNOT TELL", "degraded"),
    }
}

/// The colour of an outcome; its word and its mark say the same.
fn tone(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Worse => "worse",
        Outcome::Better => "better",
        Outcome::CannotTell | Outcome::Same => "untold",
    }
}

fn row(quantity: &Compared) -> Row<'_> {
    Row {
        quantity,
        a: words::value(quantity.unit, quantity.a_mean),
        b: words::value(quantity.unit, quantity.b_mean),
        change: words::change(quantity),
        interval: words::interval(quantity),
        smallest: words::smallest(quantity),
        tone: tone(quantity.outcome),
    }
}
