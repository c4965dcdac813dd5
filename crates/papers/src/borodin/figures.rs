//! The same as pictures.

use netfathom_model::path::Direction;
use netfathom_model::record::{Figure, FigurePoint, FigureSeries, Indicator, StackResult};

use super::originals::{self, PLATFORMS, SummaryRow, who};
use super::ours::{self, Slope};
use super::tables::{mean_us, way};
use crate::beside::{self, HERE, bar, estimate, plain, point};

const MEAN: &str = "mean time, µs";
const TIME: &str = "time, s";

/// Bars of the means over everything and at peak.
pub fn overall_and_peak(ours: Option<&StackResult>) -> Figure {
    let summary = ours.and_then(|o| ours::summary(o, Direction::Tx));
    let series = [
        ("overall", originals::overall(Direction::Tx), summary.map(|s| s.overall)),
        ("at peak", originals::peak(), summary.and_then(|s| s.peak)),
    ];
    let series = series.into_iter().flat_map(|(name, rows, here)| both(name, &rows, here));
    by_platform("Time of outgoing messages, overall and at peak", series.collect())
}

pub fn overall(direction: Direction, ours: Option<&StackResult>) -> Figure {
    let here = ours.and_then(|o| ours::summary(o, direction)).map(|s| s.overall);
    let title = format!("Time of {} messages", way(direction));
    by_platform(&title, both("overall", &originals::overall(direction), here))
}

pub fn both_ways(ours: Option<&StackResult>) -> Figure {
    let series = [Direction::Tx, Direction::Rx].into_iter().flat_map(|direction| {
        let here = ours.and_then(|o| ours::summary(o, direction)).map(|s| s.overall);
        both(way(direction), &originals::overall(direction), here)
    });
    by_platform("Outgoing and incoming messages", series.collect())
}

fn by_platform(title: &str, series: Vec<FigureSeries>) -> Figure {
    beside::bars(title, ["platform", MEAN], series)
}

/// The papers' bars and ours, which come after them.
fn both(name: &str, rows: &[SummaryRow], here: Option<Indicator>) -> Vec<FigureSeries> {
    let theirs = rows
        .iter()
        .zip(0..)
        .map(|(row, x)| bar(f64::from(x), estimate(row.mean_us), format!("platform {}", row.platform)));
    let theirs = beside::theirs(format!("Borodin, {name}"), theirs.collect());
    let ours = here.map(|mean| self::here(name, vec![bar(rows.len() as f64, mean_us(&mean), HERE)]));
    [theirs].into_iter().chain(ours).collect()
}

/// Bars of the trial means beside each other.
pub fn trials(direction: Direction, ours: Option<&StackResult>) -> Figure {
    let rows = originals::trials(direction);
    let theirs = PLATFORMS.iter().map(|platform| {
        let means = rows.iter().filter(|row| row.platform == *platform).map(|row| row.mean_us);
        beside::theirs(who(platform), numbered(means))
    });
    let means: Vec<f64> = ours
        .map(|o| ours::paths(o, direction).iter().map(|path| path.total.mean_ns / 1e3).collect())
        .unwrap_or_default();
    let here = (!means.is_empty()).then(|| beside::ours(HERE, numbered(means.into_iter())));
    let title = format!("Means of the trials, {} messages", way(direction));
    beside::bars(title, ["trial", MEAN], theirs.chain(here).collect())
}

fn numbered(values: impl Iterator<Item = f64>) -> Vec<FigurePoint> {
    values.zip(1..).map(|(y, number)| bar(f64::from(number), plain(y), number.to_string())).collect()
}

/// Lines of the mean time over the rate; none before the first trial, for our texts of the papers
/// have no figures.
pub fn over_rate(directions: &[Direction], ours: Option<&StackResult>) -> Vec<Figure> {
    let line = |&direction: &Direction| Some(here(way(direction), ours::over_rate(ours?, direction, None)));
    by_rate(directions.iter().filter_map(line).collect())
}

/// The same on each slope of a triangle.
pub fn slopes(direction: Direction, ours: Option<&StackResult>) -> Vec<Figure> {
    let line = |(name, slope)| Some(here(name, ours::over_rate(ours?, direction, Some(slope))));
    let both = [("as the rate rises", Slope::Rising), ("as the rate falls", Slope::Falling)];
    by_rate(both.into_iter().filter_map(line).collect())
}

fn by_rate(series: Vec<FigureSeries>) -> Vec<Figure> {
    lines("Mean time over the rate, all trials here", "offered rate, messages/s", MEAN, series)
}

/// The papers' own figures: rate and mean time over a trial.
pub fn over_time(directions: &[Direction], ours: Option<&StackResult>) -> Vec<Figure> {
    let series = |of: fn(&ours::TimePoint) -> Option<f64>| {
        let line = |&direction: &Direction| {
            let points = ours::over_time(ours?, direction);
            let point = |p: &ours::TimePoint| Some(point(p.at_s, plain(of(p)?)));
            Some(here(way(direction), points.iter().filter_map(point).collect()))
        };
        directions.iter().filter_map(line).collect()
    };
    let rate =
        lines("Rate over a trial, mean of the trials", TIME, "messages/s", series(|p| Some(p.rate_per_s)));
    let time = lines("Mean time over a trial, all trials here", TIME, MEAN, series(|p| p.mean_us));
    [rate, time].concat()
}

fn here(name: &str, points: Vec<FigurePoint>) -> FigureSeries {
    beside::ours(format!("{HERE}, {name}"), points)
}

/// Lines that have points; no figure without any.
fn lines(title: &str, x: &str, y: &str, series: Vec<FigureSeries>) -> Vec<Figure> {
    let series: Vec<FigureSeries> = series.into_iter().filter(|s| !s.points.is_empty()).collect();
    if series.is_empty() { Vec::new() } else { vec![beside::lines(title, [x, y], series)] }
}
