//! Curves that more than one story has: over the run of a trial, and percentiles.

use netfathom_model::record::{Distribution, Series as Windows};
use netfathom_stats as stats;

use crate::page::{Axis, Chart, Color, Look, Series};

/// The middle of each window, in seconds.
pub(super) fn middles(window_ns: u64, windows: usize) -> Vec<f64> {
    (0..windows).map(|i| (i as f64 + 0.5) * window_ns as f64 / 1e9).collect()
}

/// Counts of windows as a rate.
pub(super) fn per_second(counts: &[u64], window_ns: u64) -> Vec<Option<f64>> {
    counts.iter().map(|&n| Some(n as f64 / (window_ns.max(1) as f64 / 1e9))).collect()
}

/// The mean of each window; `None` where nothing fell into it.
pub(super) fn means(windows: &Windows) -> Vec<Option<f64>> {
    (0..windows.n.len()).map(|window| windows.mean_ns(window)).collect()
}

/// Each trial, where there are several, with its number, and the mean of all over `windows` windows.
pub(super) fn over_trials(
    name: &str,
    color: Color,
    trials: &[(u32, Vec<Option<f64>>)],
    windows: usize,
) -> Vec<Series> {
    let mean = |i: usize| {
        let known: Vec<f64> = trials.iter().filter_map(|(_, values)| *values.get(i)?).collect();
        (!known.is_empty()).then(|| netfathom_stats::mean(&known))
    };
    beside_trials(name, color, trials, (0..windows).map(mean).collect())
}

/// Each trial, where there are several, with its number, and what stands for all of them.
pub(super) fn beside_trials(
    name: &str,
    color: Color,
    trials: &[(u32, Vec<Option<f64>>)],
    all: Vec<Option<f64>>,
) -> Vec<Series> {
    let single = |(index, values): &(u32, Vec<Option<f64>>)| Series {
        values: (0..all.len()).map(|i| values.get(i).copied().flatten()).collect(),
        ..single_trial(name, color, *index)
    };
    let mut series: Vec<Series> = trials.iter().filter(|_| trials.len() > 1).map(single).collect();
    series.push(Series { values: all, ..Series::new(name, color, Look::Strong) });
    series
}

/// A curve of one trial among others, without its values.
pub(super) fn single_trial(name: &str, color: Color, index: u32) -> Series {
    Series {
        group: Some(format!("{name}, single trials")),
        ..Series::new(format!("{name}, trial {}", super::trial_number(index)), color, Look::Faint)
    }
}

/// Windows of several trials as one: sums and counts are added, and the longest kept. Windows of another length than
/// the first ones cannot be laid upon them.
pub(super) fn pooled<'a>(all: impl IntoIterator<Item = &'a Windows>) -> Windows {
    let mut sum = Windows::default();
    for windows in all {
        if sum.window_ns == 0 {
            sum.window_ns = windows.window_ns;
        }
        let length = sum.n.len().max(windows.n.len());
        if sum.window_ns == windows.window_ns {
            sum.n.resize(length, 0);
            sum.sum_ns.resize(length, 0);
            sum.max_ns.resize(length, i64::MIN);
            let each = windows.n.iter().zip(&windows.sum_ns).zip(&windows.max_ns).enumerate();
            for (i, ((&n, &sum_ns), &max_ns)) in each.filter(|(_, ((n, _), _))| **n > 0) {
                sum.n[i] = sum.n[i].saturating_add(n);
                sum.sum_ns[i] = sum.sum_ns[i].saturating_add(sum_ns);
                sum.max_ns[i] = sum.max_ns[i].max(max_ns);
            }
        }
    }
    sum
}

/// All distributions as one; nothing of none.
pub(super) fn merged<'a>(mut parts: impl Iterator<Item = &'a Distribution>) -> stats::Distribution {
    let Some(first) = parts.next() else { return stats::Distribution::new(0) };
    let mut all = stats::Distribution::from(first);
    // Histograms of another grain cannot be added bucket by bucket.
    parts.filter(|d| d.grain == first.grain).for_each(|d| all.merge(&d.into()));
    all
}

/// The longest of each window; `None` where nothing fell into it.
pub(super) fn longest(windows: &Windows) -> Vec<Option<f64>> {
    windows.n.iter().zip(&windows.max_ns).map(|(&n, &max)| (n > 0).then_some(max as f64)).collect()
}

/// Distributions of times by percentile, laid out by their nines. Times at or below zero have no place on its axis;
/// `None` where no curve has a point.
pub(super) fn by_percentile<D: Into<stats::Distribution>>(
    id: &str,
    title: &str,
    curves: Vec<(Series, D)>,
) -> Option<Chart> {
    let quantiles = quantiles();
    let with_values = |(mut series, d): (Series, D)| {
        let above_zero = |v: Option<i64>| v.filter(|&ns| ns > 0).map(|ns| ns as f64);
        series.values = values(&d.into(), &quantiles).into_iter().map(above_zero).collect();
        series
    };
    let mut series: Vec<Series> = curves.into_iter().map(with_values).collect();
    series.retain(|s| s.values.iter().any(Option::is_some));
    let reach = series.iter().filter_map(|s| s.values.iter().rposition(Option::is_some)).max()? + 1;
    series.iter_mut().for_each(|s| s.values.truncate(reach));
    Some(Chart {
        id: id.into(),
        title: title.into(),
        about: "Time by percentile, from 0 to the nines.".into(),
        x: Axis::Percentile,
        y: Axis::LogTime,
        height: 280,
        xs: quantiles[..reach].iter().map(|q| -(1.0 - q).log10()).collect(),
        series,
        note: Some(BY_PERCENTILE),
        ..Chart::default()
    })
}

const BY_PERCENTILE: &str = "A percentile with fewer than ten messages beyond it is not drawn. Times at or below \
     zero have no place on a logarithmic axis; they stand in the table.";

/// 0, 10, ... 80, 85 %, and the same again within the last tenth, hundredth and thousandth.
pub(crate) fn quantiles() -> Vec<f64> {
    let above = [10_000u32, 1_000, 100, 10];
    let within = |unit: u32| [10, 9, 8, 7, 6, 5, 4, 3, 2].map(|m| m * unit).into_iter().chain([unit * 3 / 2]);
    above.into_iter().flat_map(within).chain([10]).map(|rest| f64::from(100_000 - rest) / 1e5).collect()
}

/// A quantile with fewer than ten values beyond it says nothing and is left out.
pub(crate) fn values(d: &stats::Distribution, quantiles: &[f64]) -> Vec<Option<i64>> {
    let beyond = |q: f64| d.moments.n as f64 * (1.0 - q);
    quantiles.iter().map(|&q| if beyond(q) < 10.0 { None } else { d.quantile(q) }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_rise_and_hold_the_usual_ones() {
        let all = quantiles();
        assert!(all.is_sorted_by(|a, b| a < b), "{all:?}");
        for q in [0.0, 0.5, 0.9, 0.99, 0.999, 0.9999] {
            assert!(all.contains(&q), "{q}");
        }
    }
}
