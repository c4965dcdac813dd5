//! Buckets of Prometheus' native histograms.

use std::collections::BTreeMap;

use netfathom_model::record::WatchTimes;
use netfathom_stats::bucket_bounds;

/// `log2` of the buckets an octave: what Prometheus has at most.
const FINEST: u32 = 8;

/// In seconds; below 1 ns, the shortest time but zero.
pub const ZERO_THRESHOLD: f64 = 1.0 / (1 << 30) as f64;

pub struct Exponential {
    /// `log2` of the buckets an octave.
    pub schema: u32,
    /// Times of zero or below.
    pub zero: u64,
    /// Those that hold anything. Bucket `i` ends at `2^(i / 2^schema)` seconds, which it includes.
    pub buckets: BTreeMap<i32, u64>,
}

impl From<&WatchTimes> for Exponential {
    /// With as many buckets an octave as the record has. One of the record goes where its middle lies.
    fn from(times: &WatchTimes) -> Self {
        let schema = times.grain.min(FINEST);
        let (mut zero, mut buckets) = (times.negative, BTreeMap::<i32, u64>::new());
        for &(index, count) in &times.buckets {
            let (low, high) = bucket_bounds(index as usize, times.grain);
            match low + (high - low - 1) / 2 {
                0 => zero += count,
                middle_ns => *buckets.entry(bucket(middle_ns, schema)).or_default() += count,
            }
        }
        Self { schema, zero, buckets }
    }
}

fn bucket(ns: u64, schema: u32) -> i32 {
    ((ns as f64 / 1e9).log2() * f64::from(1 << schema)).ceil() as i32
}

#[cfg(test)]
mod tests {
    use netfathom_stats::Histogram;

    use super::*;

    #[test]
    fn a_bucket_includes_its_upper_bound_alone() {
        for (ns, schema, expected) in [
            (1_000_000_000, 3, 0),
            (1_000_000_001, 3, 1),
            // 2^(1/8) s are 1,090,507,732.67 ns.
            (1_090_507_732, 3, 1),
            (1_090_507_733, 3, 2),
            (500_000_000, 3, -8),
            (500_000_001, 3, -7),
            (1_953_125, 5, -9 * 32),
            (1_953_126, 5, -9 * 32 + 1),
        ] {
            assert_eq!(bucket(ns, schema), expected, "{ns} ns, schema {schema}");
        }
    }

    #[test]
    fn the_shortest_time_is_beyond_the_zero_bucket() {
        for schema in 0..=FINEST {
            let lower_bound = (f64::from(bucket(1, schema) - 1) / f64::from(1 << schema)).exp2();
            assert!(ZERO_THRESHOLD <= lower_bound * (1.0 + 1e-12) && ZERO_THRESHOLD < 1e-9, "{schema}");
        }
    }

    #[test]
    fn a_bucket_of_the_record_goes_where_its_middle_lies() {
        let mut histogram = Histogram::new(5);
        // The last two are in the bucket from 992 to 1007 ns, with its middle at 999.
        [-7, 0, 1, 992, 1007].iter().for_each(|&ns| histogram.add(ns));
        let of = Exponential::from(&WatchTimes::new(&histogram, 0));
        assert_eq!((of.schema, of.zero), (5, 2));
        assert_eq!(of.buckets, BTreeMap::from([(bucket(1, 5), 1), (bucket(999, 5), 2)]));
        // They would be in different ones by themselves.
        assert!(bucket(992, 5) < bucket(1007, 5));
    }
}
