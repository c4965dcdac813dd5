//! Verdicts on generated rows.

use netfathom_model::engine::Engine;

use super::*;

fn probe(rate: f64, sustained: bool, in_time: bool) -> Probe {
    Probe {
        wanted_per_s: rate,
        reached_per_s: rate,
        lost: Some(0.0),
        lag_p99_of_slot: 0.5,
        sustained,
        in_time,
        ..Probe::default()
    }
}

fn search(probes: Vec<Probe>, sustained: Option<f64>, capacity: Option<f64>) -> Search {
    Search { probes, sustained_per_s: sustained, capacity_per_s: capacity }
}

fn made(searches: Vec<Search>) -> CapacityRow {
    CapacityRow {
        engine: Engine::Send,
        receive: None,
        workers: 1,
        flat_out_per_s: report::bounded(&[1e6], 0.0),
        capacity_per_s: report::mean_of(&searches, |s| s.capacity_per_s, |p| p.in_time),
        sustained_per_s: report::mean_of(&searches, |s| s.sustained_per_s, |p| p.sustained),
        blocking_per_s: None,
        of_inferred: None,
        searches,
        blocking: None,
        contention: Vec::new(),
        verdict: Verdict::default(),
    }
}

fn good() -> Search {
    search(vec![probe(1e5, true, true), probe(2e5, true, false)], Some(2e5), Some(1e5))
}

fn text(searches: Vec<Search>, planned: u32) -> String {
    let verdict = row(&made(searches), planned, &Faults::default());
    assert_eq!(verdict.level, Level::Degraded);
    verdict.reasons.into_iter().map(|r| r.text).collect::<Vec<_>>().join("; ")
}

#[test]
fn a_sound_row_is_valid() {
    assert_eq!(row(&made(vec![good(), good()]), 2, &Faults::default()), Verdict::default());
}

#[test]
fn the_verdict_names_what_is_missing() {
    assert_eq!(text(vec![good()], 3), "only 1 of 3 searches were finished");
    let late = || search(vec![probe(1000.0, true, false), probe(2e5, true, false)], Some(2e5), None);
    assert!(
        text(vec![late()], 1)
            .starts_with("no rate was on schedule, down to 1.00k/s (at 1.00k/s p99 lag 50.0 %")
    );
    assert!(text(vec![late(), good()], 2).starts_with("in 1 of 2 searches no rate was on schedule"));
    assert!(
        text(vec![search(vec![probe(1e3, false, false)], None, None)], 1)
            .starts_with("no rate was sustained")
    );
}

#[test]
fn a_low_rate_that_failed_contradicts_a_high_one_that_held() {
    let mut odd = good();
    odd.probes.push(probe(5e4, false, false));
    assert!(
        text(vec![odd.clone()], 1).contains("50.0k/s failed whenever it was tried, though 200k/s succeeded")
    );
    // Once it has held, it is no contradiction.
    odd.probes.push(probe(5e4, true, true));
    assert_eq!(row(&made(vec![odd]), 1, &Faults::default()), Verdict::default());
}

#[test]
fn searches_that_disagree_and_rates_without_an_end_are_named() {
    let less = |rate: f64| search(vec![probe(rate, true, true)], Some(rate), Some(rate));
    assert!(text(vec![good(), less(1e5)], 2).contains("sustained rates differ by 66.7 %"));
    let no_answer = row(&made(vec![good(), less(5e4)]), 2, &Faults::default());
    assert_eq!(no_answer.level, Level::Void, "{no_answer:?}");
    let endless = search(vec![probe(4.4e6, true, true)], Some(4.4e6), Some(4.4e6));
    assert!(text(vec![endless], 1).contains("ended at 4.40M/s"));
}

#[test]
fn a_void_row_does_not_spoil_the_others() {
    let mut void = made(vec![good()]);
    void.verdict = row(&void, 1, &Faults { gap: 3, ..Faults::default() });
    assert_eq!(void.verdict.level, Level::Void);
    let valid = made(vec![good()]);
    let beside = run(&[void.clone(), valid], 2, 0);
    assert_eq!((beside.level, beside.of_whole()), (Level::Degraded, Level::Valid));
    assert_eq!(run(&[void], 1, 0).level, Level::Void);
    assert_eq!(run(&[], 1, 1).level, Level::Void);
}

#[test]
fn a_run_that_ended_early_says_so_unless_the_rest_does_not_work_here() {
    assert_eq!(run(&[made(vec![good()])], 2, 1).level, Level::Valid);
    assert!(run(&[made(vec![good()])], 3, 1).reasons[0].text.contains("1 of 3"));
}
