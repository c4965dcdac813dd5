//! Stalls that were recognised, and what ended them.

use netfathom_model::record::{Remedied, RemedyRow};

/// The stalled one, which is the first.
pub(crate) fn as_it_was(remedied: &Remedied) -> Option<&RemedyRow> {
    remedied.rows.first()
}

/// Of the remedies with which the stall is gone, the one with the shortest median.
pub(crate) fn best_remedy(remedied: &Remedied) -> Option<&RemedyRow> {
    let gone = remedied.rows.iter().skip(1).filter(|row| row.gone && row.times.n > 0);
    gone.min_by_key(|row| row.times.p50_ns)
}
