//! Distributions of several trials as one.

use netfathom_model::record::Distribution;
use netfathom_stats as stats;

/// A damaged record may name buckets that no value has; such a histogram is not drawn.
pub fn read(d: &Distribution) -> stats::Distribution {
    let last = stats::bucket_index(u64::MAX, d.grain.min(16)) as u64;
    if d.grain > 16 || d.buckets.iter().any(|&(i, _)| u64::from(i) > last) {
        return stats::Distribution::new(0);
    }
    d.into()
}

/// All of them as one; nothing of none.
pub fn merged<'a>(mut parts: impl Iterator<Item = &'a Distribution>) -> stats::Distribution {
    let Some(first) = parts.next() else { return stats::Distribution::new(0) };
    let mut all = read(first);
    // Histograms of another grain cannot be added bucket by bucket.
    parts.filter(|d| d.grain == first.grain).for_each(|d| all.merge(&read(d)));
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bucket_that_no_value_has_is_not_allocated() {
        let mut d = Distribution::from(&stats::Distribution::new(5));
        d.buckets = vec![(u32::MAX, 1)];
        assert_eq!(read(&d).moments.n, 0);
    }
}
