//! Distributions of several trials as one.

use netfathom_model::record::Distribution;
use netfathom_stats as stats;

/// All of them as one; nothing of none.
pub fn merged<'a>(mut parts: impl Iterator<Item = &'a Distribution>) -> stats::Distribution {
    let Some(first) = parts.next() else { return stats::Distribution::new(0) };
    let mut all = stats::Distribution::from(first);
    // Histograms of another grain cannot be added bucket by bucket.
    parts.filter(|d| d.grain == first.grain).for_each(|d| all.merge(&d.into()));
    all
}
