//! Cells for tests: only the fields that a test reads are set.

use netfathom_model::plan::{MessagePlan, MessageTest, Place, Placement};
use netfathom_model::record::{MessageCell, MessageResult, MessageTrial};
use netfathom_stats::Distribution;

use super::cells::empty;
use super::order::Cell;

/// A trial with this many received messages, and nothing else.
pub fn trial(messages: u64) -> MessageTrial {
    MessageTrial { messages, sent: messages, duration_ns: 1, ..MessageTrial::default() }
}

/// Both ends in user space, with one trial and these times.
pub fn cell(layer: &str, trial: MessageTrial, times: &Distribution) -> MessageCell {
    let layer = layer.parse().expect("a layer");
    let cell = Cell { layer, bytes: 64, placement: Placement::UU, pair: 0 };
    MessageCell { trials: vec![trial], times: times.into(), ..empty(&cell) }
}

/// Round trips over loopback, and no cells.
pub fn result() -> MessageResult {
    MessageResult::empty(MessagePlan::paper(MessageTest::Pingpong, Place::Loopback))
}
