//! Whether a claim holds: decided by an interval between trials, never by two bare numbers.

use netfathom_model::record::{Comparison, Holds};
use netfathom_stats::{Estimate, between_trials};

/// Whether something is above a bound: `Yes` and `No` only if the whole interval is on one side.
/// Without an interval it is undecided.
pub fn above(estimate: Option<Estimate>, bound: f64) -> Holds {
    match estimate {
        Some(e) if e.value - e.half_width > bound => Holds::Yes,
        Some(e) if e.value + e.half_width < bound => Holds::No,
        _ => Holds::CannotTell,
    }
}

/// The same of what is to be below a bound.
pub fn below(estimate: Option<Estimate>, bound: f64) -> Holds {
    above(estimate.map(|e| Estimate { value: -e.value, ..e }), -bound)
}

/// Two are alike where they differ by significantly less than this factor.
pub const ALIKE: f64 = 1.25;

/// Whether something is between two bounds: `Yes` where the whole interval is, `No` where all of it is outside.
pub fn within(estimate: Option<Estimate>, least: f64, most: f64) -> Holds {
    both(above(estimate, least), below(estimate, most))
}

/// What holds where both do.
pub fn both(one: Holds, other: Holds) -> Holds {
    match (one, other) {
        (Holds::Yes, Holds::Yes) => Holds::Yes,
        (Holds::No, _) | (_, Holds::No) => Holds::No,
        _ => Holds::CannotTell,
    }
}

/// A ratio that a cost was found as. Of a single block there is no interval.
pub fn ratio(found: Option<&Comparison>) -> Option<Estimate> {
    found.filter(|c| c.blocks >= 2).map(|c| c.ratio.into())
}

/// A share in percent.
pub fn percent(share: impl Into<Estimate>) -> Estimate {
    let Estimate { value, half_width } = share.into();
    Estimate { value: 100.0 * value, half_width: 100.0 * half_width }
}

/// By how many percent a ratio is more than 1.
pub fn percent_more(ratio: impl Into<Estimate>) -> Estimate {
    let ratio = ratio.into();
    percent(Estimate { value: ratio.value - 1.0, ..ratio })
}

/// An estimate as it is written in a sentence; of a single trial the number alone.
pub fn written(estimate: Option<Estimate>, digits: usize) -> String {
    match estimate {
        Some(e) => format!("{:.digits$} ± {:.digits$}", e.value, e.half_width),
        None => "unknown".into(),
    }
}

/// A mean quotient with its 95 % interval, both by logarithms: the interval is not even on both sides, and
/// it is the interval itself that decides. `None` below two trials, or where a quotient is not positive.
#[derive(Clone, Copy, Debug)]
pub struct Ratio(Option<Estimate>);

impl Ratio {
    /// Of one quotient a trial.
    pub fn of(quotients: &[f64]) -> Self {
        let log = |value: &f64| (*value > 0.0).then(|| value.ln());
        let logs: Option<Vec<f64>> = quotients.iter().map(log).collect();
        Self(logs.and_then(|logs| between_trials(&logs)))
    }

    pub fn above(self, bound: f64) -> Holds {
        above(self.0, bound.ln())
    }

    pub fn below(self, bound: f64) -> Holds {
        below(self.0, bound.ln())
    }

    pub fn within(self, least: f64, most: f64) -> Holds {
        within(self.0, least.ln(), most.ln())
    }

    /// With the wider half of its interval, for a column of numbers.
    pub fn estimate(self) -> Option<Estimate> {
        self.0.map(Estimate::exp)
    }

    /// Such as `97.3 (91.0 to 104.1) %`.
    pub fn percent(self, digits: usize) -> String {
        if self.0.is_none() { "not measured".into() } else { format!("{} %", self.written(100.0, digits)) }
    }

    /// Such as `3.2 (2.9 to 3.5)`, times a factor.
    pub fn written(self, factor: f64, digits: usize) -> String {
        let Some(e) = self.0 else { return "unknown".into() };
        let of = |log: f64| factor * log.exp();
        let (value, low, high) = (of(e.value), of(e.value - e.half_width), of(e.value + e.half_width));
        format!("{value:.digits$} ({low:.digits$} to {high:.digits$})")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_whole_interval_decides() {
        let of = |value, half_width| above(Some(Estimate { value, half_width }), 1.0);
        assert_eq!(of(2.0, 0.5), Holds::Yes);
        assert_eq!(of(0.2, 0.5), Holds::No);
        assert_eq!(of(1.4, 0.5), Holds::CannotTell);
        assert_eq!(of(0.6, 0.5), Holds::CannotTell);
        assert_eq!(above(None, 1.0), Holds::CannotTell);
        let of = |value, half_width| below(Some(Estimate { value, half_width }), 1.0);
        assert_eq!((of(0.2, 0.5), of(2.0, 0.5), of(0.6, 0.5)), (Holds::Yes, Holds::No, Holds::CannotTell));
        let of = |value, half_width| within(Some(Estimate { value, half_width }), 0.8, 1.2);
        assert_eq!((of(1.0, 0.1), of(2.0, 0.5), of(0.1, 0.5)), (Holds::Yes, Holds::No, Holds::No));
        assert_eq!((of(1.0, 0.5), of(1.1, 0.2)), (Holds::CannotTell, Holds::CannotTell));
    }
}
