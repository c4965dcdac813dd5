//! Sets of times as a record keeps them: what readers want to see, and what merging needs.

use netfathom_stats as stats;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Moments per window of time, column by column. Merging is addition.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Series {
    /// Length of a window.
    pub window_ns: u64,
    /// Values in each window, by the message's actual departure.
    pub n: Vec<u64>,
    /// Their sums.
    pub sum_ns: Vec<i64>,
    /// The sums of their squares.
    pub sum_sq_ns2: Vec<f64>,
    /// The smallest, 0 where there is none.
    pub min_ns: Vec<i64>,
    /// The largest, 0 where there is none.
    pub max_ns: Vec<i64>,
}

impl Series {
    /// Writes windows of moments down, column by column.
    pub fn of(window_ns: u64, windows: &[stats::Moments]) -> Self {
        let filled = |value: fn(&stats::Moments) -> i64| -> Vec<i64> {
            windows.iter().map(|m| if m.n > 0 { value(m) } else { 0 }).collect()
        };
        Self {
            window_ns,
            n: windows.iter().map(|m| m.n).collect(),
            sum_ns: filled(|m| m.sum as i64),
            sum_sq_ns2: windows.iter().map(|m| m.sum_sq as f64).collect(),
            min_ns: filled(|m| m.min),
            max_ns: filled(|m| m.max),
        }
    }

    /// Whether it has no window.
    pub fn is_empty(&self) -> bool {
        self.n.is_empty()
    }

    /// Mean of a window; `None` where it is empty or not there.
    pub fn mean_ns(&self, window: usize) -> Option<f64> {
        let n = *self.n.get(window)?;
        let sum_ns = *self.sum_ns.get(window)?;
        (n > 0).then(|| sum_ns as f64 / n as f64)
    }

    /// Middle of a window in seconds from the start of the trial.
    pub fn middle_s(&self, window: usize) -> f64 {
        (window as f64 + 0.5) * self.window_ns as f64 / 1e9
    }
}

/// A set of times: exact moments, a histogram, and what readers want to see of them. Percentiles are the
/// middle of a bucket, so off by at most half of its width; -1 if they fall among the times below zero.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Distribution {
    /// How many.
    pub n: u64,
    /// How many of them were below zero.
    pub negative: u64,
    /// Sum, exact.
    pub sum_ns: i64,
    /// Sum of squares, exact, in decimal digits: it does not fit a JSON number.
    pub sum_sq_ns2: String,
    /// Mean; 0 if `n` is.
    pub mean_ns: f64,
    /// Smallest; 0 if `n` is.
    pub min_ns: i64,
    /// Largest; 0 if `n` is.
    pub max_ns: i64,
    /// Median.
    pub p50_ns: i64,
    /// 90th percentile.
    pub p90_ns: i64,
    /// 99th percentile.
    pub p99_ns: i64,
    /// 99.9th percentile.
    pub p999_ns: i64,
    /// The papers' S, which assumes independent messages.
    pub mean_error_ns: Option<f64>,
    /// `log2` of the buckets an octave: a bucket is `2^-grain` of its lower bound wide.
    pub grain: u32,
    /// The buckets that hold anything: index and count. Below `2^grain` the index is the
    /// value; above, bucket `i` starts at `(i % 2^grain + 2^grain) << (i / 2^grain - 1)`.
    pub buckets: Vec<(u32, u64)>,
}

impl From<&stats::Distribution> for Distribution {
    fn from(d: &stats::Distribution) -> Self {
        let m = &d.moments;
        let quantile = |q| d.quantile(q).unwrap_or(0);
        Self {
            n: m.n,
            negative: d.histogram.negative(),
            // Only forged times come so far.
            sum_ns: m.sum.clamp(i64::MIN.into(), i64::MAX.into()) as i64,
            sum_sq_ns2: m.sum_sq.to_string(),
            mean_ns: m.mean().unwrap_or(0.0),
            min_ns: if m.n > 0 { m.min } else { 0 },
            max_ns: if m.n > 0 { m.max } else { 0 },
            p50_ns: quantile(0.5),
            p90_ns: quantile(0.9),
            p99_ns: quantile(0.99),
            p999_ns: quantile(0.999),
            mean_error_ns: m.mean_error(),
            grain: d.histogram.grain(),
            buckets: d.histogram.buckets().map(|(i, c)| (i as u32, c)).collect(),
        }
    }
}

impl From<&Distribution> for stats::Distribution {
    fn from(d: &Distribution) -> Self {
        let moments = if d.n == 0 {
            stats::Moments::default()
        } else {
            stats::Moments {
                n: d.n,
                sum: d.sum_ns.into(),
                sum_sq: d.sum_sq_ns2.parse().unwrap_or(0),
                min: d.min_ns,
                max: d.max_ns,
            }
        };
        Self { moments, histogram: histogram(d.grain, d.negative, &d.buckets) }
    }
}

pub(super) fn histogram(grain: u32, negative: u64, buckets: &[(u32, u64)]) -> stats::Histogram {
    let mut histogram = stats::Histogram::new(grain.min(16));
    histogram.add_negative(negative);
    // A grain that no histogram has, and a bucket that no value has, can only come from a foreign record.
    let last = stats::bucket_index(u64::MAX, histogram.grain()) as u32;
    let known = buckets.iter().filter(|bucket| bucket.0 <= last && grain <= 16);
    known.for_each(|&(index, count)| histogram.add_bucket(index as usize, count));
    histogram
}

/// An estimate with its 95 % interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Estimate {
    /// The estimate itself.
    pub value: f64,
    /// Half the width of the 95 % interval.
    pub half_width: f64,
}

impl From<stats::Estimate> for Estimate {
    fn from(e: stats::Estimate) -> Self {
        Self { value: e.value, half_width: e.half_width }
    }
}

impl From<Estimate> for stats::Estimate {
    fn from(e: Estimate) -> Self {
        Self { value: e.value, half_width: e.half_width }
    }
}

impl Estimate {
    /// Whether the interval holds `x`: then the difference to it is not significant.
    pub fn holds(&self, x: f64) -> bool {
        (self.value - x).abs() <= self.half_width
    }

    /// Half the interval as a part of the value; `None` of a value that is not positive.
    pub fn relative(self) -> Option<f64> {
        (self.value > 0.0).then(|| self.half_width / self.value)
    }
}
