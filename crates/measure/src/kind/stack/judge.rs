//! When a trial of `stack`, and the run, can be trusted: the rules of every load (`load::judge`), those of the tap, those of
//! each direction (`direction`), wide intervals (`precision`), then baselines and cross-checks.

use netfathom_model::accounting::{Accounting, Fate};
use netfathom_model::path::{Direction, Tap};
use netfathom_model::plan::{Place, StackPlan};
use netfathom_model::record::{
    Agreement, DISTORTION, Distorts, Load, SelfCost, StackResult, Trial, TrialKind,
};
use netfathom_model::verdict::{Level, Part, Verdict};

use super::{direction, precision};
use crate::load::judge::{self, Judged, Rule, count, lateness_rules, load_rules, percent, share};

/// Trials of a run that ends by its intervals which may be late or disturbed.
const FEW: f64 = 0.1;

impl Judged for Trial {
    fn load(&self) -> &Load {
        &self.load
    }

    fn accounting(&self) -> &Accounting {
        &self.accounting
    }
}

fn rules() -> Vec<Rule<Trial>> {
    load_rules().into_iter().chain(tap_rules()).collect()
}

/// Messages that the tap could not time, on the way where they are more.
fn unjoined(t: &Trial) -> f64 {
    let a = &t.accounting;
    let left = t.load.sent.saturating_sub(a.count(&Fate::QueueDrop));
    share(a.unjoined_tx, left).max(share(a.unjoined_rx, a.count(&Fate::Delivered)))
}

fn tap_rules() -> [Rule<Trial>; 7] {
    [
        Rule::degraded(
            0.0,
            |t| t.captured.iter().filter_map(|c| c.stamped_early).sum::<u64>() as f64,
            count,
            "{} packets were stamped early for another program (ping, ntpd): tx is short by some 100 ns, rx long",
        ),
        Rule::void(
            0.05,
            |t| if t.tap == Some(Tap::Pcap) { unjoined(t) } else { 0.0 },
            percent,
            "the capture lost {} of the messages (5 % allowed, as Borodin's outgoing paper did): lower the rate",
        ),
        Rule::void(
            0.01,
            |t| if t.tap == Some(Tap::Pcap) { 0.0 } else { unjoined(t) },
            percent,
            "the tap could not time {} of the messages: lower the rate",
        ),
        Rule::degraded(0.0, unjoined, percent, "the tap could not time {} of the messages"),
        Rule::degraded(
            0.01,
            |t| share(t.accounting.unstaged_rx, t.load.sent),
            percent,
            "{} of the receive times have no stages: the totals hold, shares are of the rest",
        ),
        Rule::void(
            0.0,
            |t| {
                let refused: u64 = t.load.refused.iter().map(|r| r.count).sum();
                if t.tap == Some(Tap::Timestamping) { refused as f64 } else { 0.0 }
            },
            count,
            "{} messages were refused, so timestamps may belong to other messages: use --tap bpf",
        ),
        Rule::degraded(
            1000.0,
            |t| t.clock_moved_ns.unwrap_or(0).unsigned_abs() as f64,
            count,
            "the wall clock moved by {} ns during a trial, and so did its timestamps: repeat the run",
        ),
    ]
}

pub fn trial(trial: &Trial) -> Verdict {
    let mut verdict = judge::trial(&rules(), trial);
    let ways: Vec<Direction> = trial.paths.iter().map(|path| path.direction).collect();
    judge_parts(&mut verdict, &ways, &[trial], 0.0);
    answered(verdict, &ways)
}

/// The ways, each by the messages that its answer is of, and the load.
fn judge_parts(verdict: &mut Verdict, ways: &[Direction], trials: &[&Trial], spared: f64) {
    for &way in ways {
        direction::judge(verdict, way, trials, spared);
    }
    judge::lower_beyond(verdict, &[Part::Load], &lateness_rules::<Trial>(), trials, spared);
}

/// The answer is the ways; a trial without any is there for its load.
fn answered(verdict: Verdict, ways: &[Direction]) -> Verdict {
    let ways: Vec<Part> = ways.iter().map(|&way| way.into()).collect();
    verdict.answered_by(if ways.is_empty() { &[Part::Load] } else { &ways })
}

/// How far the run can be trusted: its measured trials, and what others say of them.
pub fn run(result: &StackResult) -> Verdict {
    let StackResult { plan, trials, .. } = result;
    let measured: Vec<&Trial> = trials.iter().filter(|t| t.kind == TrialKind::Measured).collect();
    let planned = if plan.until.is_some() { 0 } else { plan.trials };
    let mut verdict = judge::run(&rules(), &measured, planned);
    // What a few trials do to the mean is in its interval, and that is judged next.
    let spared = if plan.until.is_some() { FEW } else { 0.0 };
    judge_parts(&mut verdict, &plan.directions, &measured, spared);
    precision::judge(&mut verdict, result);
    if !measured.is_empty() {
        judge_others(&mut verdict, result);
        if result.tap == Tap::Pcap {
            judge_capture(&mut verdict, plan, result.self_cost);
        }
    }
    answered(verdict, &plan.directions)
}

/// A capture that loses nothing but slows the sender is still a distortion.
fn judge_capture(verdict: &mut Verdict, plan: &StackPlan, cost: Option<SelfCost>) {
    if matches!(plan.place, Place::Listen(_)) {
        // The sender is on another host: it does not feel this capture.
        return;
    }
    let Some(cost) = cost else {
        let text = "the effect of the capture on the sender is unknown: add --baselines 2 --trials 2";
        return verdict.lower(Level::Degraded, text);
    };
    let allowed = percent(DISTORTION);
    let parts = [("the send calls", cost.send_call_share), ("the highest rate", cost.rate_lost)];
    for (what, share) in parts {
        let Some(share) = share else { continue };
        let by = format!("{} ± {}", percent(share.value), percent(share.half_width));
        let text = match Distorts::of(share) {
            Distorts::No => continue,
            Distorts::Yes => format!("the capture changes {what} by {by} ({allowed} allowed): use --tap bpf"),
            Distorts::CannotTell => format!(
                "the capture changes {what} by {by}, {allowed} allowed: inconclusive, add --baselines"
            ),
        };
        verdict.lower(Level::Degraded, text);
    }
}

/// What baselines and cross-checks say. Trials of theirs that are VOID take from what is compared with them alone.
fn judge_others(verdict: &mut Verdict, result: &StackResult) {
    let StackResult { trials, cross_checks, .. } = result;
    // An alternating trial stalls while programs are attached; its differences are of the blocks between.
    let kinds = [
        (TrialKind::Baseline, "baseline", Part::Overhead),
        (TrialKind::CrossCheck, "cross-check", Part::CrossCheck),
    ];
    for (kind, name, part) in kinds {
        let void = |t: &&Trial| t.kind == kind && t.verdict.level == Level::Void;
        let (bad, all) =
            (trials.iter().filter(void).count(), trials.iter().filter(|t| t.kind == kind).count());
        if bad > 0 {
            let text =
                format!("{bad} of {all} {name} trials are VOID: do not rely on what is compared with them");
            // Baselines decide whether a capture distorts, and so what it measures.
            let rests_on_them = result.tap == Tap::Pcap && kind == TrialKind::Baseline;
            let about: &[Part] = if rests_on_them { &[] } else { &[part] };
            verdict.lower_only(about, Level::Degraded, text);
        }
    }
    for w in cross_checks.iter().filter(|w| w.agreement == Agreement::Disagree) {
        let text = format!(
            "the {} tap disagrees on {} by {:.0} ns: the cross-check in the report has both",
            w.tap.name(),
            w.direction.name(),
            w.difference_ns.abs()
        );
        verdict.lower_only(&[w.direction.into()], Level::Degraded, text);
    }
}

#[cfg(test)]
mod tests {
    use netfathom_model::plan::Until;
    use netfathom_model::record::{Measured, Precision, Record, Value, Width};

    use super::*;

    fn result() -> StackResult {
        let text = include_str!("../../../../results/tests/fixtures/stack.json");
        let record: Record = serde_json::from_str(text).unwrap();
        StackResult::of(&record.measurement).unwrap().clone()
    }

    fn about(verdict: &Verdict, text: &str) -> Option<(Level, Vec<Part>)> {
        let reason = verdict.reasons.iter().find(|reason| reason.text.contains(text))?;
        Some((reason.level, reason.about.clone()))
    }

    #[test]
    fn void_baselines_take_from_the_overhead_and_with_a_capture_from_everything() {
        let mut result = result();
        let baseline = result.trials.iter_mut().find(|t| t.kind == TrialKind::Baseline).unwrap();
        baseline.verdict.lower(Level::Void, "late");
        let bpf = run(&result);
        assert_eq!(about(&bpf, "baseline trials are VOID"), Some((Level::Degraded, vec![Part::Overhead])));
        result.tap = Tap::Pcap;
        assert_eq!(about(&run(&result), "baseline trials are VOID"), Some((Level::Degraded, Vec::new())));
    }

    #[test]
    fn a_wide_p99_takes_from_itself_alone() {
        let mut result = result();
        result.plan.until = Some(Until { precision: 0.05, time_limit_ns: 1 });
        let of_rx = |of, half| Width { direction: Some(Direction::Rx), of, half: Some(half) };
        let mut judged = |[mean, p99]: [f64; 2]| {
            let widths = vec![of_rx(Value::Mean, mean), of_rx(Value::P99, p99)];
            result.precision = Some(Precision { after_ns: 1, widths, ended: None });
            let verdict = run(&result);
            let of = [Value::Mean, Value::P99].map(|of| verdict.of_value(Part::Rx, Some(of)));
            of.map(|level| level == Level::Void)
        };
        assert_eq!(judged([0.02, 1.2]), [false, true]);
        assert_eq!(judged([1.2, 0.02]), [true, false]);
    }

    #[test]
    fn an_interval_that_includes_0_is_void_with_a_fixed_number_of_trials_too() {
        let mut result = result();
        assert_eq!(about(&run(&result), "includes 0"), None);
        for summary in &mut result.summaries {
            summary.undisturbed = None;
            let half_width = if summary.direction == Direction::Tx { 1.5 } else { 0.5 };
            summary.overall.between_trials_ns = Some(half_width * summary.overall.mean_ns);
        }
        let of_tx = |level| Some((level, vec![Part::Tx]));
        result.trials.retain(|trial| trial.kind == TrialKind::Measured);
        result.trials.truncate(2);
        assert_eq!(about(&run(&result), "the mean, ± 150 %, includes 0"), of_tx(Level::Degraded));
        result.trials = vec![result.trials; 3].concat();
        let verdict = run(&result);
        assert_eq!(about(&verdict, "the mean, ± 150 %, includes 0"), of_tx(Level::Void));
        assert_eq!([Part::Tx, Part::Rx].map(|way| verdict.of(way) == Level::Void), [true, false]);
    }

    #[test]
    fn a_run_that_lost_more_than_half_is_void() {
        let level = |delivered_of_ten: u64| {
            let mut result = result();
            for trial in &mut result.trials {
                let delivered = trial.load.sent * delivered_of_ten / 10;
                let of = |fate: &Fate| if *fate == Fate::Delivered { delivered } else { 0 };
                trial.accounting.fates.iter_mut().for_each(|fate| fate.count = of(&fate.fate));
            }
            about(&run(&result), "of the messages were lost").map(|(level, _)| level)
        };
        assert_eq!([10, 6, 4].map(level), [None, Some(Level::Degraded), Some(Level::Void)]);
    }

    #[test]
    fn too_few_trials_are_counted_of_those_that_were_planned() {
        let mut result = result();
        result.plan.until = Some(Until { precision: 0.05, time_limit_ns: 1 });
        result.precision = Some(Precision { after_ns: 1, widths: Vec::new(), ended: None });
        result.plan.trials = 12;
        result.trials.retain(|trial| trial.kind == TrialKind::Measured);
        result.trials.truncate(1);
        let few = run(&result);
        assert!(about(&few, "1 of at least 12 measured trials").is_some(), "{few:?}");
    }

    #[test]
    fn negative_times_make_their_way_void() {
        let mut result = result();
        assert_eq!(about(&run(&result), "are negative"), None);
        for trial in result.trials.iter_mut().filter(|t| t.kind == TrialKind::Measured) {
            let path = trial.paths.iter_mut().find(|path| path.direction == Direction::Tx).unwrap();
            path.total.negative = path.total.n / 50;
        }
        assert_eq!(about(&run(&result), "are negative"), Some((Level::Void, vec![Part::Tx])));
    }
}
