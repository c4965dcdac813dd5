//! From trials to the papers' tables.

use netfathom_model::path::{Direction, Stage};
use netfathom_model::record::{
    Indicator, PathSummary, PathTimes, Series, StageOutcome, StageSummary, StageSummaryTimes, Trial,
    TrialKind, Undisturbed, UndisturbedTimes,
};
use netfathom_model::verdict::Level;
use netfathom_stats::{Distribution, Interval, mean};

use crate::load::report::merged;

/// One direction over all measured trials; `None` if no trial has a time of it.
pub fn summarize(direction: Direction, trials: &[Trial], interval: Interval) -> Option<PathSummary> {
    let paths: Vec<&PathTimes> = trials
        .iter()
        .filter(|t| t.kind == TrialKind::Measured)
        .flat_map(|t| &t.paths)
        .filter(|p| p.direction == direction && p.total.n > 0)
        .collect();
    let indicator = |trials: Vec<_>| indicator(&trials, interval);
    let rows = paths.iter().map(|p| (p.total.mean_ns, p.total.min_ns, p.total.max_ns));
    let overall = indicator(rows.collect())?;
    let peaks: Vec<_> = paths.iter().filter_map(|p| p.peak).collect();
    let peak = indicator(peaks.iter().map(|p| (p.mean_ns, p.min_ns, p.max_ns)).collect());
    let reached = peaks.iter().map(|p| p.reached_per_s).sum::<f64>() / peaks.len() as f64;
    let total = merged(paths.iter().map(|p| &p.total))?;
    // On the way in messages overlap: the time of one says nothing about the time between two.
    let inferred = peak.filter(|p| direction == Direction::Tx && p.mean_ns > 0.0).map(|p| 1e9 / p.mean_ns);
    let found = |stage| paths.iter().flat_map(|p| &p.stages).any(|row| row.stage == stage);
    let stages = direction.stages().iter().filter(|&&stage| found(stage));
    let stages = stages.map(|&stage| stage_summary(stage, &paths, &total)).collect();
    Some(PathSummary {
        direction,
        level: Level::default(),
        overall,
        peak,
        theoretical_per_s: inferred,
        reached_per_s: Some(reached).filter(|r| r.is_finite()),
        total: (&total).into(),
        stages,
        undisturbed: undisturbed(direction, &paths, interval),
    })
}

/// Of trials that have some in all, so that their means count alike.
fn undisturbed(direction: Direction, paths: &[&PathTimes], interval: Interval) -> Option<Undisturbed> {
    let of: Vec<_> =
        paths.iter().map(|p| p.undisturbed.as_ref().filter(|u| u.times.n > 0)).collect::<Option<_>>()?;
    let rows = of.iter().map(|u| (u.times.mean_ns, u.times.min_ns, u.times.max_ns));
    let overall = indicator(&rows.collect::<Vec<_>>(), interval)?;
    let times = merged(of.iter().map(|u| &u.times))?;
    let stages = |&stage: &Stage| {
        let of_stage = of.iter().flat_map(|u| &u.stages).filter(|s| s.stage == stage);
        merged(of_stage.filter_map(|s| s.times.distribution())).map(|d| measured(stage, &d, &times))
    };
    let total = UndisturbedTimes {
        judged: of.iter().map(|u| u.judged).sum(),
        times: (&times).into(),
        stages: direction.stages().iter().filter_map(stages).collect(),
        peak: None,
        series: Series::default(),
        missed_slots: of.iter().map(|u| u.missed_slots).sum(),
        lag_p99_of_interval: of.iter().map(|u| u.lag_p99_of_interval).fold(0.0, f64::max),
    };
    Some(Undisturbed { overall, total })
}

/// A row of the papers' summary, from each trial's mean, min and max.
fn indicator(rows: &[(f64, i64, i64)], interval: Interval) -> Option<Indicator> {
    let means: Vec<f64> = rows.iter().map(|r| r.0).collect();
    Some(Indicator {
        trials: rows.len() as u32,
        mean_ns: mean(&means),
        min_ns: rows.iter().map(|r| r.1).min()?,
        max_ns: rows.iter().map(|r| r.2).max()?,
        between_trials_ns: interval(&means).map(|e| e.half_width),
    })
}

fn stage_summary(stage: Stage, paths: &[&PathTimes], total: &Distribution) -> StageSummary {
    let of_stage = || paths.iter().flat_map(|p| &p.stages).filter(|s| s.stage == stage).map(|s| &s.times);
    merged(of_stage().filter_map(|t| t.distribution())).map_or_else(
        || StageSummary {
            stage,
            inside: stage.is_inside(),
            share: None,
            times: StageSummaryTimes::Unavailable(
                of_stage().find_map(reason).unwrap_or_else(|| "no trial has it".into()),
            ),
        },
        |times| measured(stage, &times, total),
    )
}

/// A stage that messages have passed, as a part of their total.
pub fn measured(stage: Stage, times: &Distribution, total: &Distribution) -> StageSummary {
    let share = Some(times.moments.sum as f64 / total.moments.sum as f64).filter(|s| s.is_finite());
    StageSummary {
        stage,
        inside: stage.is_inside(),
        share,
        times: StageSummaryTimes::Measured(Box::new(times.into())),
    }
}

fn reason(times: &StageOutcome) -> Option<String> {
    match times {
        StageOutcome::Unavailable(reason) => Some(reason.clone()),
        StageOutcome::Measured { .. } => None,
    }
}
