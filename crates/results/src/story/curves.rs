//! Curves over the run of a trial: single trials faint, their mean strong.

use netfathom_model::record::Series as Windows;

use crate::page::{Color, Look, Series};

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
    let mean = |(&n, &sum): (&u64, &i64)| (n > 0).then(|| sum as f64 / n as f64);
    windows.n.iter().zip(&windows.sum_ns).map(mean).collect()
}

/// Each trial, where there are several, with its number, and the mean of all over `windows` windows.
pub(super) fn over_trials(
    name: &str,
    color: Color,
    trials: &[(u32, Vec<Option<f64>>)],
    windows: usize,
) -> Vec<Series> {
    let at = |values: &[Option<f64>], i| values.get(i).copied().flatten();
    let mean = |i| {
        let known: Vec<f64> = trials.iter().filter_map(|(_, values)| at(values, i)).collect();
        (!known.is_empty()).then(|| known.iter().sum::<f64>() / known.len() as f64)
    };
    let single = |(index, values): &(u32, Vec<Option<f64>>)| Series {
        label: format!("{name}, trial {}", super::trial_number(*index)),
        group: Some(format!("{name}, single trials")),
        color,
        look: Look::Faint,
        values: (0..windows).map(|i| at(values, i)).collect(),
    };
    let each = trials.iter().filter(|_| trials.len() > 1).map(single);
    let values = (0..windows).map(mean).collect();
    each.chain([Series { label: name.to_owned(), group: None, color, look: Look::Strong, values }]).collect()
}
