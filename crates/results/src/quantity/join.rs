//! Of `netfathom join`.

use netfathom_model::path::Direction;
use netfathom_model::record::{JoinResult, JoinedSpan};
use serde_json::Value;

use super::Figures;
use super::Quantity;
use super::curve::Curve;
use super::histogram::{Histogram, Pooled};
use super::plan::plan_with;

impl Figures for JoinResult {
    /// The times of each way, and between captures: `tx`, `rx`, `between`, those after the first with a number.
    fn quantities(&self) -> Vec<Quantity> {
        let spans = self.spans.iter().enumerate();
        spans.flat_map(|(place, span)| of_span(&span_name(self, place), span)).collect()
    }

    fn plan(&self) -> Value {
        plan_with(&self.plan, &[])
    }

    fn histograms(&self) -> Vec<Histogram<'_>> {
        let spans = self.spans.iter().enumerate();
        spans
            .map(|(place, span)| Histogram {
                name: span_name(self, place),
                trial: None,
                span_ns: None,
                times: &span.times,
            })
            .collect()
    }

    fn curves(&self) -> Vec<Curve> {
        let spans = self.spans.iter().enumerate();
        spans.map(|(place, span)| Curve::times(span_name(self, place), None, &span.series)).collect()
    }

    fn pooled(&self) -> Vec<Pooled> {
        let spans = self.spans.iter().enumerate();
        spans.map(|(place, span)| Pooled::new(span_name(self, place), &span.times)).collect()
    }
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
