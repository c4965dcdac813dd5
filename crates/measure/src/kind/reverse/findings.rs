//! What the trials of a variant show, in words.

use netfathom_model::plan::Variant;
use netfathom_model::print::{Scale, percent, time};
use netfathom_model::record::{Estimate, Phase, ReverseResult, ReverseSummary, VariantResult};
use netfathom_model::verdict::Finding;

/// Of a single trial, which has no interval, less than this is taken for chance.
const CHANCE: f64 = 0.05;
/// A rate has come back in full where all of its interval is so near to that before.
const IN_FULL: f64 = 0.05;

pub fn findings(result: &ReverseResult) -> Vec<Finding> {
    let variants = result.variants.iter();
    variants.filter_map(|v| Some(finding(v, v.usable()?))).collect()
}

fn finding(variant: &VariantResult, s: &ReverseSummary) -> Finding {
    let (inbound, remedy) = words(variant.variant);
    let drop = with_interval(s.drop, s.drop_interval);
    let (seen, cause, remedy) = match can_tell(s.drop, s.drop_interval, 0.0) {
        true if s.drop > 0.0 => (
            format!("{inbound} take {drop} of the sending rate"),
            cause(variant.variant, s),
            remedy,
        ),
        true => (
            format!("{inbound} take nothing of the sending rate, which rises while they come ({drop})"),
            "something else that took from it before took less at the peak: a far end with more to do sleeps less, and need not be woken by the sender; or other programs ended".into(),
            "see whether it comes back when they end, and repeat it when the machine is quiet",
        ),
        false => (
            format!("{inbound} take nothing significant of the sending rate ({drop})"),
            "the load in is too small, or too few trials were made to detect it".into(),
            "raise the peak of --inbound, or --trials",
        ),
    };
    Finding { seen, cause, evidence: evidence(variant, s), remedy: remedy.into() }
}

/// Whether a value differs significantly from another.
fn can_tell(value: f64, interval: Option<Estimate>, from: f64) -> bool {
    interval.map_or((value - from).abs() > CHANCE, |interval| !interval.holds(from))
}

/// What the rate after the load in was, of that before: decided by the whole interval. One that holds
/// both a rate that came back and one that did not says neither, and a single trial has none.
fn came_back(recovery: f64, interval: Option<Estimate>) -> &'static str {
    let Some(interval) = interval else {
        return "inconclusive whether it came back in full: a single trial has no interval";
    };
    if !interval.holds(1.0) {
        return if recovery < 1.0 { "it did not come back in full" } else { "it came back higher" };
    }
    if (recovery - 1.0).abs() + interval.half_width <= IN_FULL {
        "it came back in full"
    } else {
        "inconclusive whether it came back in full: the trials differ too much"
    }
}

fn with_interval(value: f64, interval: Option<Estimate>) -> String {
    Scale::Share.interval(value, interval.map(|interval| interval.half_width))
}

/// What comes in, and what helps against it.
fn words(variant: Variant) -> (&'static str, &'static str) {
    const ON_ANOTHER_CPU: &str = "have incoming packets handled on a CPU other than the sender's: interrupt affinity, receive queues, RPS";
    match variant {
        Variant::Ignored => (
            "incoming messages without a reader",
            "have them dropped before the protocols (XDP, or no such messages at all), or handled on another CPU: interrupt affinity, receive queues, RPS",
        ),
        Variant::OtherThread => ("incoming messages that another thread reads", ON_ANOTHER_CPU),
        Variant::SameThread => (
            "incoming messages that the sending thread reads",
            "let another thread on another CPU read them, and have incoming packets handled there: interrupt affinity, receive queues, RPS",
        ),
        Variant::Echo => ("the answers to its own messages, which another thread reads,", ON_ANOTHER_CPU),
    }
}

fn cause(variant: Variant, s: &ReverseSummary) -> String {
    let [before, .., peak, _] = s.processor;
    let [waited_before, .., waited_peak, _] = s.sender_waited;
    let mut cause = format!(
        "the sender's CPU takes what comes in through the protocols before the sender goes on: soft interrupts had {} of it before and {} at the peak, the kernel for threads {} and {}, programs {} and {}; the sender waited for it {} of the time before and {} at the peak",
        percent(before.softirq),
        percent(peak.softirq),
        percent(before.system),
        percent(peak.system),
        percent(before.user),
        percent(peak.user),
        percent(waited_before),
        percent(waited_peak),
    );
    if variant == Variant::SameThread {
        cause.push_str(", and its own receive calls take from it what is left");
    }
    // Both hosts of a lab are on one machine.
    cause.push_str(" (on a lab's veth the sender's CPU also carries its own messages to the far end's socket, in soft interrupts)");
    cause
}

fn evidence(variant: &VariantResult, s: &ReverseSummary) -> String {
    let rate = |phase: Phase| Scale::Multiple.text(s.outgoing_per_s[phase as usize]);
    let read: u64 = variant.trials.iter().map(|t| t.inbound_read).sum();
    let sent: u64 = variant.trials.iter().map(|t| t.inbound_sent).sum();
    let back = came_back(s.recovery, s.recovery_interval);
    let mut evidence = format!(
        "{} messages a second out before, {} at the peak with {} coming in, {} after: {back} ({}); {read} of {sent} incoming messages were read",
        rate(Phase::Before),
        rate(Phase::Peak),
        Scale::Multiple.text(s.inbound_per_s[Phase::Peak as usize]),
        rate(Phase::After),
        with_interval(s.recovery, s.recovery_interval),
    );
    if let Some([before, _, peak, _]) = s.stack_mean_ns {
        evidence.push_str(&format!(
            "; mean stack time {} before and {} at the peak",
            time(before),
            time(peak)
        ));
    }
    evidence
}

#[cfg(test)]
mod tests {
    use netfathom_model::record::ProcessorShares;

    use super::*;

    fn variant(drop: f64, half_width: Option<f64>) -> VariantResult {
        let interval = |value| half_width.map(|half_width| Estimate { value, half_width });
        let summary = ReverseSummary {
            trials: 5,
            outgoing_per_s: [800e3, 600e3, 400e3, 796e3],
            inbound_per_s: [0.0, 100e3, 200e3, 0.0],
            drop,
            drop_interval: interval(drop),
            recovery: 0.995,
            recovery_interval: interval(0.995),
            stack_mean_ns: Some([500.0, 550.0, 600.0, 500.0]),
            stages: Vec::new(),
            processor: [0.1, 0.2, 0.37, 0.1].map(|softirq| ProcessorShares { softirq, ..Default::default() }),
            sender_waited: [0.0, 0.1, 0.2, 0.0],
        };
        VariantResult { variant: Variant::Ignored, trials: Vec::new(), summary: Some(summary) }
    }

    fn of_variant(variant: &VariantResult) -> Finding {
        finding(variant, variant.summary.as_ref().unwrap())
    }

    #[test]
    fn the_cost_of_answers_is_reported_with_numbers() {
        let f = of_variant(&variant(0.5, Some(0.02)));
        assert!(f.seen.contains("without a reader take 50.0 % ± 2.0 of the sending rate"), "{}", f.seen);
        assert!(f.cause.contains("10.0 % of it before and 37.0 % at the peak"), "{}", f.cause);
        assert!(
            f.evidence.contains("800k messages a second out before, 400k at the peak with 200k coming in")
        );
        assert!(f.evidence.contains("it came back in full (99.5 % ± 2.0)"), "{}", f.evidence);
        assert!(f.evidence.contains("500 ns before and 600 ns at the peak"));
    }

    #[test]
    fn an_insignificant_cost_is_reported_as_such() {
        for v in [variant(0.03, Some(0.04)), variant(0.03, None)] {
            assert!(of_variant(&v).seen.contains("nothing significant of the sending rate"));
        }
        assert!(of_variant(&variant(0.06, None)).seen.contains("take 6.00 %"));
        assert!(of_variant(&variant(-0.2, Some(0.1))).seen.contains("rises while they come (-20 % ± 10)"));
    }

    #[test]
    fn a_wide_interval_does_not_say_that_it_came_back() {
        let back = |value, half_width| came_back(value, Some(Estimate { value, half_width }));
        assert!(back(0.798, 2.02).contains("inconclusive"));
        assert!(back(0.97, 0.04).contains("inconclusive"));
        assert_eq!(back(0.99, 0.02), "it came back in full");
        assert_eq!(back(1.2, 0.1), "it came back higher");
        assert!(
            [0.97, 1.0, 0.5].iter().all(|&of| came_back(of, None).contains("a single trial has no interval"))
        );
    }

    #[test]
    fn missing_answers_are_reported() {
        let mut v = variant(0.5, Some(0.02));
        let summary = v.summary.as_mut().unwrap();
        summary.recovery = 0.9;
        summary.recovery_interval = Some(Estimate { value: 0.9, half_width: 0.05 });
        assert!(of_variant(&v).evidence.contains("did not come back in full (90.0 % ± 5.0)"));
    }
}
