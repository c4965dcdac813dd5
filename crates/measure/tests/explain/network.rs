//! What the path does.

use netfathom_model::plan::Wire;
use netfathom_model::record::Cause::{Elsewhere, Loss, Pace, Path};
use netfathom_testkit::needs_root;

use crate::both::{Between, Situation};

#[test]
fn segments_that_are_lost() {
    needs_root!();
    let wire = Wire { loss_per_million: 20_000, ..Wire::long(15_000_000) };
    let lossy = Situation::over(Between::Wire(wire.clone())).with(|s| s.sends.time_ns = Some(2_000_000_000));
    let Some(outcome) = lossy.shows(Loss, Elsewhere) else { return };
    lossy.cured_by(|s| s.between = Between::Wire(Wire { loss_per_million: 0, ..wire }), 3.0, &outcome);
}

#[test]
fn segments_that_are_lost_on_a_short_path() {
    needs_root!();
    let wire = Wire { loss_per_million: 20_000, ..Wire::long(500_000) };
    Situation::over(Between::Wire(wire)).shows(Loss, Elsewhere);
}

#[test]
fn a_queue_that_is_too_short() {
    needs_root!();
    let wire = Wire { rate_bits_per_s: Some(50_000_000), queue_bytes: 60_000, ..Wire::long(50_000_000) };
    let short = Situation::over(Between::Wire(wire)).with(|s| s.sends.time_ns = Some(4_000_000_000));
    let Some(outcome) = short.shows(Loss, Elsewhere) else { return };
    let explanation = outcome.explanation_there();
    assert!(explanation.remedy.contains("a queue that is too short"), "{explanation:#?}");
}

#[test]
fn a_path_that_is_full() {
    needs_root!();
    for (congestion, queue_bytes) in [("cubic", 256 << 10), ("cubic", 40_000), ("bbr", 256 << 10)] {
        let wire = Wire { rate_bits_per_s: Some(20_000_000), queue_bytes, ..Wire::long(5_000_000) };
        let full =
            Situation::over(Between::Wire(wire)).with(|s| s.sends.congestion = Some(congestion.into()));
        full.shows(Path, Elsewhere);
    }
}

#[test]
fn a_pace_that_was_asked_for() {
    needs_root!();
    let paced = Situation::after(1).with(|s| s.sends.pace_bits_per_s = Some(20_000_000));
    paced.shows(Pace, Elsewhere);
}

#[test]
fn a_pace_so_low_that_nothing_waits() {
    let paced = Situation::over(Between::Loopback).with(|s| {
        (s.sends.pace_bits_per_s, s.sends.time_ns) = (Some(2_000_000), Some(3_000_000_000));
    });
    paced.shows(Pace, Elsewhere);
}
