//! How exactly samples are carried: as exactly as the room allows, with the error stated.

use std::collections::HashMap;

use super::read::Trials;

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Resolution {
    /// Leading bits of a stack time that are kept.
    pub bits: u32,
    /// Steps into which the mean gap between two messages is cut; `None` where every nanosecond counts.
    pub steps_per_gap: Option<f64>,
}

/// From exact on, each with less to carry than the one before.
pub const RESOLUTIONS: [Resolution; 11] = [
    Resolution { bits: 64, steps_per_gap: None },
    Resolution { bits: 12, steps_per_gap: Some(64.0) },
    Resolution { bits: 10, steps_per_gap: Some(32.0) },
    Resolution { bits: 9, steps_per_gap: Some(16.0) },
    Resolution { bits: 8, steps_per_gap: Some(8.0) },
    Resolution { bits: 7, steps_per_gap: Some(4.0) },
    Resolution { bits: 6, steps_per_gap: Some(4.0) },
    Resolution { bits: 6, steps_per_gap: Some(2.0) },
    Resolution { bits: 5, steps_per_gap: Some(2.0) },
    Resolution { bits: 5, steps_per_gap: Some(1.0) },
    Resolution { bits: 4, steps_per_gap: Some(1.0) },
];

impl Resolution {
    /// A stack time as it is carried: the middle of the range that has the same leading bits.
    pub fn round(self, ns: i64) -> i64 {
        let size = ns.unsigned_abs();
        let shift = (u64::BITS - size.leading_zeros()).saturating_sub(self.bits);
        if shift == 0 {
            return ns;
        }
        let middle = (size >> shift << shift) + (1 << (shift - 1));
        i64::try_from(middle).unwrap_or(i64::MAX) * ns.signum()
    }

    /// By what part a time may be off at most, 0 to 1; `None` where it is exact.
    pub fn error(self) -> Option<f64> {
        (self.bits < 64).then(|| 0.5f64.powi(self.bits.cast_signed()))
    }

    /// The step of moments in a trial of `n` messages over `span_ns`.
    pub fn tick_ns(self, n: usize, span_ns: i64) -> i64 {
        let gap_ns = span_ns.max(0) as f64 / n.max(1) as f64;
        self.steps_per_gap.map_or(1, |steps| ((gap_ns / steps) as i64).max(1))
    }
}

/// What carrying takes at least by this resolution, in bytes: the entropy of what is carried.
///
/// `sorted` are the stack times of each direction, in order.
pub fn bytes(resolution: Resolution, trials: &Trials, sorted: &[Vec<i64>]) -> f64 {
    let times = sorted.iter().map(|values| {
        let runs = values.chunk_by(|&a, &b| resolution.round(a) == resolution.round(b));
        entropy_bits(runs.map(<[i64]>::len), values.len())
    });
    let mut gaps = Gaps::default();
    for points in trials.values() {
        let span_ns = points[points.len() - 1].at_ns.saturating_sub(points[0].at_ns);
        let tick_ns = resolution.tick_ns(points.len(), span_ns);
        for two in points.windows(2) {
            gaps.add(two[1].at_ns.div_euclid(tick_ns).abs_diff(two[0].at_ns.div_euclid(tick_ns)));
        }
    }
    (times.sum::<f64>() + gaps.bits()) / 8.0
}

/// How often each gap occurs. Most are short, and are counted faster so.
struct Gaps {
    short: Vec<usize>,
    long: HashMap<u64, usize>,
}

impl Default for Gaps {
    fn default() -> Self {
        Self { short: vec![0; 1 << 16], long: HashMap::new() }
    }
}

impl Gaps {
    fn add(&mut self, gap: u64) {
        match usize::try_from(gap).ok().and_then(|gap| self.short.get_mut(gap)) {
            Some(count) => *count += 1,
            None => *self.long.entry(gap).or_default() += 1,
        }
    }

    fn bits(&self) -> f64 {
        let counts = || self.short.iter().chain(self.long.values()).copied().filter(|&count| count > 0);
        entropy_bits(counts(), counts().sum())
    }
}

fn entropy_bits(counts: impl Iterator<Item = usize>, n: usize) -> f64 {
    counts.map(|count| count as f64 * (n as f64 / count as f64).log2()).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rounding_stays_within_what_is_stated() {
        for resolution in RESOLUTIONS {
            for ns in [0, 1, -1, 15, 16, 1_184, -4_711, 123_456_789, i64::MAX, i64::MIN + 1] {
                let off = resolution.round(ns).abs_diff(ns) as f64 / ns.unsigned_abs().max(1) as f64;
                assert!(off <= resolution.error().unwrap_or(0.0), "{ns} by {resolution:?}: {off}");
            }
        }
    }

    #[test]
    fn rounding_keeps_the_order() {
        let coarse = RESOLUTIONS[RESOLUTIONS.len() - 1];
        let rounded: Vec<i64> = (-5_000..5_000).map(|ns| coarse.round(ns)).collect();
        assert!(rounded.is_sorted());
    }
}
