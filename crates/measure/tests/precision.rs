//! A run of `stack` without a number of trials, against its own record.

use std::sync::atomic::AtomicBool;

use netfathom_measure::kind::stack::run;
use netfathom_model::path::Direction;
use netfathom_model::plan::{InsertedDelay, StackPlan, Until};
use netfathom_model::record::{Ended, StackResult, TrialKind, Value};
use netfathom_model::verdict::Verdict;
use netfathom_stats::between_sequential_trials;
use netfathom_testkit::needs_root_alone;

const S: u64 = 1_000_000_000;
/// Trials of all kinds before a run may end as it is precise.
const ROUND: usize = Until::LEAST_TRIALS as usize + 2;

/// The time to send is the same in each trial, but for a delay that dwarfs everything else.
fn measure(precision: f64, time_limit_ns: u64) -> (StackResult, Verdict) {
    let plan = StackPlan {
        directions: vec![Direction::Tx],
        trials: Until::LEAST_TRIALS,
        baselines: 2,
        until: Some(Until { precision, time_limit_ns }),
        inserted_delay: Some(InsertedDelay { direction: Direction::Tx, delay_ns: 1_000_000 }),
        ..StackPlan::one_trial("constant:100/100ms".parse().unwrap())
    };
    let measured = run(&plan.validated().unwrap(), &mut (), &AtomicBool::new(false)).unwrap();
    (measured.result, measured.verdict)
}

/// Half the interval of the first `trials` trials of all kinds, as a part of the mean.
fn half_after(result: &StackResult, trials: usize) -> Option<f64> {
    let measured = result.trials[..trials].iter().filter(|t| t.kind == TrialKind::Measured);
    let paths = measured.flat_map(|t| &t.paths);
    let stand = result.summaries[0].stands_for_all().is_some();
    let means = paths.map(|path| match &path.undisturbed {
        Some(undisturbed) if stand => undisturbed.times.mean_ns,
        _ => path.total.mean_ns,
    });
    let estimate = between_sequential_trials(&means.collect::<Vec<_>>())?;
    Some(estimate.half_width / estimate.value)
}

#[test]
fn a_run_ends_with_the_first_interval_that_is_narrow() {
    needs_root_alone!();
    let (result, _) = measure(0.2, 60 * S);
    let (precision, trials) = (result.precision.clone().unwrap(), result.trials.len());
    assert!(trials >= ROUND, "{trials}");
    // Ten messages have no p99.
    assert_eq!(precision.widths.iter().map(|w| w.of).collect::<Vec<_>>(), [Value::Mean]);
    let half = precision.widths[0].half.unwrap();
    assert!((half - half_after(&result, trials).unwrap()).abs() < 1e-9);
    let overall = result.summaries[0].overall;
    assert!(overall.between_trials_ns.unwrap() > 0.0);
    // Whatever the machine did: it ended because of one or the other, and not later than it could.
    assert_eq!(precision.ended == Some(Ended::Narrow), half <= 0.2, "{precision:?}");
    for earlier in ROUND..trials {
        assert!(half_after(&result, earlier).unwrap() > 0.2, "{earlier} of {trials} would have been enough");
    }
}

#[test]
fn a_run_that_cannot_be_precise_ends_by_its_time_limit_and_says_so() {
    needs_root_alone!();
    let (result, verdict) = measure(0.001, 3 * S);
    let precision = result.precision.unwrap();
    let half = precision.widths[0].half.unwrap();
    // Before the first round is whole, two trials may be alike by chance.
    let is_whole = result.trials.len() >= ROUND;
    assert_eq!(precision.ended == Some(Ended::Narrow), half <= 0.001 && is_whole, "{precision:?}");
    let reported = verdict.reasons.iter().any(|reason| reason.text.starts_with("the mean is known to"));
    assert_eq!(reported, (0.0015..1.0).contains(&half), "{half}: {:?}", verdict.reasons);
}
