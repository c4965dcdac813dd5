//! Values of trials, compared within their round or block; the spread is that between rounds.

use std::collections::BTreeMap;

use netfathom_model::record::Cell;
use netfathom_stats::{Estimate, between_trials};

use crate::beside::{estimate, mean, plain};
use crate::claim::Ratio;

/// One value a round of trials.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Rounds(pub BTreeMap<u32, f64>);

impl FromIterator<(u32, f64)> for Rounds {
    fn from_iter<T: IntoIterator<Item = (u32, f64)>>(values: T) -> Self {
        Self(values.into_iter().collect())
    }
}

impl Rounds {
    /// The quotients of the rounds that both have.
    pub fn over(&self, other: &Self) -> Self {
        self.with(other, |a, b| (b != 0.0).then(|| a / b))
    }

    /// Their differences.
    pub fn less(&self, other: &Self) -> Self {
        self.with(other, |a, b| Some(a - b))
    }

    fn with(&self, other: &Self, make: impl Fn(f64, f64) -> Option<f64>) -> Self {
        self.0.iter().filter_map(|(round, &a)| Some((*round, make(a, *other.0.get(round)?)?))).collect()
    }

    /// Multiplies all values.
    pub fn times(&self, factor: f64) -> Self {
        self.0.iter().map(|(round, value)| (*round, factor * value)).collect()
    }

    /// The mean of several, in the rounds that all of them have.
    pub fn mean(all: &[Self]) -> Self {
        Self::folded(all, |values| Some(netfathom_stats::mean(values)))
    }

    /// Their geometric mean, for quotients; nothing where one is not positive.
    pub fn geometric(all: &[Self]) -> Self {
        let logs = |values: &[f64]| values.iter().map(|&v| (v > 0.0).then(|| v.ln())).sum::<Option<f64>>();
        Self::folded(all, |values| logs(values).map(|sum| (sum / values.len() as f64).exp()))
    }

    fn folded(all: &[Self], fold: impl Fn(&[f64]) -> Option<f64>) -> Self {
        let Some((first, _)) = all.split_first() else { return Self::default() };
        let of = |round: &u32| all.iter().map(|r| r.0.get(round).copied()).collect::<Option<Vec<f64>>>();
        first.0.keys().filter_map(|round| Some((*round, fold(&of(round)?)?))).collect()
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Mean of the rounds with its interval; `None` below two.
    pub fn estimate(&self) -> Option<Estimate> {
        between_trials(&self.values())
    }

    /// The same of quotients, by their logarithms.
    pub fn ratio(&self) -> Ratio {
        Ratio::of(&self.values())
    }

    /// For a table: the estimate, or the one value that there is without an interval.
    pub fn cell(&self) -> Option<Cell> {
        mean(&self.values())
    }

    /// The same of quotients, in percent.
    pub fn percent_cell(&self) -> Option<Cell> {
        let percent = self.times(100.0);
        percent.ratio().estimate().map(estimate).or_else(|| percent.0.values().next().copied().map(plain))
    }

    pub fn values(&self) -> Vec<f64> {
        self.0.values().copied().collect()
    }
}

#[cfg(test)]
mod tests {
    use netfathom_model::record::Holds;

    use super::*;

    fn rounds(values: &[(u32, f64)]) -> Rounds {
        values.iter().copied().collect()
    }

    #[test]
    fn only_trials_of_one_round_are_compared() {
        let (a, b) = (rounds(&[(0, 6.0), (1, 8.0), (2, 1.0)]), rounds(&[(0, 3.0), (1, 2.0), (3, 1.0)]));
        assert_eq!(a.over(&b), rounds(&[(0, 2.0), (1, 4.0)]));
        assert_eq!(a.less(&b), rounds(&[(0, 3.0), (1, 6.0)]));
        assert_eq!(a.over(&rounds(&[(0, 0.0)])), Rounds::default());
    }

    #[test]
    fn several_are_put_together_where_all_have_the_round() {
        let all = [rounds(&[(0, 2.0), (1, 4.0)]), rounds(&[(0, 8.0)])];
        assert_eq!(Rounds::mean(&all), rounds(&[(0, 5.0)]));
        assert_eq!(Rounds::geometric(&all), rounds(&[(0, 4.0)]));
        assert_eq!(Rounds::geometric(&[rounds(&[(0, -1.0), (1, 3.0)])]), rounds(&[(1, 3.0_f64.ln().exp())]));
        assert_eq!(Rounds::mean(&[]), Rounds::default());
    }

    #[test]
    fn a_quotient_is_decided_by_its_own_interval() {
        // The logarithms are 5, 6 and 7: their interval is 6 ± 2.48.
        let ratio = rounds(&[(0, 5.0_f64.exp()), (1, 6.0_f64.exp()), (2, 7.0_f64.exp())]).ratio();
        assert_eq!(ratio.written(1.0, 0), "403 (34 to 4837)");
        assert_eq!(ratio.written(100.0, 0), "40343 (3364 to 483742)");
        assert_eq!(
            [ratio.above(33.0), ratio.above(35.0), ratio.above(4838.0)],
            [Holds::Yes, Holds::CannotTell, Holds::No]
        );
        assert_eq!(
            [ratio.below(4838.0), ratio.below(4836.0), ratio.below(33.0)],
            [Holds::Yes, Holds::CannotTell, Holds::No]
        );
        let e = ratio.estimate().unwrap();
        assert!(e.value - e.half_width < 0.0, "an even interval of the wider half says nothing");
        let unknown = rounds(&[(0, 1.0), (1, -1.0)]).ratio();
        assert_eq!((unknown.written(1.0, 0).as_str(), unknown.above(0.1)), ("unknown", Holds::CannotTell));
    }

    #[test]
    fn an_interval_needs_two_rounds() {
        assert_eq!(rounds(&[(0, 2.0)]).cell(), Some(plain(2.0)));
        assert_eq!(rounds(&[]).cell(), None);
        let two = rounds(&[(0, 2.0), (1, 4.0)]);
        let e = two.estimate().unwrap();
        assert!((e.value - 3.0).abs() < 1e-9 && e.half_width > 10.0, "{e:?}");
        assert!((two.ratio().estimate().unwrap().value - 8.0_f64.sqrt()).abs() < 1e-9);
        // Quotients that scatter around one as much as the rates do, but together, scatter by nothing.
        let (a, b) = (rounds(&[(0, 10.0), (1, 1000.0)]), rounds(&[(0, 20.0), (1, 2000.0)]));
        let percent = a.over(&b).percent_cell().unwrap();
        assert!((percent.value - 50.0).abs() < 1e-9 && percent.half_width.unwrap() < 1e-9, "{percent:?}");
    }
}
