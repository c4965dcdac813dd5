//! Histograms over a logarithmic axis, as few bars as a reader can tell apart.

use netfathom_stats as stats;
use serde::Serialize;

/// Bars to an octave: each is 19 % wide.
const PER_OCTAVE: f64 = 4.0;

/// Sets of times over common bars.
#[derive(Default, Serialize)]
pub struct Histogram {
    /// Lower ends of the bars, and after them the upper end of the last.
    edges_ns: Vec<f64>,
    sets: Vec<Set>,
}

#[derive(Serialize)]
struct Set {
    name: &'static str,
    n: u64,
    /// The part in each bar, 0 to 1.
    shares: Vec<f64>,
    /// The part at zero and below, which has no place on the axis.
    not_above_zero: f64,
}

/// Lays sets of times over common bars, from the first that holds anything to the last.
pub fn histogram(sets: &[(&'static str, &stats::Distribution)]) -> Histogram {
    let filled = || sets.iter().flat_map(|(_, d)| d.histogram.buckets()).filter(|b| b.0 > 0);
    let grain = sets.first().map_or(0, |s| s.1.histogram.grain());
    let bars = || filled().map(|(i, _)| bar(i, grain));
    let (Some(first), Some(last)) = (bars().min(), bars().max()) else { return Histogram::default() };
    let edge = |bar: usize| (bar as f64 / PER_OCTAVE).exp2();
    Histogram {
        edges_ns: (first..=last + 1).map(edge).collect(),
        sets: sets.iter().map(|&(name, d)| set(name, d, first, last)).collect(),
    }
}

/// The bar in which a bucket begins.
fn bar(bucket: usize, grain: u32) -> usize {
    let (low, _) = stats::bucket_bounds(bucket, grain);
    ((low.max(1) as f64).log2() * PER_OCTAVE).floor() as usize
}

fn set(name: &'static str, d: &stats::Distribution, first: usize, last: usize) -> Set {
    let mut counts = vec![0u64; last - first + 1];
    let mut not_above_zero = d.histogram.negative();
    for (bucket, count) in d.histogram.buckets() {
        match bucket {
            0 => not_above_zero += count,
            _ => {
                if let Some(slot) = counts.get_mut(bar(bucket, d.histogram.grain()).wrapping_sub(first)) {
                    *slot += count;
                }
            }
        }
    }
    let n = d.histogram.count().max(1) as f64;
    Set {
        name,
        n: d.histogram.count(),
        shares: counts.iter().map(|&c| c as f64 / n).collect(),
        not_above_zero: not_above_zero as f64 / n,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_lost_between_the_bars() {
        let mut d = stats::Distribution::new(5);
        [-7, 0, 1, 2, 3, 100, 128, 5_000, 1 << 40].into_iter().for_each(|v| d.add(v));
        let h = histogram(&[("d", &d)]);
        let set = &h.sets[0];
        assert_eq!(h.edges_ns.len(), set.shares.len() + 1);
        assert!((set.shares.iter().sum::<f64>() - 7.0 / 9.0).abs() < 1e-12);
        assert!((set.not_above_zero - 2.0 / 9.0).abs() < 1e-12);
        let at_128 = h.edges_ns.iter().position(|&e| (e - 128.0).abs() < 1e-6).unwrap();
        assert!(set.shares[at_128] > 0.0, "128 is not in the bar that begins there");
    }

    #[test]
    fn nothing_at_all_has_no_bars() {
        assert!(histogram(&[("d", &stats::Distribution::new(5))]).edges_ns.is_empty());
    }
}
