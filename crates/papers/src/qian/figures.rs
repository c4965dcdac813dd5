//! The same as pictures.

use netfathom_model::record::{Comparison, Figure, FigurePoint};
use netfathom_stats::Estimate;

use super::originals::{Cost, Level, MAKE, Original};
use super::ours::Ours;
use crate::beside::{self, HERE, estimate, plain};
use crate::claim::{percent, percent_more};

pub fn all(original: &Original, ours: Option<&Ours<'_>>) -> Vec<Figure> {
    vec![
        curve(original, ours, "Slowdown", |cost| cost.slowdown, |_, c| Some(percent_more(c.ratio))),
        curve(original, ours, "PCost", |cost| cost.pcost, |ours, c| ours.pcost(c).map(percent)),
    ]
}

fn curve(
    original: &Original,
    ours: Option<&Ours<'_>>,
    what: &str,
    theirs: fn(Cost) -> f64,
    of: fn(&Ours<'_>, &Comparison) -> Option<Estimate>,
) -> Figure {
    let by_name = original.axis == MAKE.axis;
    let point = |level: &Level, percent| FigurePoint {
        label: by_name.then(|| level.ours.into()),
        ..beside::point(level.x, percent)
    };
    let papers = original.levels.iter().filter_map(|level| {
        let value = theirs(original.cost(level.theirs)?);
        Some(point(level, plain(100.0 * value)))
    });
    let mut series = vec![beside::theirs("Qian & Wang", papers.collect())];
    for &(effect, words) in ours.map_or(&[][..], Ours::effects) {
        let found = |level: &Level| Some(point(level, estimate(of(ours?, ours?.at(level.ours, effect)?)?)));
        let points: Vec<FigurePoint> = original.levels.iter().filter_map(found).collect();
        if !points.is_empty() {
            let name = if words.is_empty() { HERE.into() } else { format!("{HERE}, {words}") };
            series.push(beside::ours(name, points));
        }
    }
    let (title, y) = (format!("{what} of a tar beside {}", original.who), format!("{what}, %"));
    let axes = [original.axis, &y];
    if by_name { beside::bars(title, axes, series) } else { beside::lines(title, axes, series) }
}
