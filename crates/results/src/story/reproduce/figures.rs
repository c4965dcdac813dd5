//! The source's figures: what was measured here in color, what the source says quiet beside it.

use netfathom_model::record::{Figure, FigureKind, FigurePoint, FigureSeries, ReproduceResult};

use super::digits;
use crate::page::{Axis, Bar, BarGroup, Bars, Chart, Color, Look, Mark, Page, Series};

const COLORS: [Color; 4] = ["tx", "rx", "call", "lag"];

/// Points of a line beyond which they have no marks of their own.
const MOST_MARKED: usize = 60;

pub(super) fn draw(page: &mut Page, result: &ReproduceResult) {
    if result.figures.is_empty() {
        return;
    }
    page.heading("Figures");
    for (place, figure) in result.figures.iter().enumerate() {
        match figure.kind {
            FigureKind::Lines | FigureKind::LogLines => page.chart(lines(figure, place)),
            FigureKind::Bars | FigureKind::LogBars => page.bars(bars(figure)),
        }
    }
}

/// The color and the look of each series, in their order.
fn looks(figure: &Figure) -> Vec<(Color, Look)> {
    let mut counts = [0, 0];
    let look = |series: &FigureSeries| {
        let count = &mut counts[usize::from(series.here)];
        *count += 1;
        match series.here {
            true => (COLORS[(*count - 1) % COLORS.len()], Look::Strong),
            false => ("muted", Look::QUIET[(*count - 1) % Look::QUIET.len()]),
        }
    };
    figure.series.iter().map(look).collect()
}

fn lines(figure: &Figure, place: usize) -> Chart {
    let xs = common_axis(figure);
    let line = |(series, (color, look)): (&FigureSeries, (Color, Look))| {
        let at = laid(&xs, &series.points);
        let marks = if series.points.len() > MOST_MARKED { &[] } else { at.as_slice() };
        let name = if series.here { "here" } else { "there" };
        Series {
            label: if series.name.is_empty() { name.into() } else { series.name.clone() },
            color,
            look,
            values: at.iter().map(|p| p.map(|p| p.y).filter(|y| y.is_finite())).collect(),
            marks: marks.iter().map(|p| p.map(|p| mark(color, p))).collect(),
            ..Series::default()
        }
    };
    Chart {
        id: format!("figure-{place}"),
        title: figure.title.clone(),
        about: format!("{} against {}.", figure.y, figure.x),
        x: Axis::Number,
        y: if figure.kind == FigureKind::LogLines { Axis::LogNumber } else { Axis::Number },
        x_label: figure.x.clone(),
        y_label: figure.y.clone(),
        height: 320,
        series: figure.series.iter().zip(looks(figure)).map(line).collect(),
        xs,
        ..Chart::default()
    }
}

fn mark(color: Color, point: &FigurePoint) -> Mark {
    let half = point.half_width.unwrap_or(0.0);
    Mark { color: color.into(), shape: "dot", ends: (point.y - half, point.y + half) }
}

/// The places of all points, each as often as a series has points at it: these stay apart.
fn common_axis(figure: &Figure) -> Vec<f64> {
    let places = |series: &FigureSeries| {
        let mut xs: Vec<f64> = series.points.iter().map(|p| p.x).filter(|x| x.is_finite()).collect();
        xs.sort_by(f64::total_cmp);
        xs
    };
    let mut all: Vec<f64> = Vec::new();
    for xs in figure.series.iter().map(places) {
        for same in xs.chunk_by(|a, b| a == b) {
            let there = all.iter().filter(|x| **x == same[0]).count();
            all.extend(same.iter().skip(there));
        }
    }
    all.sort_by(f64::total_cmp);
    all
}

/// Points at their places on the axis, those at one place in their order.
fn laid<'a>(xs: &[f64], points: &'a [FigurePoint]) -> Vec<Option<&'a FigurePoint>> {
    let mut left: Vec<&FigurePoint> = points.iter().collect();
    let next = |x: &f64| left.iter().position(|p| p.x == *x).map(|i| left.remove(i));
    xs.iter().map(next).collect()
}

fn bars(figure: &Figure) -> Bars {
    let looks = looks(figure);
    let mut groups: Vec<(f64, BarGroup)> = Vec::new();
    for (series, (color, _)) in figure.series.iter().zip(looks) {
        for point in series.points.iter().filter(|p| p.y.is_finite()) {
            let name = point.label.clone().unwrap_or_else(|| digits::point(point.x, None));
            let place = groups.iter().position(|(_, group)| group.name == name).unwrap_or_else(|| {
                groups.push((point.x, BarGroup { name, mark: None, bars: Vec::new() }));
                groups.len() - 1
            });
            groups[place].1.bars.push(Bar {
                name: series.name.clone(),
                color,
                value: Some(point.y),
                ends: point.half_width.map(|half| (point.y - half, point.y + half)),
                text: digits::point(point.y, point.half_width),
                ..Bar::default()
            });
        }
    }
    groups.sort_by(|a, b| a.0.total_cmp(&b.0));
    Bars {
        title: format!("{}: {}, by {}", figure.title, figure.y, figure.x),
        unit: Axis::Number,
        from_zero: figure.kind == FigureKind::Bars,
        groups: groups.into_iter().map(|(_, group)| group).collect(),
        ..Bars::default()
    }
}
