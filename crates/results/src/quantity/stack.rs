//! Of `netfathom stack`.

use netfathom_model::path::{Direction, Stage};
use netfathom_model::record::{Distribution, PathTimes, StackResult, Trial, TrialKind};

use super::{Better, Quantity, Unit};

type OfTimes = fn(&Distribution) -> f64;
const OF_TIMES: [(&str, OfTimes); 4] = [
    ("mean", |d| d.mean_ns),
    ("p50", |d| d.p50_ns as f64),
    ("p99", |d| d.p99_ns as f64),
    ("p999", |d| d.p999_ns as f64),
];

/// Stack time of each direction, its stages, and the rate that was reached.
pub fn of(result: &StackResult) -> Vec<Quantity> {
    let trials: Vec<&Trial> = result.trials.iter().filter(|t| t.kind == TrialKind::Measured).collect();
    let mut all = Vec::new();
    for direction in [Direction::Tx, Direction::Rx] {
        let way = match direction {
            Direction::Tx => "out",
            Direction::Rx => "in",
        };
        let paths: Vec<&PathTimes> =
            trials.iter().flat_map(|t| &t.paths).filter(|path| path.direction == direction).collect();
        all.extend(OF_TIMES.map(|(what, value)| Quantity {
            name: format!("{}.{what}", direction.name()),
            title: format!("stack time {way}, {what}"),
            unit: Unit::Nanoseconds,
            better: Better::Less,
            main: what == "mean" || what == "p99",
            trials: paths.iter().filter(|path| path.total.n > 0).map(|path| value(&path.total)).collect(),
        }));
        all.extend(direction.stages().iter().map(|&stage| of_stage(direction, stage, &paths)));
    }
    all.push(Quantity {
        name: "rate".into(),
        title: "messages accepted".into(),
        unit: Unit::PerSecond,
        better: Better::More,
        main: false,
        trials: trials.iter().filter_map(|trial| rate(trial)).collect(),
    });
    all
}

fn of_stage(direction: Direction, stage: Stage, paths: &[&PathTimes]) -> Quantity {
    let times = paths.iter().flat_map(|path| &path.stages).filter(|times| times.stage == stage);
    let passed = times.filter_map(|times| times.times.distribution()).filter(|d| d.n > 0);
    Quantity {
        name: format!("{}.{}.mean", direction.name(), stage.name()),
        title: format!("stage {}, mean", stage.name()),
        unit: Unit::Nanoseconds,
        better: Better::Less,
        main: false,
        trials: passed.map(|d| d.mean_ns).collect(),
    }
}

fn rate(trial: &Trial) -> Option<f64> {
    (trial.load.span_ns > 0).then(|| trial.load.sent as f64 * 1e9 / trial.load.span_ns as f64)
}
