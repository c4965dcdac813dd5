//! Chance that a seed repeats.

use netfathom_model::random::SplitMix64;

pub(super) struct Chance {
    random: SplitMix64,
}

impl Chance {
    pub(super) fn new(seed: u64) -> Self {
        Self { random: SplitMix64::new(seed) }
    }

    /// Whether it happens: in `per_million` of a million cases. Each call advances by one step, even
    /// with a probability of 0: a packet that is lost at a low rate is then also lost at a higher one.
    #[inline]
    pub(super) fn hits(&mut self, per_million: u32) -> bool {
        // Evenly from 0 to 999,999: the upper half of the product, without a division.
        ((self.random.next_u64() >> 32) * 1_000_000) >> 32 < u64::from(per_million)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn never_and_almost_always() {
        let hits = |per_million| {
            let mut chance = Chance::new(1_234_567);
            (0..100_000).filter(|_| chance.hits(per_million)).count()
        };
        assert_eq!(hits(0), 0);
        assert!(hits(999_999) >= 99_990);
    }

    #[test]
    fn a_higher_loss_includes_a_lower_one() {
        let (mut low, mut high) = (Chance::new(3), Chance::new(3));
        assert!((0..10_000).all(|_| low.hits(10_000) <= high.hits(50_000)));
    }
}
