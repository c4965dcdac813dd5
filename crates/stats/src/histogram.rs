//! Log-linear histograms with a layout that kernel programs can compute too.
//!
//! With grain `g`, every octave is cut into `2^g` equal buckets, so a bucket is at most
//! `2^-g` of its lower bound wide: 12.5 % for 3, 3.1 % for 5, 0.1 % for 10. Values below
//! `2^g` have a bucket each. Negative values share one count of their own.

use serde::{Deserialize, Serialize};

/// Bucket of a non-negative value, for `2^grain` buckets an octave.
///
/// `crates/bpf` computes the same in C; a test there holds the two together.
#[inline]
pub fn bucket_index(value: u64, grain: u32) -> usize {
    if value < 1 << grain {
        return value as usize;
    }
    let octave = value.ilog2() - grain;
    ((octave as usize) << grain) + (value >> octave) as usize
}

/// Lower bound (inclusive) and upper bound (exclusive) of a bucket.
///
/// The upper bound saturates at `u64::MAX` for the last bucket there can be.
pub fn bucket_bounds(index: usize, grain: u32) -> (u64, u64) {
    let per_octave = 1usize << grain;
    if index < per_octave {
        return (index as u64, index as u64 + 1);
    }
    let octave = (index >> grain) - 1;
    let mantissa = (index - (octave << grain)) as u64;
    (mantissa << octave, (u128::from(mantissa + 1) << octave).min(u128::from(u64::MAX)) as u64)
}

/// Counts per bucket, growing as far as the largest value needs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Histogram {
    grain: u32,
    counts: Vec<u64>,
    negative: u64,
}

impl Histogram {
    /// An empty histogram with `2^grain` buckets an octave.
    ///
    /// # Panics
    /// If `grain` is above 16: such a histogram would not fit a cache or a record.
    pub fn new(grain: u32) -> Self {
        assert!(grain <= 16, "grain {grain} is finer than any clock here");
        Self { grain, counts: Vec::new(), negative: 0 }
    }

    /// `log2` of the buckets an octave.
    pub fn grain(&self) -> u32 {
        self.grain
    }

    /// How many values below zero were added.
    pub fn negative(&self) -> u64 {
        self.negative
    }

    #[inline]
    pub fn add(&mut self, value: i64) {
        self.add_many(value, 1);
    }

    #[inline]
    pub fn add_many(&mut self, value: i64, count: u64) {
        match u64::try_from(value) {
            Ok(v) => self.add_bucket(bucket_index(v, self.grain), count),
            Err(_) => self.negative += count,
        }
    }

    /// Adds `count` values below zero.
    pub fn add_negative(&mut self, count: u64) {
        self.negative += count;
    }

    #[inline]
    pub fn add_bucket(&mut self, index: usize, count: u64) {
        if index >= self.counts.len() {
            self.counts.resize(index + 1, 0);
        }
        self.counts[index] += count;
    }

    /// Adds every count of another histogram; one of another grain is added at the
    /// middle of its buckets.
    pub fn merge(&mut self, other: &Self) {
        self.negative += other.negative;
        for (index, count) in other.buckets() {
            if other.grain == self.grain {
                self.add_bucket(index, count);
            } else {
                let (low, high) = bucket_bounds(index, other.grain);
                self.add_bucket(bucket_index(low + (high - low - 1) / 2, self.grain), count);
            }
        }
    }

    /// The buckets that hold anything, in rising order: index and count.
    pub fn buckets(&self) -> impl Iterator<Item = (usize, u64)> + '_ {
        self.counts.iter().copied().enumerate().filter(|&(_, c)| c > 0)
    }

    /// How many values were added, negative ones included.
    pub fn count(&self) -> u64 {
        self.negative + self.counts.iter().sum::<u64>()
    }

    /// The value below which a share `q` (0 to 1) of the values lies: the middle of the
    /// bucket that holds it, so at most half a bucket off.
    ///
    /// `None` of an empty histogram; -1 if the quantile falls among the negative
    /// values, because only [`crate::Moments`] records their size.
    pub fn quantile(&self, q: f64) -> Option<i64> {
        let count = self.count();
        if count == 0 {
            return None;
        }
        let rank = ((q.clamp(0.0, 1.0) * count as f64).ceil() as u64).max(1);
        let mut seen = self.negative;
        if rank <= seen {
            return Some(-1);
        }
        for (index, n) in self.buckets() {
            seen += n;
            if rank <= seen {
                let (low, high) = bucket_bounds(index, self.grain);
                return Some((low + (high - low - 1) / 2) as i64);
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn small_values_have_a_bucket_each() {
        for v in 0..64 {
            assert_eq!(bucket_bounds(bucket_index(v, 5), 5).0, v);
        }
    }

    #[test]
    fn the_largest_value_has_a_bucket() {
        let (low, high) = bucket_bounds(bucket_index(u64::MAX, 5), 5);
        assert!(low < u64::MAX && high == u64::MAX);
    }

    #[test]
    fn quantile_of_negatives_says_so() {
        let mut h = Histogram::new(5);
        h.add(-7);
        h.add(10);
        assert_eq!((h.negative(), h.quantile(0.5), h.quantile(1.0)), (1, Some(-1), Some(10)));
    }

    proptest! {
        #[test]
        fn a_value_lies_in_its_bucket(v in 0..u64::MAX, grain in 0u32..12) {
            let (low, high) = bucket_bounds(bucket_index(v, grain), grain);
            prop_assert!(low <= v && v < high);
            prop_assert!((high - low) as f64 <= (low as f64 / f64::from(1 << grain)).max(1.0));
        }

        #[test]
        fn buckets_touch(index in 0usize..600) {
            prop_assert_eq!(bucket_bounds(index, 4).1, bucket_bounds(index + 1, 4).0);
        }

        #[test]
        fn quantiles_are_within_half_a_bucket(mut values in prop::collection::vec(0i64..1_000_000_000, 1..300), q in 0.0f64..1.0) {
            let mut h = Histogram::new(7);
            values.iter().for_each(|&v| h.add(v));
            values.sort_unstable();
            let rank = ((q * values.len() as f64).ceil() as usize).max(1);
            let truth = values[rank - 1] as f64;
            prop_assert!((h.quantile(q).unwrap() as f64 - truth).abs() <= truth / 128.0 + 1.0);
        }
    }
}
