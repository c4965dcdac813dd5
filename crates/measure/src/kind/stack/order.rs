//! The order of trials: those of each kind are spread evenly, so that what drifts on the
//! machine drifts for all of them.

use netfathom_model::path::Tap;
use netfathom_model::record::TrialKind;

/// What a trial is for, and the tap that it has.
pub type Kind = (TrialKind, Option<Tap>);

struct Share {
    kind: Kind,
    /// How many of them are in a round.
    of_round: u32,
    taken: u32,
}

impl Share {
    /// Where the next one stands: in the first round from 0 to 1, and so on.
    fn next_at(&self) -> f64 {
        (f64::from(self.taken) + 0.5) / f64::from(self.of_round)
    }
}

/// The kinds of a run's trials, in the order in which they run: endless rounds with a number of each kind.
pub struct Order(Vec<Share>);

impl Order {
    pub fn of(kinds: &[(Kind, u32)]) -> Self {
        let share = |&(kind, of_round): &(Kind, u32)| Share { kind, of_round, taken: 0 };
        Self(kinds.iter().filter(|(_, of_round)| *of_round > 0).map(share).collect())
    }

    pub fn round(&self) -> usize {
        self.0.iter().map(|share| share.of_round as usize).sum()
    }
}

impl Iterator for Order {
    type Item = Kind;

    fn next(&mut self) -> Option<Kind> {
        let next = self.0.iter_mut().min_by(|a, b| a.next_at().total_cmp(&b.next_at()))?;
        next.taken += 1;
        // One alternating trial has many rounds of its own.
        let once = next.kind.0 == TrialKind::Alternating && next.taken == next.of_round;
        let kind = next.kind;
        if once {
            self.0.retain(|share| share.kind != kind);
        }
        Some(kind)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_are_spread() {
        let m = (TrialKind::Measured, Some(Tap::Bpf));
        let c = (TrialKind::Baseline, None);
        let w = (TrialKind::CrossCheck, Some(Tap::Pcap));
        let round = |kinds: &[(Kind, u32)]| {
            let order = Order::of(kinds);
            let round = order.round();
            order.take(round).collect::<Vec<_>>()
        };
        assert_eq!(round(&[(m, 4), (c, 2), (w, 0)]), [m, c, m, m, c, m]);
        assert_eq!(round(&[(m, 1)]), [m]);
        assert_eq!(round(&[(m, 3), (c, 3), (w, 3)]).len(), 9);
    }

    #[test]
    fn rounds_follow_each_other_in_the_same_proportions() {
        let kinds = [(TrialKind::Measured, 6), (TrialKind::Baseline, 2), (TrialKind::Alternating, 1)];
        let order = Order::of(&kinds.map(|(kind, n)| ((kind, None), n)));
        let taken: Vec<TrialKind> = order.take(9 + 4 * 8).map(|(kind, _)| kind).collect();
        let count = |of: &[TrialKind], kind| of.iter().filter(|&&k| k == kind).count();
        assert_eq!(kinds.map(|(kind, _)| count(&taken[..9], kind)), [6, 2, 1]);
        assert_eq!(kinds.map(|(kind, _)| count(&taken, kind)), [30, 10, 1]);
    }
}
