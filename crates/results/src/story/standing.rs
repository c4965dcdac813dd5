//! Whether a tap distorts what it measures.

use netfathom_model::record::{Distorts, Estimate};

/// Whether a tap distorts what it measures, even where it loses nothing.
pub(crate) fn distorts(share: Option<Estimate>) -> bool {
    share.map(Distorts::of) == Some(Distorts::Yes)
}
