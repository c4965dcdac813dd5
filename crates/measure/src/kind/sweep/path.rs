//! What is known of a path that netfathom made: its limits are options of the sweep.

use netfathom_model::plan::{SweepEnds, Wire};
use netfathom_model::record::{Cause, Explanation};

const UNRATED: &str = "the path has no --rate that could fill it: the congestion window still grew, or this host \
                       carries no more packets";

/// An explanation with what was asked of the path, and with remedies that a sweep has.
pub fn known(ends: &SweepEnds, mut explanation: Explanation) -> Explanation {
    let SweepEnds::Lab { wire: Some(wire) } = ends else { return explanation };
    let is_limited = wire.loss_per_million > 0 || wire.rate_bits_per_s.is_some();
    // Without a limit, what is lost is more than a relay holds.
    if explanation.cause == Cause::Path || (explanation.cause == Cause::Loss && is_limited) {
        explanation.text = text(wire, &explanation.text);
        explanation.remedy = format!("change the path: {}", options(wire, explanation.cause).join(" or "));
    }
    explanation
}

/// The loss first; a path without a rate is never full.
fn text(wire: &Wire, seen: &str) -> String {
    let lossy = wire.loss_per_million > 0;
    let lost = format!("the path drops {} % of the packets (--loss)", f64::from(wire.loss_per_million) / 1e4);
    match (lossy, wire.rate_bits_per_s) {
        (true, Some(_)) => format!("{lost}; {seen}"),
        (true, None) => format!("{lost} and has no --rate that could fill it"),
        (false, Some(_)) => seen.into(),
        (false, None) => UNRATED.into(),
    }
}

fn options(wire: &Wire, cause: Cause) -> Vec<&'static str> {
    let (lossy, rated) = (wire.loss_per_million > 0, wire.rate_bits_per_s.is_some());
    let all = [
        (lossy, "a lower --loss"),
        (rated && cause == Cause::Loss, "a longer --queue"),
        (rated && cause == Cause::Path, "a higher --rate"),
        (!lossy && !rated, "a shorter --delay, or a longer --time for the window to grow"),
    ];
    all.into_iter().filter(|(helps, _)| *helps).map(|(_, option)| option).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(cause: Cause, loss_per_million: u32, rate_bits_per_s: Option<u64>) -> String {
        let wire = Wire { loss_per_million, rate_bits_per_s, ..Wire::long(5_000_000) };
        let explanation = Explanation {
            cause,
            share: 0.6,
            text: "seen".into(),
            evidence: Vec::new(),
            remedy: "choose another".into(),
            others: Vec::new(),
        };
        let known = known(&SweepEnds::Lab { wire: Some(wire) }, explanation);
        format!("{}: {}", known.text, known.remedy)
    }

    #[test]
    fn a_path_that_loses_is_named_by_its_loss_and_has_no_bottleneck_without_a_rate() {
        let lossy = "the path drops 1 % of the packets (--loss)";
        assert_eq!(
            shown(Cause::Path, 10_000, None),
            format!("{lossy} and has no --rate that could fill it: change the path: a lower --loss")
        );
        assert_eq!(
            shown(Cause::Path, 10_000, Some(8_000_000)),
            format!("{lossy}; seen: change the path: a lower --loss or a higher --rate")
        );
    }

    #[test]
    fn a_remedy_fits_the_cause() {
        let rated = Some(8_000_000);
        assert_eq!(shown(Cause::Loss, 0, rated), "seen: change the path: a longer --queue");
        assert_eq!(shown(Cause::Path, 0, rated), "seen: change the path: a higher --rate");
        assert!(shown(Cause::Path, 0, None).ends_with("a longer --time for the window to grow"));
        assert_eq!(shown(Cause::SendBuffer, 10_000, None), "seen: choose another");
        assert_eq!(shown(Cause::Loss, 0, None), "seen: choose another");
    }
}
