//! A difference of means: its interval, its p-value, and the minimum detectable
//! effect.

use statrs::distribution::{ContinuousCDF, StudentsT};

/// With more, quantiles differ from these by less than a part in 10,000, and statrs searches for them without end.
const MOST_DEGREES: f64 = 1e5;

/// A difference of two means, or the mean of differences, on the scale that the values are given in.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Contrast {
    pub value: f64,
    pub error: f64,
    pub degrees: f64,
}

impl Contrast {
    /// `mean(b) - mean(a)` of groups that do not depend on each other (Welch). `None` below two values in either.
    pub fn apart(a: &[f64], b: &[f64]) -> Option<Self> {
        let ((mean_a, a), (mean_b, b)) = (GroupError::of(a)?, GroupError::of(b)?);
        let square = a.error_squared + b.error_squared;
        let least = a.degrees.min(b.degrees);
        // Welch-Satterthwaite; of values that do not differ at all there is nothing to weigh.
        let weight = |part: GroupError| (part.error_squared / square).powi(2) / part.degrees;
        let degrees = if square > 0.0 { 1.0 / (weight(a) + weight(b)) } else { least };
        Some(Self { value: mean_b - mean_a, error: square.sqrt(), degrees })
    }

    /// The mean of differences of pairs. `None` below two.
    pub fn paired(differences: &[f64]) -> Option<Self> {
        let (value, part) = GroupError::of(differences)?;
        Some(Self { value, error: part.error_squared.sqrt(), degrees: part.degrees })
    }

    /// The two-sided interval of that level, such as 0.95: Student's t.
    pub fn interval(&self, level: f64) -> (f64, f64) {
        let half = self.half_width(level);
        (self.value - half, self.value + half)
    }

    pub fn half_width(&self, level: f64) -> f64 {
        self.t(f64::midpoint(1.0, level)) * self.error
    }

    /// How likely so great a difference is by chance where there is none, two-sided. `None` where the values do not
    /// differ among themselves, so that there is nothing to tell chance by.
    pub fn chance(&self) -> Option<f64> {
        if self.error <= 0.0 {
            return None;
        }
        let t = (self.value / self.error).abs();
        let below = self.student()?.cdf(-t);
        Some((2.0 * below).min(1.0))
    }

    /// The minimum detectable effect: the smallest difference that a test at `level`, such as 0.99, finds with
    /// probability `power`, such as 0.8.
    pub fn smallest(&self, level: f64, power: f64) -> f64 {
        (self.t(f64::midpoint(1.0, level)) + self.t(power)) * self.error
    }

    /// How many pairs, of `pairs` that this is of, would show with probability `power` that the mean differs from what
    /// is `distance` away, at `level`, if mean and spread stay as they are. `None` beyond `most`. The known estimate
    /// of a sample's size, with the degrees of freedom that the size itself gives.
    pub fn pairs_needed(
        &self,
        pairs: usize,
        distance: f64,
        level: f64,
        power: f64,
        most: usize,
    ) -> Option<usize> {
        let suffices = |n: usize| {
            let error = self.error * (pairs as f64 / n as f64).sqrt();
            Self { error, degrees: n as f64 - 1.0, ..*self }.smallest(level, power) <= distance.abs()
        };
        // It grows with n, so the first that suffices is found by halves.
        let (mut too_few, mut enough) = (1, most);
        if !suffices(most) {
            return None;
        }
        while enough - too_few > 1 {
            let n = usize::midpoint(too_few, enough);
            if suffices(n) { enough = n } else { too_few = n }
        }
        Some(enough)
    }

    fn student(&self) -> Option<StudentsT> {
        StudentsT::new(0.0, 1.0, self.degrees.min(MOST_DEGREES)).ok()
    }

    pub(crate) fn t(&self, quantile: f64) -> f64 {
        self.student().map_or(f64::NAN, |t| t.inverse_cdf(quantile))
    }
}

#[derive(Clone, Copy)]
struct GroupError {
    error_squared: f64,
    degrees: f64,
}

impl GroupError {
    fn of(values: &[f64]) -> Option<(f64, Self)> {
        let k = values.len() as f64;
        if values.len() < 2 {
            return None;
        }
        let mean = values.iter().sum::<f64>() / k;
        let variance = values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / (k - 1.0);
        // Where all are the same, what is left is of the summing.
        let same = values.iter().all(|v| v.total_cmp(&values[0]).is_eq());
        let error_squared = if same { 0.0 } else { variance / k };
        Some((if same { values[0] } else { mean }, Self { error_squared, degrees: k - 1.0 }))
    }
}

/// The correction of Benjamini & Hochberg (1995): of several likelihoods by chance, each as if it were alone, those that
/// keep the false ones among all that are found to a part. Where nothing is there to be found, that is as rare as of
/// one alone. The order is kept.
pub fn corrected(chances: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..chances.len()).collect();
    order.sort_by(|&i, &j| chances[j].total_cmp(&chances[i]));
    let all = chances.len();
    let mut corrected = vec![0.0; all];
    let mut least = 1.0_f64;
    // From the likeliest on: none is likelier than one that is likelier alone.
    for (place, &i) in order.iter().enumerate() {
        least = least.min(chances[i] * all as f64 / (all - place) as f64);
        corrected[i] = least;
    }
    corrected
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_are_compared_by_welchs_test() {
        let contrast = Contrast::apart(&[1.0, 1.2, 0.9, 1.1, 1.05], &[1.4, 1.6, 1.3, 1.7]).unwrap();
        // By hand: errors 0.05 and 0.0913, and 4.749 degrees of freedom.
        assert!((contrast.value - 0.45).abs() < 1e-12 && (contrast.error - 0.104_083_3).abs() < 1e-7);
        assert!((contrast.degrees - 4.749_414_5).abs() < 1e-7);
        // The density of t, integrated.
        assert!((contrast.chance().unwrap() - 0.008_476_98).abs() < 1e-7);
        assert_eq!(Contrast::apart(&[1.0], &[1.0, 2.0]), None);
    }

    #[test]
    fn chance_is_that_of_the_tables() {
        // t(0.975, 9) = 2.262: five in a hundred.
        let contrast = Contrast { value: 2.262, error: 1.0, degrees: 9.0 };
        assert!((contrast.chance().unwrap() - 0.05).abs() < 1e-4);
        let (low, high) = contrast.interval(0.95);
        assert!(low.abs() < 1e-3 && (high - 4.524).abs() < 1e-3);
    }

    #[test]
    fn pairs_that_are_needed_are_those_of_the_tables() {
        // Cohen 1988, table 2.4.1, for one sample: an effect of half a standard deviation, two-sided 5 %, power 80 %:
        // 33 or 34 by the exact distribution; by the sum of two quantiles of t, 34.
        let contrast = Contrast { value: 0.0, error: 1.0 / 8.0_f64.sqrt(), degrees: 7.0 };
        let needed = |distance, most| contrast.pairs_needed(8, distance, 0.95, 0.8, most);
        assert_eq!(needed(0.5, 1000), Some(34));
        assert_eq!((needed(-0.5, 1000), needed(0.5, 33)), (Some(34), None));
        assert_eq!(needed(0.0, 1000), None);
    }

    #[test]
    fn values_that_do_not_differ_tell_nothing_of_chance() {
        let same = Contrast::apart(&[0.1; 3], &[0.3; 3]).unwrap();
        assert_eq!((same.error, same.chance()), (0.0, None));
        assert_eq!(same.interval(0.95), (same.value, same.value));
    }

    #[test]
    fn many_are_corrected_as_in_the_paper() {
        // Benjamini & Hochberg 1995: times the number of all, over the place among them.
        let those = corrected(&[0.01, 0.04, 0.03, 0.005]);
        let expected = [0.02, 0.04, 0.04, 0.02];
        assert!(those.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-12), "{those:?}");
        assert_eq!(corrected(&[0.9, 0.8]), [0.9, 0.9]);
        // One alone stays what it is.
        assert_eq!(corrected(&[0.03]), [0.03]);
        assert!(corrected(&[]).is_empty());
    }
}
