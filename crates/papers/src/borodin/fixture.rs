//! Simulated records, for the tests of tables, figures and claims.

use netfathom_model::path::{Direction, Tap};
use netfathom_model::plan::{Family, ReversePlan, StackPlan, Variant};
use netfathom_model::record::{
    Indicator, Load, PathSummary, PathTimes, PeakTimes, Phase, PhaseTimes, ProcessorShares, ReverseResult,
    ReverseTrial, Series, StackResult, Trial, VariantResult,
};
use netfathom_model::verdict::Level;
use netfathom_stats::{Moments, Windowed, between_trials, mean};

/// Windows of a trial of ten seconds.
const WINDOWS: usize = 10;
const WINDOW_NS: u64 = 1_000_000_000;

/// A ramp from 10 to 100 messages a second in ten seconds; each trial is given by the time in
/// its first and in its last window, between which it changes evenly, in nanoseconds.
pub fn stack(ways: &[(Direction, &[(i64, i64)])]) -> StackResult {
    planned("ramp:10..100/10s", ways)
}

/// The same of another profile of ten seconds.
pub fn planned(profile: &str, ways: &[(Direction, &[(i64, i64)])]) -> StackResult {
    let plan = StackPlan::one_trial(profile.parse().unwrap());
    let trials = ways.iter().map(|(_, ends)| ends.len()).max().unwrap_or(0);
    let path = |trial: usize| {
        let of = |(direction, ends): &(Direction, &[(i64, i64)])| {
            Some(path(*direction, ends.get(trial).copied()?))
        };
        ways.iter().filter_map(of).collect()
    };
    let trial = |i: usize| Trial {
        index: i as u32,
        tap: Some(Tap::Bpf),
        load: Load { planned: 550, sent: 550, ..Load::default() },
        paths: path(i),
        ..Trial::default()
    };
    let trials: Vec<Trial> = (0..trials).map(trial).collect();
    let summaries = ways.iter().map(|&(direction, _)| summary(direction, &trials)).collect();
    StackResult {
        plan,
        tap: Tap::Bpf,
        left_out: Vec::new(),
        trials,
        summaries,
        self_cost: None,
        cross_checks: Vec::new(),
        taps: Vec::new(),
        precision: None,
    }
}

fn path(direction: Direction, (first, last): (i64, i64)) -> PathTimes {
    let mut times = Windowed::new(5, WINDOWS);
    for window in 0..WINDOWS {
        let value = first + (last - first) * window as i64 / (WINDOWS as i64 - 1);
        times.add_many(window, value, 10 * (window as u64 + 1));
    }
    let peak: Moments = times.windows[WINDOWS - 1];
    PathTimes {
        direction,
        total: (&times.distribution).into(),
        peak: Some(PeakTimes {
            count: peak.n,
            mean_ns: peak.mean().unwrap(),
            min_ns: peak.min,
            max_ns: peak.max,
            mean_error_ns: peak.mean_error(),
            reached_per_s: 95.0,
        }),
        undisturbed: None,
        stages: Vec::new(),
        series: Series::of(WINDOW_NS, &times.windows),
    }
}

fn summary(direction: Direction, trials: &[Trial]) -> PathSummary {
    let paths = || trials.iter().flat_map(|t| &t.paths).filter(move |p| p.direction == direction);
    let indicator = |rows: Vec<(f64, i64, i64)>| {
        let means: Vec<f64> = rows.iter().map(|r| r.0).collect();
        Indicator {
            trials: rows.len() as u32,
            mean_ns: mean(&means),
            min_ns: rows.iter().map(|r| r.1).min().unwrap(),
            max_ns: rows.iter().map(|r| r.2).max().unwrap(),
            between_trials_ns: between_trials(&means).map(|e| e.half_width),
        }
    };
    let overall = indicator(paths().map(|p| (p.total.mean_ns, p.total.min_ns, p.total.max_ns)).collect());
    let peaks = paths().filter_map(|p| p.peak).map(|p| (p.mean_ns, p.min_ns, p.max_ns));
    let peak = indicator(peaks.collect());
    PathSummary {
        level: Level::default(),
        direction,
        overall,
        peak: Some(peak),
        theoretical_per_s: Some(1e9 / peak.mean_ns),
        reached_per_s: Some(95.0),
        total: paths().next().unwrap().total.clone(),
        stages: Vec::new(),
        undisturbed: None,
    }
}

/// Answers that the sender does not read; each trial is given by its send rates in the four phases.
pub fn reverse(trials: &[[f64; 4]]) -> ReverseResult {
    let plan = ReversePlan {
        family: Family::Ipv4,
        variants: vec![Variant::Ignored],
        trials: trials.len() as u32,
        duration_ns: 4 * WINDOW_NS,
        inbound_from_per_s: 1.0,
        inbound_peak_per_s: 2.0,
        size_bytes: 64,
        tapped: false,
        cpus: None,
        to: None,
        allow: None,
    };
    let trials = trials.iter().enumerate().map(|(i, &rates)| reverse_trial(i as u32, rates)).collect();
    let variants = vec![VariantResult { variant: Variant::Ignored, trials, summary: None }];
    ReverseResult { plan, tap: None, left_out: Vec::new(), steered: true, variants, hosts: None }
}

/// The same with stack times; each trial is given by those of the four phases, in microseconds.
pub fn timed(mut result: ReverseResult, times_us: &[[f64; 4]]) -> ReverseResult {
    for (trial, us) in result.variants[0].trials.iter_mut().zip(times_us) {
        let mut windows = Windowed::new(5, us.len());
        for (window, us) in us.iter().enumerate() {
            windows.add_many(window, (us * 1e3) as i64, 10);
            trial.phases[window].stack_mean_ns = Some(us * 1e3);
        }
        trial.stack = Some(Series::of(WINDOW_NS, &windows.windows));
    }
    result
}

fn reverse_trial(index: u32, rates: [f64; 4]) -> ReverseTrial {
    let times = |phase: Phase| PhaseTimes {
        phase,
        start_ns: phase as u64 * WINDOW_NS,
        end_ns: (phase as u64 + 1) * WINDOW_NS,
        outgoing_per_s: rates[phase as usize],
        inbound_per_s: 0.0,
        stack_mean_ns: None,
        stages: Vec::new(),
        processor: ProcessorShares::default(),
        sender_waited: 0.0,
    };
    ReverseTrial {
        index,
        window_ns: WINDOW_NS,
        outgoing: rates.map(|rate| rate as u64).into(),
        inbound: vec![0, 50, 100, 0],
        phases: Phase::ALL.map(times).into(),
        ..ReverseTrial::default()
    }
}
