//! Of `netfathom stack`.

use netfathom_model::path::{Direction, Stage};
use netfathom_model::plan::Place;
use netfathom_model::profile::Profile;
use netfathom_model::record::{
    Distribution, PathTimes, StackResult, StageOutcome, StageSummaryTimes, Trial, TrialKind, Value as Of,
};
use netfathom_model::verdict::{Level, Part, Verdict};
use serde_json::{Value, json};

use super::{Curve, Figures, Histogram, MAIN, Pooled, Quantity, of_times};

/// A message with a higher number is not looked up in the plan, which may have to count up to it.
const MOST_COUNTED: u64 = 10_000_000;

/// What a run with the times of single messages says of all of them.
#[derive(Clone, Copy)]
pub struct Sampled<'a> {
    pub trials: &'a [Trial],
    pub size_bytes: usize,
    /// Whether another host sent them: when they were sent is by that host's clock.
    pub from_afar: bool,
    profile: &'a Profile,
    seed: u64,
}

impl Sampled<'_> {
    /// When a message is to be sent, from the trial's start; 0 where the plan has no such message.
    pub fn due_ns(&self, number: u64) -> i64 {
        if number > MOST_COUNTED {
            return 0;
        }
        let due = self.profile.due_of(self.seed, [number]).pop().flatten();
        due.and_then(|due| i64::try_from(due).ok()).unwrap_or(0)
    }
}

fn measured(result: &StackResult) -> impl Iterator<Item = &Trial> {
    result.trials.iter().filter(|trial| trial.kind == TrialKind::Measured)
}

fn paths(result: &StackResult, direction: Direction) -> Vec<&PathTimes> {
    measured(result).flat_map(|trial| &trial.paths).filter(|path| path.direction == direction).collect()
}

/// Whether a trial has undisturbed messages that stand for the others.
fn stand(paths: &[&PathTimes]) -> bool {
    undisturbed(paths).next().is_some()
}

impl Figures for StackResult {
    fn sampled(&self) -> Option<Sampled<'_>> {
        let plan = &self.plan;
        Some(Sampled {
            trials: &self.trials,
            size_bytes: plan.size_bytes,
            from_afar: matches!(plan.place, Place::Listen(_)),
            profile: &plan.profile,
            seed: plan.seed,
        })
    }

    /// A time of all messages rests on the load, too, where its way was judged by others.
    fn level(&self, verdict: &Verdict, name: &str) -> Level {
        let words: Vec<&str> = name.split('.').collect();
        let Some(way) = [Direction::Tx, Direction::Rx].into_iter().find(|way| way.name() == words[0]) else {
            return verdict.of(Part::Load);
        };
        let (is_of_others, value) = match words[1..] {
            ["undisturbed", value] => (false, Of::named(value)),
            [value] => (stand(&paths(self, way)), Of::named(value)),
            _ => (stand(&paths(self, way)), None),
        };
        let of_load = if is_of_others { verdict.of(Part::Load) } else { Level::Valid };
        of_load.max(verdict.of_value(way.into(), value))
    }

    /// Stack time of each direction, its stages, and the rate that was reached.
    fn quantities(&self) -> Vec<Quantity> {
        let mut all = Vec::new();
        for direction in [Direction::Tx, Direction::Rx] {
            let paths = paths(self, direction);
            // What the answer is of.
            let stand =
                self.summaries.iter().any(|s| s.direction == direction && s.stands_for_all().is_some());
            let (of_all, of_undisturbed) = if stand { (&[][..], MAIN) } else { (MAIN, &[][..]) };
            let (name, title) = (direction.name(), format!("time to {}", direction.verb()));
            all.extend(of_times(name, &title, of_all, paths.iter().map(|path| &path.total)));
            let (name, title) = (format!("{name}.undisturbed"), format!("{title}, undisturbed"));
            all.extend(of_times(&name, &title, of_undisturbed, undisturbed(&paths)));
            let stages = direction.stages().iter().filter(|&&stage| self.tap.has(stage));
            all.extend(stages.map(|&stage| of_stage(direction, stage, &paths)));
        }
        all.push(Quantity::rate("rate", "messages accepted", measured(self).filter_map(rate)));
        all
    }

    fn choices(&self) -> Vec<(&'static str, Value)> {
        vec![("tap", json!(self.tap))]
    }

    fn histograms(&self) -> Vec<Histogram<'_>> {
        self.trials.iter().flat_map(histograms_of).collect()
    }

    fn curves(&self) -> Vec<Curve> {
        self.trials.iter().flat_map(curves_of).collect()
    }

    fn pooled(&self) -> Vec<Pooled> {
        let mut all = Vec::new();
        for path in &self.summaries {
            let way = path.direction.name();
            all.push(Pooled::new(format!("{way}, stack time"), &path.total));
            for stage in &path.stages {
                if let StageSummaryTimes::Measured(times) = &stage.times {
                    all.push(Pooled::new(format!("{way}, stage {}", stage.stage.name()), times));
                }
            }
        }
        all
    }
}

/// Where they stand for the others.
fn undisturbed<'a>(paths: &[&'a PathTimes]) -> impl Iterator<Item = &'a Distribution> + Clone {
    paths.iter().filter_map(|p| p.undisturbed.as_ref()).filter(|u| u.stand()).map(|u| &u.times)
}

fn of_stage(direction: Direction, stage: Stage, paths: &[&PathTimes]) -> Quantity {
    let times = paths.iter().flat_map(|path| &path.stages).filter(|times| times.stage == stage);
    let passed = times.filter_map(|times| times.times.distribution()).filter(|d| d.n > 0);
    let name = format!("{}.{}.mean", direction.name(), stage.name());
    Quantity::time(name, format!("stage {}, mean", stage.name()), passed.map(|d| d.mean_ns))
}

fn rate(trial: &Trial) -> Option<f64> {
    (trial.load.span_ns > 0).then(|| trial.load.sent as f64 * 1e9 / trial.load.span_ns as f64)
}

/// What stands before the names of trials that the quantities leave out.
pub fn trial_prefix(trial: &Trial) -> &'static str {
    match trial.kind {
        TrialKind::Measured => "",
        TrialKind::Baseline => "control.",
        TrialKind::CrossCheck => "witness.",
        TrialKind::Alternating => "alternating.",
    }
}

fn histograms_of(trial: &Trial) -> Vec<Histogram<'_>> {
    let set = |name: String, times| Histogram {
        name: format!("{}{name}", trial_prefix(trial)),
        trial: Some(trial.index),
        span_ns: Some((trial.started_after_ns, trial.load.span_ns)),
        times,
    };
    let mut sets = Vec::new();
    for path in &trial.paths {
        let way = path.direction.name();
        sets.push(set(way.into(), &path.total));
        let staged = path.stages.iter().filter_map(|s| Some((s.stage.name(), s.times.distribution()?)));
        sets.extend(staged.map(|(stage, times)| set(format!("{way}.{stage}"), times)));
    }
    sets.push(set("lag".into(), &trial.load.lag));
    sets.push(set("send_call".into(), &trial.load.send_call));
    sets
}

fn curves_of(trial: &Trial) -> Vec<Curve> {
    let kind = trial_prefix(trial);
    let mut curves = Vec::from(Curve::departures(kind, trial.index, &trial.load));
    for path in &trial.paths {
        let way = path.direction.name();
        curves.push(Curve::times(format!("{kind}{way}"), Some(trial.index), &path.series));
        for stage in &path.stages {
            if let StageOutcome::Measured { series, .. } = &stage.times {
                let name = format!("{kind}{way}.{}", stage.stage.name());
                curves.push(Curve::times(name, Some(trial.index), series));
            }
        }
    }
    curves
}
