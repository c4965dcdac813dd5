//! From the trials of a variant to what they say together.

use netfathom_model::path::Stage;
use netfathom_model::record::{
    Phase, PhaseTimes, ProcessorShares, ReverseSummary, ReverseTrial, StageChange,
};
use netfathom_stats::between_trials;

/// All trials of a variant; `None` before the first.
pub fn summarize(trials: &[ReverseTrial]) -> Option<ReverseSummary> {
    let in_phase = |phase: Phase| -> Vec<&PhaseTimes> {
        trials.iter().flat_map(|trial| &trial.phases).filter(|times| times.phase == phase).collect()
    };
    let phases = Phase::ALL.map(in_phase);
    let each = |value: fn(&PhaseTimes) -> f64| {
        [0, 1, 2, 3].map(|i: usize| mean(phases[i].iter().map(|times| value(times))).unwrap_or(0.0))
    };
    let drops: Vec<f64> = trials.iter().map(|t| 1.0 - part(t, Phase::Peak)).collect();
    let recoveries: Vec<f64> = trials.iter().map(|t| part(t, Phase::After)).collect();
    let stack = [0, 1, 2, 3].map(|i: usize| mean(phases[i].iter().filter_map(|times| times.stack_mean_ns)));
    Some(ReverseSummary {
        trials: trials.len() as u32,
        outgoing_per_s: each(|times| times.outgoing_per_s),
        inbound_per_s: each(|times| times.inbound_per_s),
        drop: mean(drops.iter().copied())?,
        drop_interval: between_trials(&drops).map(Into::into),
        recovery: mean(recoveries.iter().copied())?,
        recovery_interval: between_trials(&recoveries).map(Into::into),
        stack_mean_ns: match stack {
            [Some(before), Some(rise), Some(peak), Some(after)] => Some([before, rise, peak, after]),
            _ => None,
        },
        stages: stages(&phases[Phase::Before as usize], &phases[Phase::Peak as usize]),
        processor: [0, 1, 2, 3].map(|i: usize| processor(&phases[i])),
        sender_waited: each(|times| times.sender_waited),
    })
}

fn mean(values: impl Iterator<Item = f64>) -> Option<f64> {
    let (mut count, mut sum) = (0_u32, 0.0);
    values.for_each(|value| (count, sum) = (count + 1, sum + value));
    (count > 0).then(|| sum / f64::from(count))
}

/// The outgoing rate of a part of a trial, of that before; 0 where there was none, which is
/// as if everything had been taken.
fn part(trial: &ReverseTrial, phase: Phase) -> f64 {
    let rate = |phase| trial.phases.iter().find(|t| t.phase == phase).map_or(0.0, |t| t.outgoing_per_s);
    let before = rate(Phase::Before);
    if before > 0.0 { rate(phase) / before } else { 0.0 }
}

/// The stages that were passed both before and at the peak.
fn stages(before: &[&PhaseTimes], peak: &[&PhaseTimes]) -> Vec<StageChange> {
    let of = |times: &[&PhaseTimes], stage: Stage| {
        let found = times.iter().flat_map(|t| &t.stages).filter(|s| s.stage == stage).map(|s| s.mean_ns);
        mean(found)
    };
    let change = |&stage: &Stage| {
        Some(StageChange { stage, before_ns: of(before, stage)?, peak_ns: of(peak, stage)? })
    };
    netfathom_model::path::Direction::Tx.stages().iter().filter_map(change).collect()
}

fn processor(times: &[&PhaseTimes]) -> ProcessorShares {
    let of = |share: fn(&ProcessorShares) -> f64| {
        mean(times.iter().map(|t| share(&t.processor))).unwrap_or_default()
    };
    ProcessorShares {
        user: of(|p| p.user),
        system: of(|p| p.system),
        irq: of(|p| p.irq),
        softirq: of(|p| p.softirq),
        idle: of(|p| p.idle),
        steal: of(|p| p.steal),
    }
}

#[cfg(test)]
mod tests {
    use netfathom_model::record::StageMean;

    use super::*;

    fn trial(outgoing: [f64; 4], socket_ns: [Option<f64>; 4]) -> ReverseTrial {
        let times = |phase: Phase| PhaseTimes {
            phase,
            start_ns: 0,
            end_ns: 0,
            outgoing_per_s: outgoing[phase as usize],
            inbound_per_s: 10.0 * outgoing[phase as usize],
            stack_mean_ns: socket_ns[phase as usize].map(|ns| ns + 1.0),
            stages: socket_ns[phase as usize]
                .map(|mean_ns| StageMean { stage: Stage::Socket, mean_ns })
                .into_iter()
                .collect(),
            processor: ProcessorShares { softirq: 0.1 * phase as usize as f64, ..Default::default() },
            sender_waited: 0.25,
        };
        ReverseTrial {
            window_ns: 1,
            phases: Phase::ALL.map(times).into(),
            sent: 1,
            arrived: 1,
            ..ReverseTrial::default()
        }
    }

    #[test]
    fn drop_and_recovery_are_those_of_each_trial() {
        let trials = [
            trial([100.0, 80.0, 60.0, 100.0], [Some(10.0), Some(11.0), Some(20.0), Some(10.0)]),
            trial([1000.0, 800.0, 500.0, 900.0], [Some(12.0), Some(11.0), Some(24.0), Some(10.0)]),
        ];
        let summary = summarize(&trials).unwrap();
        assert!((summary.drop - 0.45).abs() < 1e-12 && (summary.recovery - 0.95).abs() < 1e-12);
        assert_eq!(summary.outgoing_per_s, [550.0, 440.0, 280.0, 500.0]);
        assert!(summary.drop_interval.unwrap().holds(0.4) && summary.recovery_interval.is_some());
        assert_eq!(summary.stack_mean_ns, Some([12.0, 12.0, 23.0, 11.0]));
        let change = StageChange { stage: Stage::Socket, before_ns: 11.0, peak_ns: 22.0 };
        assert_eq!(summary.stages, [change]);
        assert!((summary.processor[2].softirq - 0.2).abs() < 1e-12);
        assert_eq!(summary.sender_waited, [0.25; 4]);
    }

    #[test]
    fn one_trial_has_no_interval_and_none_no_summary() {
        let summary = summarize(&[trial([100.0, 80.0, 50.0, 100.0], [None; 4])]).unwrap();
        assert_eq!((summary.drop, summary.drop_interval), (0.5, None));
        assert_eq!((summary.stack_mean_ns, summary.stages.len()), (None, 0));
        assert_eq!(summarize(&[]), None);
    }

    #[test]
    fn where_nothing_left_before_nothing_is_divided_by() {
        let summary = summarize(&[trial([0.0, 80.0, 50.0, 100.0], [None; 4])]).unwrap();
        assert_eq!((summary.drop, summary.recovery), (1.0, 0.0));
    }
}
