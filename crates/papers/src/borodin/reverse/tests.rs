//! What is made of rates in four phases.

use super::super::fixture::reverse;
use super::*;

fn holds(trials: &[[f64; 4]]) -> (Holds, Holds) {
    let result = reverse(trials);
    let trials = &result.variants[0].trials;
    (drops(trials).holds, recovers(trials).holds)
}

#[test]
fn a_drop_that_ends_is_found() {
    let trials = [[100.0, 80.0, 60.0, 100.0], [110.0, 90.0, 62.0, 108.0], [90.0, 70.0, 55.0, 91.0]];
    assert_eq!(holds(&trials), (Holds::Yes, Holds::Yes));
}

#[test]
fn the_evidence_is_that_of_peak_and_after() {
    let result = reverse(&[[100.0, 80.0, 60.0, 95.0], [200.0, 90.0, 120.0, 190.0]]);
    let trials = &result.variants[0].trials;
    assert!(drops(trials).here.contains("its peak takes 40.0 ± 0.0 %"), "{}", drops(trials).here);
    let here = recovers(trials).here;
    assert!(here.starts_with("afterwards 95.0 ± 0.0 % of the rate before, 35.0 ± 0.0 points"), "{here}");
    let row = by_trial(&result).rows[1].cells.iter().flatten().map(|c| c.value).collect::<Vec<_>>();
    assert_eq!(row[..5], [200.0, 90.0, 120.0, 190.0, 40.0]);
}

#[test]
fn a_rate_that_stays_down_has_not_recovered() {
    let trials = [[100.0, 80.0, 60.0, 61.0], [110.0, 90.0, 62.0, 62.0], [90.0, 70.0, 55.0, 56.0]];
    assert_eq!(holds(&trials), (Holds::Yes, Holds::No));
}

#[test]
fn a_rate_that_rises_does_not_drop_and_has_nothing_to_recover() {
    let trials = [[100.0, 110.0, 130.0, 128.0], [100.0, 110.0, 131.0, 130.0], [100.0, 110.0, 129.0, 131.0]];
    assert_eq!(holds(&trials), (Holds::No, Holds::CannotTell));
}

#[test]
fn trials_that_differ_more_than_the_drop_tell_nothing() {
    let trials = [[100.0, 80.0, 60.0, 100.0], [100.0, 90.0, 140.0, 70.0], [100.0, 70.0, 95.0, 150.0]];
    assert_eq!(holds(&trials), (Holds::CannotTell, Holds::CannotTell));
    assert_eq!(holds(&trials[..1]), (Holds::CannotTell, Holds::CannotTell));
}

#[test]
fn the_phases_are_named_where_they_begin() {
    let result = reverse(&[[100.0, 80.0, 60.0, 90.0], [200.0, 80.0, 60.0, 90.0]]);
    let figure = over_time(&result.variants[0]).unwrap();
    let outgoing = &figure.series[0].points;
    let named: Vec<_> = outgoing.iter().map(|p| p.label.as_deref().unwrap_or("none")).collect();
    assert_eq!(named, ["before", "rise", "peak", "after"]);
    assert_eq!((outgoing[0].x, outgoing[0].y), (0.5, 150.0));
    assert_eq!(figure.series[1].points[2].y, 100.0);
}

#[test]
fn who_reads_takes_more_or_not() {
    let unread = [[100.0, 90.0, 80.0, 100.0], [110.0, 95.0, 88.0, 110.0], [90.0, 80.0, 72.0, 90.0]];
    let beside = |peaks: &[f64]| {
        let mut result = reverse(&unread);
        let read: Vec<[f64; 4]> = peaks.iter().map(|&peak| [100.0, 90.0, peak, 100.0]).collect();
        let read = VariantResult { variant: Variant::OtherThread, ..reverse(&read).variants.remove(0) };
        result.variants.push(read);
        readers_take_more(&result)
    };
    for (peaks, expected) in [
        (&[70.0, 71.0, 69.0][..], Holds::Yes),
        (&[90.0, 91.0, 89.0], Holds::CannotTell),
        (&[80.0, 90.0, 70.0], Holds::CannotTell),
        (&[70.0], Holds::CannotTell),
        (&[], Holds::CannotTell),
    ] {
        assert_eq!(beside(peaks).holds, expected, "{peaks:?}");
    }
    assert!(beside(&[70.0, 70.0, 70.0]).here.contains("takes 10.0 ± 0.0 points more"));
}
