//! The papers' figures: stack time over the run. Ours: the stages over the run, and stack time against the rate.

use netfathom_model::path::{Direction, Stage};
use netfathom_model::record::{PathTimes, Series as Windows, StackResult, StageOutcome, Trial};

use super::waterfall::color;
use crate::page::{Axis, Chart, Look, Page, Series};
use crate::story::curves::{beside_trials, means, middles, pooled};
use crate::story::sender;

/// Parts of the range of rates, each of them a point of the line.
const BINS: usize = 40;

type Path<'a> = (&'a Trial, &'a PathTimes);

pub(super) fn draw(page: &mut Page, result: &StackResult, direction: Direction) {
    let paths = super::paths(result, direction);
    let all = pooled(paths.iter().map(|(_, path)| &path.series));
    if all.n.is_empty() {
        return;
    }
    // Charts that zoom together reach equally far.
    let windows = paths.iter().map(|(t, p)| t.load.series.n.len().max(p.series.n.len())).max().unwrap_or(0);
    let xs = middles(all.window_ns, windows);
    page.chart(over_run(&paths, direction, &all, &xs));
    let mut layers = layers(&paths, direction, &all);
    layers.iter_mut().for_each(|layer| layer.values.resize(xs.len(), None));
    if !layers.is_empty() {
        page.chart(Chart {
            id: format!("stages-{}", direction.name()),
            title: format!("Stages, {}", direction.name()),
            about: "Part of each stage in the mean stack time of each window.".into(),
            x: Axis::Run,
            y: Axis::Time,
            height: 220,
            sync: Some("run".into()),
            xs,
            stacked: true,
            series: layers,
            note: Some("Layers add up to the mean stack time; stages below the link layer are left out."),
            ..Chart::default()
        });
    }
    against_rate(page, result, &paths, direction);
}

fn over_run(paths: &[Path], direction: Direction, all: &Windows, xs: &[f64]) -> Chart {
    let trials: Vec<_> = paths.iter().map(|(trial, path)| (trial.index, means(&path.series))).collect();
    let mut mean = means(all);
    mean.resize(xs.len(), None);
    Chart {
        id: format!("time-{}", direction.name()),
        title: format!("Mean stack time, {}", direction.name()),
        about: "Mean stack time of each window over the trial.".into(),
        x: Axis::Run,
        y: Axis::Time,
        height: 240,
        sync: Some("run".into()),
        xs: xs.to_vec(),
        series: beside_trials("stack time", direction.name(), &trials, mean),
        ..Chart::default()
    }
}

/// Each stage within the stack time as a layer, the last one on top.
fn layers(paths: &[Path], direction: Direction, all: &Windows) -> Vec<Series> {
    let inside = direction.stages().iter().rev().filter(|stage| stage.is_inside());
    inside.filter_map(|&stage| layer(paths, stage, all)).collect()
}

fn layer(paths: &[Path], stage: Stage, all: &Windows) -> Option<Series> {
    let stages = paths.iter().flat_map(|(_, path)| &path.stages).filter(|s| s.stage == stage);
    let measured: Vec<&Windows> = stages
        .filter_map(|s| match &s.times {
            StageOutcome::Measured { series, .. } => Some(series),
            StageOutcome::Unavailable(_) => None,
        })
        .collect();
    if measured.is_empty() {
        return None;
    }
    let sum = pooled(measured);
    let part = |(i, &n): (usize, &u64)| {
        let sum_ns = sum.sum_ns.get(i).copied().unwrap_or(0);
        (n > 0).then(|| sum_ns as f64 / n as f64)
    };
    Some(Series {
        values: all.n.iter().enumerate().map(part).collect(),
        ..Series::new(stage.name(), color(stage), Look::Layer)
    })
}

/// A window of a trial: its rate, and what its messages took.
struct Window {
    per_s: f64,
    n: u64,
    sum_ns: f64,
}

fn against_rate(page: &mut Page, result: &StackResult, paths: &[Path], direction: Direction) {
    let windows: Vec<Window> = paths.iter().flat_map(|path| windows(result, path)).collect();
    if windows.is_empty() {
        return;
    }
    let points = windows.iter().map(|w| (w.per_s, Some(w.sum_ns / w.n as f64), None));
    let line = by_rate(&windows).into_iter().map(|(per_s, mean_ns)| (per_s, None, Some(mean_ns)));
    let mut all: Vec<_> = points.chain(line).collect();
    all.sort_by(|a, b| a.0.total_cmp(&b.0));
    let curve = |label: &str, look, values| Series { values, ..Series::new(label, direction.name(), look) };
    let single = curve("windows", Look::Points, all.iter().map(|p| p.1).collect());
    let together = curve("all trials", Look::Strong, all.iter().map(|p| p.2).collect());
    page.chart(Chart {
        id: format!("against-{}", direction.name()),
        title: format!("Mean stack time against rate, {}", direction.name()),
        about: "Each window of each trial by its achieved rate.".into(),
        x: Axis::Rate,
        y: Axis::Time,
        height: 240,
        xs: all.iter().map(|p| p.0).collect(),
        series: vec![single, Series { joined: true, ..together }],
        note: Some(
            "A point is a window of one trial. The line gathers the windows of all trials by their rate, messages \
             added up before they are divided.",
        ),
        ..Chart::default()
    });
}

/// The windows that have both a rate and a time.
fn windows(result: &StackResult, (trial, path): &Path) -> Vec<Window> {
    let rates = sender::achieved(&trial.load, &result.plan.profile);
    let times = path.series.n.iter().zip(&path.series.sum_ns);
    let window = |((&n, &sum_ns), per_s): ((&u64, &i64), Option<f64>)| {
        Some(Window { per_s: per_s.filter(|_| n > 0)?, n, sum_ns: sum_ns as f64 })
    };
    times.zip(rates).filter_map(window).collect()
}

/// Windows gathered into bins of equal width: the mean rate of each, and the mean time.
fn by_rate(windows: &[Window]) -> Vec<(f64, f64)> {
    let low = windows.iter().map(|w| w.per_s).fold(f64::INFINITY, f64::min);
    let high = windows.iter().map(|w| w.per_s).fold(0.0, f64::max);
    let width = (high - low) / BINS as f64;
    let bin = |w: &Window| if width > 0.0 { (((w.per_s - low) / width) as usize).min(BINS - 1) } else { 0 };
    let mut bins: Vec<Vec<&Window>> = vec![Vec::new(); BINS];
    windows.iter().for_each(|w| bins[bin(w)].push(w));
    let mean = |bin: Vec<&Window>| {
        let sum = |of: fn(&Window) -> f64| bin.iter().map(|w| of(w)).sum::<f64>();
        (sum(|w| w.per_s) / bin.len() as f64, sum(|w| w.sum_ns) / sum(|w| w.n as f64))
    };
    bins.into_iter().filter(|bin| !bin.is_empty()).map(mean).collect()
}
