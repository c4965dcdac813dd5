//! The order of trials: those of each kind are spread evenly, so that what drifts on the
//! machine drifts for all of them.

use netfathom_model::record::TrialKind;

/// The kinds of a run's trials, in the order in which they run.
#[must_use]
pub fn interleaved(measured: u32, controls: u32, witnesses: u32) -> Vec<TrialKind> {
    let kinds =
        [(TrialKind::Measured, measured), (TrialKind::Control, controls), (TrialKind::Witness, witnesses)];
    let mut order: Vec<(f64, TrialKind)> = Vec::new();
    for (kind, count) in kinds {
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
        use TrialKind::{Control as C, Measured as M};
        assert_eq!(interleaved(4, 2, 0), [M, C, M, M, C, M]);
        assert_eq!(interleaved(1, 0, 0), [M]);
        assert_eq!(interleaved(3, 3, 3).len(), 9);
    }
}
