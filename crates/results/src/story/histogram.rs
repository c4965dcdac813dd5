//! Histograms over a logarithmic axis, as few bars as a reader can tell apart.

use netfathom_stats as stats;

use crate::page::{Axis, Chart, Page, Series};

/// Bars to an octave: each is 19 % wide.
const PER_OCTAVE: f64 = 4.0;

/// Draws sets of times over common bars, from the first that holds anything to the last; nothing of none.
pub(super) fn draw(page: &mut Page, id: &str, title: &str, sets: Vec<(Series, &stats::Distribution)>) {
    let distributions: Vec<&stats::Distribution> = sets.iter().map(|set| set.1).collect();
    let Some((first, last)) = reach(&distributions) else { return };
    let with_values = |(series, d): (Series, &stats::Distribution)| {
        let shares = shares(d, first, last).into_iter().map(Some).chain([Some(0.0)]);
        Series { values: shares.collect(), ..series }
    };
    page.chart(Chart {
        id: id.into(),
        title: title.into(),
        about: "Part of the messages in bars that are 19 % wide.".into(),
        x: Axis::LogTime,
        y: Axis::Share,
        height: 220,
        xs: (first..=last + 1).map(|bar| bar as f64 / PER_OCTAVE * 2f64.log10()).collect(),
        series: sets.into_iter().map(with_values).collect(),
        note: Some("Times at or below zero have no place on a logarithmic axis; they stand in the table."),
        ..Chart::default()
    });
}

/// The first and the last bar that hold anything.
fn reach(sets: &[&stats::Distribution]) -> Option<(usize, usize)> {
    let bars = || {
        let filled = sets.iter().flat_map(|d| d.histogram.buckets().map(|b| (b.0, d.histogram.grain())));
        filled.filter(|&(bucket, _)| bucket > 0).map(|(bucket, grain)| bar(bucket, grain))
    };
    bars().min().zip(bars().max())
}

/// The bar in which a bucket begins.
fn bar(bucket: usize, grain: u32) -> usize {
    let (low, _) = stats::bucket_bounds(bucket, grain);
    ((low.max(1) as f64).log2() * PER_OCTAVE).floor() as usize
}

/// The part of a set in each bar, 0 to 1.
fn shares(d: &stats::Distribution, first: usize, last: usize) -> Vec<f64> {
    let mut counts = vec![0u64; last - first + 1];
    for (bucket, count) in d.histogram.buckets().filter(|bucket| bucket.0 > 0) {
        if let Some(slot) = counts.get_mut(bar(bucket, d.histogram.grain()).wrapping_sub(first)) {
            *slot += count;
        }
    }
    let n = d.histogram.count().max(1) as f64;
    counts.iter().map(|&c| c as f64 / n).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_lost_between_the_bars() {
        let mut d = stats::Distribution::new(5);
        [-7, 0, 1, 2, 3, 100, 128, 5_000, 1 << 40].into_iter().for_each(|v| d.add(v));
        let (first, last) = reach(&[&d]).unwrap();
        let shares = shares(&d, first, last);
        assert!((shares.iter().sum::<f64>() - 7.0 / 9.0).abs() < 1e-12);
        let at_128 = 7 * PER_OCTAVE as usize - first;
        assert!(shares[at_128] > 0.0, "128 is not in the bar that begins there");
    }

    #[test]
    fn nothing_at_all_has_no_bars() {
        assert!(reach(&[&stats::Distribution::new(5)]).is_none());
    }
}
