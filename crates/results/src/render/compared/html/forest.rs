//! The ratios with their intervals, one under the other on one axis.

use crate::compare::{Compared, Scale};

use super::tone;
use crate::story::compare::words;

/// The widest axis: beyond a hundredth and a hundredfold, an arrow.
const WIDEST: f64 = 4.605_170_185_988_092;
/// The narrowest, so that a tenth of a percent does not look like a gulf.
const NARROWEST: f64 = 0.02;
/// Ticks of the axis, as ratios above one; those below are their reciprocals in print.
const TICKS: [f64; 12] = [1.001, 1.002, 1.005, 1.01, 1.02, 1.05, 1.1, 1.2, 1.5, 2.0, 5.0, 20.0];

/// The picture. All places are percent of its width.
pub(super) struct Forest {
    pub ticks: Vec<(String, String)>,
    pub rows: Vec<Row>,
    /// Quantities without a ratio.
    pub without: Vec<String>,
}

/// One ratio.
pub(super) struct Row {
    pub name: String,
    pub title: String,
    pub told: String,
    pub outcome: &'static str,
    pub tone: &'static str,
    pub at: String,
    /// Where the interval begins and how wide it is.
    pub bar: Option<(String, String)>,
    pub main: bool,
}

impl Forest {
    pub fn of(those: &[&Compared]) -> Self {
        let (ratios, others): (Vec<&Compared>, Vec<&Compared>) =
            those.iter().copied().partition(|q| q.change.scale == Scale::Ratio && q.change.value > 0.0);
        let ends = |q: &&Compared| q.change.interval.unwrap_or((q.change.value, q.change.value));
        let reach = |q: &&Compared| {
            let (low, high) = ends(q);
            [low, high, q.change.value]
                .map(|x| x.max(f64::MIN_POSITIVE).ln().abs())
                .into_iter()
                .fold(0.0, f64::max)
        };
        let widest = ratios.iter().map(reach).filter(|x| x.is_finite()).fold(NARROWEST, f64::max);
        let axis = Axis { half: (widest * 1.08).min(WIDEST) };
        Self {
            ticks: axis.ticks(),
            rows: ratios.iter().map(|q| row(axis, q)).collect(),
            without: others.iter().map(|q| q.name.clone()).collect(),
        }
    }
}

#[derive(Clone, Copy)]
struct Axis {
    half: f64,
}

impl Axis {
    /// Percent of the width; what lies beyond stands at the edge.
    fn place(self, ratio: f64) -> f64 {
        let log = ratio.max(f64::MIN_POSITIVE).ln();
        50.0 + 50.0 * (log / self.half).clamp(-1.0, 1.0)
    }

    fn ticks(self) -> Vec<(String, String)> {
        // The largest that fits, its half way, and the same below.
        let fits: Vec<f64> = TICKS.into_iter().filter(|tick| tick.ln() < 0.92 * self.half).collect();
        let mut chosen: Vec<f64> = fits.iter().rev().step_by(2).take(2).copied().collect();
        chosen.retain(|tick| tick.ln() > 0.2 * self.half);
        let below = chosen.iter().map(|tick| 1.0 / tick);
        let all: Vec<f64> = below.chain([1.0]).chain(chosen.iter().copied()).collect();
        let label =
            |ratio: f64| if (ratio - 1.0).abs() < 1e-12 { "no change".into() } else { words::ratio(ratio) };
        all.into_iter().map(|ratio| (percent(self.place(ratio)), label(ratio))).collect()
    }
}

fn percent(place: f64) -> String {
    format!("{place:.3}%")
}

fn row(axis: Axis, quantity: &Compared) -> Row {
    let bar = quantity.change.interval.map(|(low, high)| {
        let (from, to) = (axis.place(low), axis.place(high));
        (percent(from), percent((to - from).max(0.15)))
    });
    Row {
        name: quantity.name.clone(),
        title: quantity.title.clone(),
        told: format!("{} ({})", words::change(quantity), words::interval(quantity)),
        outcome: quantity.outcome.name(),
        tone: tone(quantity.outcome),
        at: percent(axis.place(quantity.change.value)),
        bar,
        main: quantity.main,
    }
}
