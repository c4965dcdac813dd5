//! Of `netfathom join`.

use netfathom_model::path::Direction;
use netfathom_model::record::{JoinResult, JoinedSpan};
use netfathom_model::verdict::{Level, Part, Verdict};

use super::{Curve, Figures, Histogram, MAIN, Quantity, of_times};

impl Figures for JoinResult {
    /// The times of each way, and between captures: `tx`, `rx`, `between`, those after the first with a number.
    fn quantities(&self) -> Vec<Quantity> {
        let of_span = |(name, span): (String, &JoinedSpan)| {
            of_times(&name, &format!("{} to {}", span.from, span.to), MAIN, [&span.times])
        };
        named(self).flat_map(of_span).collect()
    }

    fn level(&self, verdict: &Verdict, name: &str) -> Level {
        let direction = name.split('.').next().and_then(Direction::named);
        verdict.of(direction.map_or(Part::Between, Part::from))
    }

    fn histograms(&self) -> Vec<Histogram<'_>> {
        named(self).map(|(name, span)| Histogram::of_run((name, &span.times))).collect()
    }

    fn curves(&self) -> Vec<Curve> {
        named(self).map(|(name, span)| Curve::times(name, None, &span.series)).collect()
    }
}

fn named(result: &JoinResult) -> impl Iterator<Item = (String, &JoinedSpan)> {
    result.spans.iter().enumerate().map(|(place, span)| (span_name(result, place), span))
}

/// `tx`, `rx`, `between`, those after the first with a number.
pub fn span_name(result: &JoinResult, place: usize) -> String {
    let direction = result.spans[place].direction;
    let before = result.spans[..place].iter().filter(|other| other.direction == direction).count();
    let way = direction.map_or("between", Direction::name);
    if before == 0 { way.to_owned() } else { format!("{way}.{}", before + 1) }
}
