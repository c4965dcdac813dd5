//! The same as pictures.

use netfathom_model::record::{Comparison, Effect, Figure, FigureKind, FigurePoint, FigureSeries};
use netfathom_stats::Estimate;

use super::originals::{Cost, Level, MAKE, Original};
use super::ours::Ours;

pub fn all(original: &Original, ours: Option<&Ours<'_>>) -> Vec<Figure> {
    vec![
        curve(
            original,
            ours,
            "Slowdown",
            |cost| cost.slowdown,
            |_, c| Some(Estimate { value: c.ratio.value - 1.0, half_width: c.ratio.half_width }),
        ),
        curve(original, ours, "PCost", |cost| cost.pcost, |ours, c| ours.pcost(c)),
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
    let point = |level: &Level, value: f64, half_width: Option<f64>| FigurePoint {
        x: level.x,
        y: 100.0 * value,
        half_width: half_width.map(|half| 100.0 * half),
        label: by_name.then(|| level.ours.into()),
    };
    let papers =
        original.levels.iter().filter_map(|l| Some(point(l, theirs(original.cost(l.theirs)?), None)));
    let mut series = vec![FigureSeries { name: "Qian & Wang".into(), here: false, points: papers.collect() }];
    let effects: &[(Effect, &str)] = if ours.is_some_and(Ours::has_load) {
        &[
            (Effect::Both, "here, with its load"),
            (Effect::Program, "here, beside its load"),
            (Effect::Load, "here, the load alone"),
        ]
    } else {
        &[(Effect::Program, "here")]
    };
    for &(effect, name) in effects {
        let found = |level: &Level| {
            let estimate = of(ours?, ours?.at(level.ours, effect)?)?;
            Some(point(level, estimate.value, Some(estimate.half_width)))
        };
        let points: Vec<FigurePoint> = original.levels.iter().filter_map(found).collect();
        if !points.is_empty() {
            series.push(FigureSeries { name: name.into(), here: true, points });
        }
    }
    Figure {
        title: format!("{what} of a tar beside {}", original.who),
        x: original.axis.into(),
        y: format!("{what}, %"),
        kind: if by_name { FigureKind::Bars } else { FigureKind::Lines },
        series,
    }
}
