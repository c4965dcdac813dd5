//! Distributions of both, A above the line and B below it, on one logarithmic axis of time.

use netfathom_model::record::Distribution;
use netfathom_stats::bucket_bounds;

use crate::quantity::Pooled;
use crate::quantity::Unit;

use crate::story::compare::words;

/// Bars of one side.
const BARS: usize = 64;
/// Decades of the axis are told at most so often.
const MOST_TICKS: usize = 5;

type Quantile = (&'static str, fn(&Distribution) -> f64);
const QUANTILES: [Quantile; 6] = [
    ("mean", |d| d.mean_ns),
    ("p50", |d| d.p50_ns as f64),
    ("p90", |d| d.p90_ns as f64),
    ("p99", |d| d.p99_ns as f64),
    ("p99.9", |d| d.p999_ns as f64),
    ("max", |d| d.max_ns as f64),
];

/// The picture. All places are percent of its width and height.
pub(super) struct Spreads {
    pub name: String,
    /// Bars: class, x, y, width, height.
    pub bars: Vec<(&'static str, String, String, String, String)>,
    pub ticks: Vec<(String, String)>,
    /// The table: what, of A, of B.
    pub rows: Vec<(&'static str, String, String)>,
    /// Values below zero have no place on the axis.
    pub negative: u64,
}

impl Spreads {
    pub fn of(a: &Pooled, b: &Pooled) -> Self {
        let (of_a, of_b) = (pieces(&a.times), pieces(&b.times));
        let axis = Axis::over(of_a.iter().chain(&of_b));
        let (heights_a, heights_b) = (axis.heights(&of_a), axis.heights(&of_b));
        let highest = heights_a.iter().chain(&heights_b).copied().fold(0.0, f64::max);
        let mut bars = axis.bars("a", &heights_a, highest);
        bars.extend(axis.bars("b", &heights_b, highest));
        let time = |ns| words::value(Unit::Nanoseconds, ns);
        let count = |d: &Distribution| words::value(Unit::Count, d.n as f64);
        let quantiles = QUANTILES.map(|(what, of)| (what, time(of(&a.times)), time(of(&b.times))));
        Self {
            name: a.name.clone(),
            bars,
            ticks: axis.ticks(),
            rows: std::iter::once(("n", count(&a.times), count(&b.times))).chain(quantiles).collect(),
            negative: a.times.negative.saturating_add(b.times.negative),
        }
    }
}

/// A bucket: its ends on the logarithmic axis, and its part of all.
struct Piece {
    from: f64,
    to: f64,
    part: f64,
}

fn pieces(times: &Distribution) -> Vec<Piece> {
    let of = netfathom_stats::Distribution::from(times);
    let grain = of.histogram.grain();
    let all: f64 = of.histogram.buckets().map(|(_, count)| count as f64).sum();
    of.histogram
        .buckets()
        .map(|(index, count)| {
            let (low, high) = bucket_bounds(index, grain);
            // From one nanosecond on: zero has no place.
            let (from, to) = ((low as f64).max(1.0).log10(), (high as f64).max(2.0).log10());
            Piece { from, to, part: count as f64 / all }
        })
        .collect()
}

struct Axis {
    from: f64,
    to: f64,
}

impl Axis {
    fn over<'a>(pieces: impl Iterator<Item = &'a Piece>) -> Self {
        let (from, to) = pieces.fold((f64::INFINITY, f64::NEG_INFINITY), |(from, to), piece| {
            (from.min(piece.from), to.max(piece.to))
        });
        if from < to { Self { from, to } } else { Self { from: 0.0, to: 1.0 } }
    }

    fn width(&self) -> f64 {
        (self.to - self.from) / BARS as f64
    }

    /// What falls into each bar, the parts of buckets that reach over several spread evenly.
    fn heights(&self, pieces: &[Piece]) -> Vec<f64> {
        let mut heights = vec![0.0; BARS];
        for piece in pieces {
            let bar = |at: f64| (((at - self.from) / self.width()) as usize).min(BARS - 1);
            let (first, last) = (bar(piece.from), bar(piece.to));
            for (place, height) in heights.iter_mut().enumerate().take(last + 1).skip(first) {
                let low = self.from + place as f64 * self.width();
                let inside = (piece.to.min(low + self.width()) - piece.from.max(low)).max(0.0);
                *height += piece.part * inside / (piece.to - piece.from);
            }
        }
        heights
    }

    fn bars(
        &self,
        class: &'static str,
        heights: &[f64],
        highest: f64,
    ) -> Vec<(&'static str, String, String, String, String)> {
        let width = 100.0 / BARS as f64;
        let drawn = heights.iter().enumerate().filter(|(_, height)| **height > 0.0 && highest > 0.0);
        drawn
            .map(|(place, height)| {
                // Half of the height for each side; what is there at all is seen.
                let tall = (48.0 * height / highest).max(0.6);
                let top = if class == "a" { 50.0 - tall } else { 50.0 };
                (class, percent(place as f64 * width), percent(top), percent(width * 0.92), percent(tall))
            })
            .collect()
    }

    fn ticks(&self) -> Vec<(String, String)> {
        let decades: Vec<i32> = (self.from.ceil() as i32..=self.to.floor() as i32).collect();
        let step = decades.len().div_ceil(MOST_TICKS).max(1);
        let place = |decade: f64| 100.0 * (decade - self.from) / (self.to - self.from);
        decades
            .into_iter()
            .step_by(step)
            .map(|decade| (percent(place(f64::from(decade))), words::decade(decade)))
            .collect()
    }
}

fn percent(place: f64) -> String {
    format!("{place:.3}%")
}
