//! Intervals at the level of trials: Student's t over the trial means.

use crate::Contrast;

/// An estimate with its 95 % interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    pub value: f64,
    /// Half the width of the 95 % interval.
    pub half_width: f64,
}

impl Estimate {
    pub fn holds(&self, x: f64) -> bool {
        (self.value - x).abs() <= self.half_width
    }

    /// The quotient of two that do not depend on each other, with the first-order interval: the
    /// squares of their relative widths add up. For means of trials that differ much,
    /// [`ratio`] is the better one; this one needs no trials.
    pub fn over(self, other: Self) -> Self {
        let value = self.value / other.value;
        let (own, others) = (self.half_width / self.value, other.half_width / other.value);
        // Not hypot: that of glibc 2.35 would be the only thing which asks for more than 2.34.
        let relative = (own * own + others * others).sqrt();
        Self { value, half_width: (value * relative).abs() }
    }

    /// What this is the logarithm of, with the wider half of the interval.
    pub fn exp(self) -> Self {
        let value = self.value.exp();
        Self { value, half_width: value * (self.half_width.exp() - 1.0) }
    }
}

impl From<Contrast> for Estimate {
    fn from(contrast: Contrast) -> Self {
        Self { value: contrast.value, half_width: contrast.half_width(0.95) }
    }
}

/// How an interval is found from the values of trials; `None` of too few.
pub type Interval = fn(&[f64]) -> Option<Estimate>;

/// Mean over k trials with `t(0.975, k-1) * s / sqrt(k)`, the between-trial error of
/// Borodin 2014. `None` below two trials.
pub fn between_trials(means: &[f64]) -> Option<Estimate> {
    Contrast::paired(means).map(Into::into)
}

/// Student's level of [`between_sequential_trials`], so that its intervals hold the mean in 95 % of all cases:
/// `crates/measure/src/kind/stack/precision/tests.rs` simulates them.
const SEQUENTIAL_LEVEL: f64 = 0.975;

/// The same of trials that were run until their interval was narrow. It is narrow first where trials happen to be alike,
/// so Student's interval of 95 % is too short then. Trials close in time are alike: from twice [`BATCHES`] trials on, the
/// interval is also that of the means of [`batches`], where it is the wider one.
pub fn between_sequential_trials(means: &[f64]) -> Option<Estimate> {
    let of = |values: &[f64]| {
        let contrast = Contrast::paired(values)?;
        Some(Estimate { value: contrast.value, half_width: contrast.half_width(SEQUENTIAL_LEVEL) })
    };
    let estimate = of(means)?;
    let batched = of(&batches(means)).map_or(0.0, |e| e.half_width);
    Some(Estimate { half_width: estimate.half_width.max(batched), ..estimate })
}

/// How many [`batches`] there are.
const BATCHES: usize = 8;

/// The means of consecutive values in as many groups of about one length (the method of batch means); none of too few.
pub fn batches(values: &[f64]) -> Vec<f64> {
    if values.len() < 2 * BATCHES {
        return Vec::new();
    }
    let bound = |batch: usize| batch * values.len() / BATCHES;
    (0..BATCHES).map(|batch| mean(&values[bound(batch)..bound(batch + 1)])).collect()
}

/// The arithmetic mean; not a number where there are no values.
pub fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// Difference `mean(a) - mean(b)` of two independent groups of trials, Welch's interval.
/// `None` below two trials in either.
pub fn difference(a: &[f64], b: &[f64]) -> Option<Estimate> {
    Contrast::apart(b, a).map(Into::into)
}

/// Ratio `mean(a) / mean(b)`: the difference of the logarithms, put back, with the wider
/// half of the interval. `None` below two trials in either, or where a value is not positive.
pub fn ratio(a: &[f64], b: &[f64]) -> Option<Estimate> {
    let logs = |v: &[f64]| v.iter().map(|&x| (x > 0.0).then(|| x.ln())).collect::<Option<Vec<_>>>();
    difference(&logs(a)?, &logs(b)?).map(Estimate::exp)
}

/// Ratio of pairs that were taken together: the mean of the logarithms of their ratios, put
/// back, with the wider half of the interval. What drifts for both does not widen it. `None` below
/// two pairs, or where a value is not positive.
pub fn paired_ratio(pairs: &[(f64, f64)]) -> Option<Estimate> {
    paired_ratio_by(pairs, between_trials)
}

/// The same with another interval of the logarithms.
pub fn paired_ratio_by(pairs: &[(f64, f64)], interval: Interval) -> Option<Estimate> {
    let log = |&(a, b): &(f64, f64)| (a > 0.0 && b > 0.0).then(|| (a / b).ln());
    interval(&pairs.iter().map(log).collect::<Option<Vec<_>>>()?).map(Estimate::exp)
}

/// What differences of pairs say, taken together.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Decision {
    /// Mean of the differences, as a multiple of their standard error.
    pub t: f64,
    /// The least multiple that is beyond chance once in a hundred times where there is no difference.
    pub beyond: f64,
    /// The least difference that would have been beyond chance four times in five.
    pub smallest: f64,
}

impl Decision {
    /// Whether the mean of the differences is above 0 beyond chance.
    pub fn is_above(&self) -> bool {
        self.t > self.beyond
    }

    /// Whether it is below 0 beyond chance.
    pub fn is_below(&self) -> bool {
        self.t < -self.beyond
    }
}

/// The level at which [`decide`] decides.
pub const DECIDED: f64 = 0.99;

/// Decides whether differences of pairs are beyond chance: Student's t at the level [`DECIDED`], two-sided, and
/// the least difference that this would find with the power 0.8. `None` below two pairs.
pub fn decide(differences: &[f64]) -> Option<Decision> {
    let contrast = Contrast::paired(differences)?;
    let Contrast { value, error, .. } = contrast;
    let t = match error {
        _ if value == 0.0 => 0.0,
        0.0 => f64::INFINITY.copysign(value),
        _ => value / error,
    };
    let beyond = contrast.t(f64::midpoint(1.0, DECIDED));
    Some(Decision { t, beyond, smallest: contrast.smallest(DECIDED, 0.8) })
}

/// The interval of a [`paired_ratio`] of `pairs` pairs at the level [`DECIDED`]: [`decide`] finds their logarithms
/// above or below 0 exactly if 1 lies outside of it. `None` below two pairs.
pub fn decided_interval(ratio: Estimate, pairs: u32) -> Option<(f64, f64)> {
    decided_interval_of(ratio, pairs, 1)
}

/// How far the upper end of [`decided_interval`] lies above the ratio, as a part of it.
pub fn decided_width(ratio: Estimate, pairs: u32) -> Option<f64> {
    decided_interval(ratio, pairs).map(|(_, high)| high / ratio.value - 1.0)
}

/// The same of one of several ratios, such that 1 lies outside of any of their intervals by chance no more often than outside
/// of a single one (Bonferroni).
pub fn decided_interval_of(ratio: Estimate, pairs: u32, together: usize) -> Option<(f64, f64)> {
    let degrees = f64::from(pairs.checked_sub(1).filter(|&degrees| degrees > 0)?);
    let t = |level: f64| Contrast { value: 0.0, error: 1.0, degrees }.half_width(level);
    let level = 1.0 - (1.0 - DECIDED) / together.max(1) as f64;
    let factor = (1.0 + ratio.half_width / ratio.value).powf(t(level) / t(0.95));
    Some((ratio.value / factor, ratio.value * factor))
}

/// A median with the order statistics that enclose it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Median {
    pub value: f64,
    pub low: f64,
    pub high: f64,
}

/// Median with its interval of at least 95 % by the sign test, which a few wild values do not
/// move. `None` below six values, where no such interval exists.
pub fn median(values: &[f64]) -> Option<Median> {
    let n = values.len();
    if n < 6 {
        return None;
    }
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let low = outside(n);
    let value = (sorted[(n - 1) / 2] + sorted[n / 2]) / 2.0;
    Some(Median { value, low: sorted[low], high: sorted[n - 1 - low] })
}

/// How many of n sorted values to leave out on either side: as many as keep the probability
/// of the median lying beyond them, Binomial(n, 1/2), within 2.5 %.
fn outside(n: usize) -> usize {
    let mut term = 0.5f64.powi(n as i32);
    let mut beyond = term;
    let mut k = 0;
    while beyond <= 0.025 {
        term *= (n - k) as f64 / (k + 1) as f64;
        k += 1;
        beyond += term;
    }
    k.saturating_sub(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_drifts_for_both_of_a_pair_does_not_widen_their_ratio() {
        let pairs = [(20.0, 10.0), (4.2, 2.0), (190.0, 100.0)];
        let paired = paired_ratio(&pairs).unwrap();
        assert!((paired.value - (2.0f64 * 2.1 * 1.9).cbrt()).abs() < 1e-12);
        let (a, b): (Vec<f64>, Vec<f64>) = pairs.iter().copied().unzip();
        assert!(paired.half_width < 0.1 * ratio(&a, &b).unwrap().half_width, "{paired:?}");
        assert_eq!(paired_ratio(&pairs[..1]), None);
        assert_eq!(paired_ratio(&[(1.0, 1.0), (0.0, 1.0)]), None);
    }

    #[test]
    fn a_difference_is_decided_against_chance() {
        let wide = decide(&[-1.0, 0.9, -1.1, 1.0, 0.3]).unwrap();
        assert!(!wide.is_above() && !wide.is_below() && wide.smallest > 1.0, "{wide:?}");
        let clear = decide(&[1.0, 0.9, 1.1, 1.0, 1.05]).unwrap();
        assert!(clear.is_above() && !clear.is_below() && clear.smallest < 0.3, "{clear:?}");
        // t(0.995, 4) and t(0.8, 4) of the tables.
        assert!((clear.beyond - 4.604).abs() < 1e-3);
        let turned = decide(&[-1.0, -0.9, -1.1, -1.0, -1.05]).unwrap();
        assert!(turned.is_below() && (turned.t + clear.t).abs() < 1e-9);
        let same = decide(&[0.0, 0.0]).unwrap();
        assert!(!same.is_above() && !same.is_below());
        assert!(decide(&[0.5, 0.5]).unwrap().is_above());
        assert_eq!(decide(&[1.0]), None);
    }

    #[test]
    fn the_interval_of_a_decision_agrees_with_it() {
        // From far below the edge of significance to far above it, in small steps.
        for step in 0..400 {
            let by = f64::from(step) * 5e-4;
            let pairs = [0.04, -0.05, 0.01, 0.03, -0.02].map(|noise: f64| ((by + noise).exp(), 1.0));
            let decision = decide(&pairs.map(|(a, _)| a.ln())).unwrap();
            let (low, high) = decided_interval(paired_ratio(&pairs).unwrap(), 5).unwrap();
            assert_eq!(
                (decision.is_above(), decision.is_below()),
                (low > 1.0, high < 1.0),
                "{by} {low} {high}"
            );
        }
        let sure = Estimate { value: 1.5, half_width: 0.0 };
        assert_eq!(decided_interval(sure, 3), Some((1.5, 1.5)));
        assert_eq!([3, 1].map(|pairs| decided_width(sure, pairs)), [Some(0.0), None]);
        assert_eq!(decided_interval(sure, 1), None);
    }

    #[test]
    fn a_median_is_not_moved_by_wild_values() {
        let mut values: Vec<f64> = (0..41).map(f64::from).collect();
        values[40] = 1e12;
        let m = median(&values).unwrap();
        assert_eq!((m.value, m.low, m.high), (20.0, 13.0, 27.0));
        assert_eq!(median(&values[..5]), None);
    }

    #[test]
    fn ten_trials_use_the_papers_factor() {
        let of_nine = Contrast { value: 0.0, error: 1.0, degrees: 9.0 };
        assert!((Estimate::from(of_nine).half_width - 2.262).abs() < 5e-4);
    }

    #[test]
    fn a_quotient_is_as_wide_as_both_together() {
        let of = |value, half_width| Estimate { value, half_width };
        let quotient = of(10.0, 0.3).over(of(5.0, 0.2));
        assert!((quotient.value - 2.0).abs() < 1e-12 && (quotient.half_width - 0.1).abs() < 1e-12);
        // The sign of a value says nothing of the width.
        assert!((of(-10.0, 0.3).over(of(5.0, 0.2)).half_width - 0.1).abs() < 1e-12);
    }

    #[test]
    fn trials_that_are_like_those_before_them_have_a_wider_interval() {
        let plateaus: Vec<f64> = (0..16).map(|i| if i < 8 { 1.0 } else { 2.0 }).collect();
        let alternating: Vec<f64> = (0..16).map(|i| if i % 2 == 0 { 1.0 } else { 2.0 }).collect();
        let half = |values: &[f64]| between_sequential_trials(values).unwrap().half_width;
        assert!(half(&plateaus) > 1.3 * half(&alternating), "{} {}", half(&plateaus), half(&alternating));
        assert!(half(&plateaus[..15]) < 1.1 * half(&alternating[..15]));
    }

    #[test]
    fn one_trial_has_no_interval() {
        assert_eq!(between_trials(&[1.0]), None);
        assert_eq!(difference(&[1.0], &[1.0, 2.0]), None);
    }

    #[test]
    fn equal_groups_do_not_differ() {
        let d = difference(&[1.0, 2.0, 3.0], &[2.0, 1.0, 3.0]).unwrap();
        assert!(d.holds(0.0) && d.value == 0.0);
    }

    #[test]
    fn a_clear_ratio_is_found() {
        let r = ratio(&[2.0, 2.02, 1.98], &[1.0, 1.01, 0.99]).unwrap();
        assert!((r.value - 2.0).abs() < 0.01 && !r.holds(1.0));
    }
}
