//! Of `netfathom load send`.

use netfathom_model::accounting::Fate;
use netfathom_model::record::{Distribution, Echo, LoadResult, LoadTrial, LoadTrialKind};

use super::Quantity;

type OfTimes = (&'static str, fn(&Distribution) -> f64);
const OF_LAG: [OfTimes; 4] = [
    ("mean", |d| d.mean_ns),
    ("p50", |d| d.p50_ns as f64),
    ("p99", |d| d.p99_ns as f64),
    ("p999", |d| d.p999_ns as f64),
];
type OfEcho = (&'static str, fn(&Echo) -> &Distribution);
const OF_ECHO: [OfTimes; 3] =
    [("p50", |d| d.p50_ns as f64), ("p99", |d| d.p99_ns as f64), ("p999", |d| d.p999_ns as f64)];

/// The rate that was reached, how late messages left, how many were lost, and what answers took.
pub fn of(result: &LoadResult) -> Vec<Quantity> {
    let of_kind = |kind| result.trials.iter().filter(move |trial| trial.kind == kind).collect::<Vec<_>>();
    let loaded = of_kind(LoadTrialKind::Loaded);
    let with = |value: fn(&LoadTrial) -> Option<f64>| -> Vec<f64> {
        loaded.iter().filter_map(|trial| value(trial)).collect()
    };
    let mut all = vec![
        Quantity::rate("rate", "messages that left", loaded.iter().map(|t| t.reached_per_s)).main(true),
        Quantity::share("lost", "messages that did not arrive", with(lost)).main(true),
        Quantity::share("missed", "messages that left after the next one was due", with(missed)),
        Quantity::time("send_call.mean", "a send call, mean", with(send_call)),
    ];
    all.extend(OF_LAG.map(|(what, value)| {
        let times = loaded.iter().filter(|t| t.load.lag.n > 0).map(|t| value(&t.load.lag));
        Quantity::time(format!("lag.{what}"), format!("lag behind the plan, {what}"), times)
            .main(what == "p99")
    }));
    all.extend(echoes("echo", "under load", &loaded));
    all.extend(echoes("echo.idle", "at rest", &of_kind(LoadTrialKind::Idle)));
    all
}

fn echoes(prefix: &str, when: &str, trials: &[&LoadTrial]) -> Vec<Quantity> {
    let kinds: [OfEcho; 2] = [("response", |echo| &echo.response), ("service", |echo| &echo.service)];
    let mut all = Vec::new();
    for (kind, times) in kinds {
        for (what, value) in OF_ECHO {
            let answered = trials.iter().filter_map(|t| t.echo.as_ref()).map(times).filter(|d| d.n > 0);
            all.push(
                Quantity::time(
                    format!("{prefix}.{kind}.{what}"),
                    format!("{kind} time {when}, {what}"),
                    answered.map(value),
                )
                // What one who needs the answer waits for.
                .main(prefix == "echo" && kind == "response" && what == "p99"),
            );
        }
    }
    all
}

/// `None` where nobody told what arrived.
fn lost(trial: &LoadTrial) -> Option<f64> {
    let known = trial.accounting.sent > 0 && trial.accounting.count(&Fate::Untold) == 0;
    let delivered = trial.accounting.count(&Fate::Delivered);
    known.then(|| 1.0 - delivered as f64 / trial.accounting.sent as f64)
}

fn missed(trial: &LoadTrial) -> Option<f64> {
    (trial.load.sent > 0).then(|| trial.load.missed_slots as f64 / trial.load.sent as f64)
}

fn send_call(trial: &LoadTrial) -> Option<f64> {
    (trial.load.send_call.n > 0).then_some(trial.load.send_call.mean_ns)
}
