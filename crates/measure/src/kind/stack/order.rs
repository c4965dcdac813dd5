//! The order of trials: those of each kind are spread evenly, so that what drifts on the
//! machine drifts for all of them.

use netfathom_model::path::Tap;
use netfathom_model::record::TrialKind;

/// What a trial is for, and the tap that it has.
pub type Kind = (TrialKind, Option<Tap>);

/// The kinds of a run's trials, in the order in which they run: so many of each.
pub fn interleaved(kinds: &[(Kind, u32)]) -> Vec<Kind> {
    let mut order: Vec<(f64, Kind)> = Vec::new();
    for &(kind, count) in kinds {
        order.extend((0..count).map(|i| ((f64::from(i) + 0.5) / f64::from(count), kind)));
    }
    order.sort_by(|a, b| a.0.total_cmp(&b.0));
    order.into_iter().map(|(_, kind)| kind).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_are_spread() {
        let m = (TrialKind::Measured, Some(Tap::Bpf));
        let c = (TrialKind::Control, None);
        let w = (TrialKind::Witness, Some(Tap::Pcap));
        assert_eq!(interleaved(&[(m, 4), (c, 2), (w, 0)]), [m, c, m, m, c, m]);
        assert_eq!(interleaved(&[(m, 1)]), [m]);
        assert_eq!(interleaved(&[(m, 3), (c, 3), (w, 3)]).len(), 9);
    }
}
