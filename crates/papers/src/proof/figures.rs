//! The same as a picture.

use netfathom_model::record::{Figure, FigureKind, ReproducedRun};

use super::tables::findings;
use crate::beside::{HERE, bar, estimate, ours};
use crate::claim::percent_more;

/// Slowdowns where there is nothing, with their intervals.
pub fn nothings(runs: &[ReproducedRun]) -> Figure {
    let points = findings(runs).into_iter().zip(1..).map(|(found, number)| {
        bar(f64::from(number), estimate(percent_more(found.ratio)), number.to_string())
    });
    Figure {
        title: "Slowdown with nothing there".into(),
        x: "run".into(),
        y: "slowdown, %".into(),
        kind: FigureKind::Bars,
        series: vec![ours(HERE, points.collect())],
    }
}
