//! Of `netfathom join`.

use netfathom_model::path::Direction;
use netfathom_model::record::{JoinResult, JoinedSpan};

use super::Quantity;

/// The times of each way, and between captures: `tx`, `rx`, `between`, those after the first with a number.
pub fn of(result: &JoinResult) -> Vec<Quantity> {
    let spans = result.spans.iter().enumerate();
    spans.flat_map(|(place, span)| of_span(&span_name(result, place), span)).collect()
}

/// `tx`, `rx`, `between`, those after the first with a number.
pub fn span_name(result: &JoinResult, place: usize) -> String {
    let direction = result.spans[place].direction;
    let before = result.spans[..place].iter().filter(|other| other.direction == direction).count();
    let way = direction.map_or("between", Direction::name);
    if before == 0 { way.to_owned() } else { format!("{way}.{}", before + 1) }
}

fn of_span(prefix: &str, span: &JoinedSpan) -> Vec<Quantity> {
    let d = &span.times;
    let values =
        [("mean", d.mean_ns), ("p50", d.p50_ns as f64), ("p99", d.p99_ns as f64), ("p999", d.p999_ns as f64)];
    let main = |what| what == "mean" || what == "p99";
    let known = values.into_iter().filter(|_| d.n > 0);
    known
        .map(|(what, value)| {
            let title = format!("{} to {}, {what}", span.from, span.to);
            Quantity::time(format!("{prefix}.{what}"), title, [value]).main(main(what))
        })
        .collect()
}
