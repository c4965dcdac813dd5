//! The same as a picture.

use netfathom_model::record::{Figure, FigureKind, FigurePoint, FigureSeries, ReproducedRun};

use super::tables::findings;

/// Slowdowns where there is nothing, with their intervals.
pub fn nothings(runs: &[ReproducedRun]) -> Figure {
    let points = findings(runs).into_iter().zip(1..).map(|(found, number)| FigurePoint {
        x: f64::from(number),
        y: 100.0 * (found.ratio.value - 1.0),
        half_width: Some(100.0 * found.ratio.half_width),
        label: Some(format!("{number}")),
    });
    Figure {
        title: "Slowdown with nothing there".into(),
        x: "run".into(),
        y: "slowdown, %".into(),
        kind: FigureKind::Bars,
        series: vec![FigureSeries { name: "here".into(), here: true, points: points.collect() }],
    }
}
