//! Nothing is wrong.

use netfathom_model::record::Cause::{BothProcessors, Nothing, Processor, TooShort};
use netfathom_model::record::TransferResult;
use netfathom_testkit::needs_root;

use crate::both::{Between, Outcome, Situation};

/// Panics where an end that ran most of the time says that something is wrong. An end that had to
/// wait, because others took the processors that its peer needed, may have waited for anything.
fn nothing_is_wrong(outcome: &Outcome) {
    for result in [Some(&outcome.sent), outcome.received.as_ref()].into_iter().flatten() {
        let explanation = result.explanation.as_ref().expect("it was asked for");
        let (role, ran) = (result.plan.role, ran(result));
        println!("{role:?}, which ran {:.0} % of the time: {explanation:?}", 100.0 * ran);
        let is_fine = matches!(explanation.cause, Nothing | Processor | BothProcessors);
        if !is_fine && ran < 0.5 {
            println!("skipped: {role:?} waited for a machine that is busy with other things");
            continue;
        }
        assert!(is_fine, "{role:?} ran {:.0} % of the time: {explanation:#?}", 100.0 * ran);
    }
}

/// The share of the time in which the end ran or waited for a processor.
fn ran(result: &TransferResult) -> f64 {
    let stream = &result.streams[0];
    let waited_ns = stream.calls_took.map_or(0, |took| took.runqueue_ns);
    (stream.user_ns + stream.system_ns + waited_ns) as f64 / stream.duration_ns.max(1) as f64
}

#[test]
fn at_full_speed_over_loopback_nothing_is_wrong() {
    for buffer_bytes in [8192, 131_072] {
        let situation = Situation::over(Between::Loopback).with(|s| {
            (s.sends.buffer_bytes, s.receives.buffer_bytes) = (buffer_bytes, buffer_bytes);
        });
        nothing_is_wrong(&situation.run());
    }
}

#[test]
fn at_full_speed_in_a_lab_nothing_is_wrong() {
    needs_root!();
    nothing_is_wrong(&Situation::over(Between::Veth).run());
}

#[test]
fn a_very_short_transfer_cannot_be_explained() {
    let short = Situation::over(Between::Loopback).with(|s| {
        (s.sends.time_ns, s.sends.buffers) = (None, 2);
    });
    short.shows(TooShort, TooShort);
}
