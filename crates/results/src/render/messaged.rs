//! What both pictures say of a message benchmark, in words.

use netfathom_model::plan::Place;
use netfathom_model::record::{MessageCell, MessageResult};

/// How much of it is there.
pub(crate) fn there(result: &MessageResult) -> String {
    let trials: usize = result.cells.iter().map(|cell| cell.trials.len()).sum();
    format!("{trials} trials are there")
}

/// Where the two ends are.
pub(crate) fn ends(result: &MessageResult) -> String {
    let place = if result.plan.place == Place::Lab { "lab" } else { "loopback" };
    format!("{} over {}", place, result.plan.carrier.name())
}

/// The cell whose rate is furthest above that of the first layer.
fn best(result: &MessageResult) -> Option<(&MessageCell, f64)> {
    let known = result.cells.iter().filter_map(|cell| Some((cell, cell.ratio?.value)));
    known.max_by(|a, b| a.1.total_cmp(&b.1))
}

/// The answer in one sentence, without its end.
pub(crate) fn answer(result: &MessageResult) -> String {
    let how = format!("{} trials, {}", result.plan.trials, ends(result));
    let Some((cell, ratio)) = best(result) else {
        return format!("nothing can be compared yet; {how}");
    };
    format!(
        "{} is {ratio:.2} times as fast as {} at {} bytes; {how}",
        cell.layer,
        result.plan.layers.first().map_or_else(String::new, ToString::to_string),
        cell.bytes
    )
}
