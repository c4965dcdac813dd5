//! What `include/histogram.h` sums on each processor.

use netfathom_stats::Histogram;

/// `log2` of the buckets an octave in the kernel's histograms.
pub const GRAIN: u32 = 5;
/// Of the kernel's histograms.
pub(crate) const BUCKETS: usize = (40 - GRAIN as usize + 1) << GRAIN;

/// Makes [`netfathom_stats::Moments`] of those of a set of programs.
macro_rules! moments {
    ($of:ty) => {
        impl From<&$of> for netfathom_stats::Moments {
            fn from(m: &$of) -> Self {
                if m.n == 0 {
                    return Self::default();
                }
                let sum_sq = u128::from(m.sum_sq_high) << 64 | u128::from(m.sum_sq_low);
                Self { n: m.n, sum: m.sum.into(), sum_sq, min: m.min, max: m.max }
            }
        }
    };
}
pub(crate) use moments;

/// Adds what one processor counted.
pub(crate) fn add_buckets<N: Copy + Into<u64>>(
    histogram: &mut Histogram,
    negative: u64,
    buckets: &[N; BUCKETS],
) {
    histogram.add_negative(negative);
    let filled = buckets.iter().map(|&count| count.into()).enumerate().filter(|&(_, count)| count > 0);
    filled.for_each(|(index, count)| histogram.add_bucket(index, count));
}
