//! Exact first and second moments of a set of signed values.

use serde::{Deserialize, Serialize};

/// Count, sums and extremes of a set of values. Merging two sets is addition.
///
/// Sums are exact: 128-bit integers hold 10^15 values of an hour each.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Moments {
    /// How many values were added.
    pub n: u64,
    pub sum: i128,
    pub sum_sq: u128,
    /// Smallest value; meaningless while `n` is 0.
    pub min: i64,
    /// Largest value; meaningless while `n` is 0.
    pub max: i64,
}

impl Default for Moments {
    fn default() -> Self {
        Self { n: 0, sum: 0, sum_sq: 0, min: i64::MAX, max: i64::MIN }
    }
}

impl Moments {
    #[inline]
    pub fn add(&mut self, value: i64) {
        self.n += 1;
        self.sum += i128::from(value);
        self.sum_sq += u128::from(value.unsigned_abs()).pow(2);
        self.min = self.min.min(value);
        self.max = self.max.max(value);
    }

    #[inline]
    pub fn add_many(&mut self, value: i64, count: u64) {
        if count > 0 {
            self.n += count;
            self.sum += i128::from(value) * i128::from(count);
            self.sum_sq += u128::from(value.unsigned_abs()).pow(2) * u128::from(count);
            self.min = self.min.min(value);
            self.max = self.max.max(value);
        }
    }

    pub fn merge(&mut self, other: &Self) {
        self.n += other.n;
        self.sum += other.sum;
        // Only foreign numbers come so far: of times that a clock tells there are never enough.
        self.sum_sq = self.sum_sq.saturating_add(other.sum_sq);
        self.min = self.min.min(other.min);
        self.max = self.max.max(other.max);
    }

    /// Arithmetic mean; `None` of an empty set.
    pub fn mean(&self) -> Option<f64> {
        (self.n > 0).then(|| self.sum as f64 / self.n as f64)
    }

    /// Sum of the squared deviations from the mean.
    ///
    /// `sum_sq - sum^2 / n`, taken in integers so that a large mean does not eat the
    /// digits of a small deviation.
    fn squared_deviations(&self) -> f64 {
        let n = u128::from(self.n.max(1));
        let sum = self.sum.unsigned_abs();
        let (whole, rest) = (sum / n, sum % n);
        // sum^2 / n = whole * sum + rest * sum / n
        let low = rest as f64 * (sum as f64 / n as f64);
        // Foreign sums need not belong to any values: neither difference nor product may fit then.
        match whole.checked_mul(sum).and_then(|square| self.sum_sq.checked_sub(square)) {
            Some(high) => (high as f64 - low).max(0.0),
            None => (self.sum_sq as f64 - (whole as f64 * sum as f64 + low)).max(0.0),
        }
    }

    /// Sample standard deviation; `None` below two values.
    pub fn deviation(&self) -> Option<f64> {
        (self.n > 1).then(|| (self.squared_deviations() / (self.n - 1) as f64).sqrt())
    }

    /// The papers' mean error of one trial, `S = sqrt(sum (t_i - mean)^2 / (n (n - 1)))`
    /// (Borodin 2014).
    ///
    /// It assumes independent values, which messages in one queue are not: print it under
    /// the paper's name only.
    pub fn mean_error(&self) -> Option<f64> {
        self.deviation().map(|s| s / (self.n as f64).sqrt())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn of(values: &[i64]) -> Moments {
        let mut m = Moments::default();
        values.iter().for_each(|&v| m.add(v));
        m
    }

    #[test]
    fn empty_has_no_mean() {
        assert_eq!(Moments::default().mean(), None);
        assert_eq!(of(&[5]).deviation(), None);
    }

    #[test]
    fn a_small_deviation_survives_a_large_mean() {
        let base = 1_000_000_000_000;
        let m = of(&[base - 1, base, base + 1]);
        assert_eq!(m.deviation(), Some(1.0));
    }

    #[test]
    fn negatives_are_kept() {
        let m = of(&[-3, 1]);
        assert_eq!((m.min, m.max, m.mean()), (-3, 1, Some(-1.0)));
    }

    #[test]
    fn sums_that_belong_to_no_values_end_nothing() {
        let foreign = Moments { n: 1, sum: i64::MIN.into(), sum_sq: u128::MAX, min: 0, max: 0 };
        let mut all = Moments::default();
        (0..8).for_each(|_| all.merge(&foreign));
        assert_eq!((all.n, all.sum_sq), (8, u128::MAX));
        assert!(all.deviation().is_some_and(f64::is_finite));
    }

    proptest! {
        #[test]
        fn matches_the_textbook(values in prop::collection::vec(-1_000_000_000i64..1_000_000_000, 2..200)) {
            let m = of(&values);
            let n = values.len() as f64;
            let mean = values.iter().map(|&v| v as f64).sum::<f64>() / n;
            let ss = values.iter().map(|&v| (v as f64 - mean).powi(2)).sum::<f64>();
            prop_assert!((m.mean().unwrap() - mean).abs() < 1e-3);
            let s = (ss / (n * (n - 1.0))).sqrt();
            prop_assert!((m.mean_error().unwrap() - s).abs() <= 1e-6 * s.max(1.0));
        }

        #[test]
        fn merging_is_addition(a in prop::collection::vec(any::<i32>(), 0..50), b in prop::collection::vec(any::<i32>(), 0..50)) {
            let a: Vec<i64> = a.into_iter().map(i64::from).collect();
            let b: Vec<i64> = b.into_iter().map(i64::from).collect();
            let mut merged = of(&a);
            merged.merge(&of(&b));
            prop_assert_eq!(merged, of(&[a, b].concat()));
        }
    }
}
