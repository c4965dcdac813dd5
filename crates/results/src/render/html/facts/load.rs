//! What follows from a record of `netfathom load send`.

use netfathom_model::plan::{EngineChoice, LoadPlan, ReceiveChoice, Spin};
use netfathom_model::record::{Distribution, Echo, LoadResult, LoadTrial, LoadTrialKind};
use serde::Serialize;

use super::histogram::{Histogram, histogram};
use super::{Closing, Piece, PlanWords, merged, pieces, processors, quantiles, read, values};
use crate::render::html::answer::place;

#[derive(Serialize)]
pub struct LoadFacts {
    /// The profile's linear pieces.
    pieces: Vec<Piece>,
    /// Length of a trial.
    duration_s: f64,
    plan: PlanWords,
    /// The quantiles of every curve.
    quantiles: Vec<f64>,
    /// Lag and send call, all loaded trials merged.
    lag: Vec<Option<i64>>,
    send_call: Vec<Option<i64>>,
    /// What answers took.
    echo: Vec<EchoCurve>,
    /// Lag over the run, all loaded trials merged window by window.
    windows: Windows,
    /// Intervals as wanted and as achieved.
    intervals: Histogram,
    /// Lag.
    lags: Histogram,
    /// One a trial.
    accounting: Vec<Closing>,
}

#[derive(Serialize)]
struct EchoCurve {
    what: &'static str,
    loaded: bool,
    values: Vec<Option<i64>>,
}

#[derive(Default, Serialize)]
struct Windows {
    window_ns: u64,
    n: Vec<u64>,
    p50_ns: Vec<Option<i64>>,
    p99_ns: Vec<Option<i64>>,
}

impl LoadFacts {
    pub fn of(load: &LoadResult) -> Self {
        let quantiles = quantiles();
        let loaded: Vec<&LoadTrial> =
            load.trials.iter().filter(|t| t.kind == LoadTrialKind::Loaded).collect();
        let all = |of: fn(&LoadTrial) -> &Distribution| merged(loaded.iter().map(|t| of(t)));
        let (achieved, wanted) = (all(|t| &t.intervals), all(|t| &t.wanted_intervals));
        let lag = all(|t| &t.load.lag);
        Self {
            pieces: pieces(&load.plan.profile),
            duration_s: load.plan.profile.duration_ns() as f64 / 1e9,
            plan: plan_words(&load.plan),
            send_call: values(&all(|t| &t.load.send_call), &quantiles),
            echo: echo_curves(load, &quantiles),
            windows: windows(&loaded),
            intervals: histogram(&[("wanted", &wanted), ("achieved", &achieved)]),
            lags: histogram(&[("lag", &lag)]),
            lag: values(&lag, &quantiles),
            accounting: load.trials.iter().map(|t| Closing::of(&t.accounting)).collect(),
            quantiles,
        }
    }
}

fn echo_curves(load: &LoadResult, quantiles: &[f64]) -> Vec<EchoCurve> {
    let Some(summary) = &load.summary else { return Vec::new() };
    let curve =
        |what, loaded, d: &Distribution| EchoCurve { what, loaded, values: values(&read(d), quantiles) };
    let of = |echo: &Echo, loaded| {
        [curve("response", loaded, &echo.response), curve("service", loaded, &echo.service)]
    };
    let idle = summary.echo_idle.iter().flat_map(|e| of(e, false));
    idle.chain(summary.echo_loaded.iter().flat_map(|e| of(e, true))).collect()
}

/// Windows of one length; those of another cannot be laid upon each other.
fn windows(trials: &[&LoadTrial]) -> Windows {
    let Some(window_ns) = trials.first().map(|t| t.lag_windows.window_ns) else { return Windows::default() };
    let same: Vec<_> = trials.iter().map(|t| &t.lag_windows).filter(|w| w.window_ns == window_ns).collect();
    let length = same.iter().map(|w| w.windows.len()).max().unwrap_or(0);
    let mut all = Windows { window_ns, ..Windows::default() };
    for i in 0..length {
        let d = merged(same.iter().filter_map(|w| w.windows.get(i)));
        all.n.push(d.moments.n);
        all.p50_ns.push(d.quantile(0.5));
        all.p99_ns.push(d.quantile(0.99));
    }
    all
}

fn plan_words(plan: &LoadPlan) -> PlanWords {
    let engine = match plan.engine {
        EngineChoice::Auto => "the lowest that is in time",
        EngineChoice::Only(engine) => engine.name(),
    };
    let receive = match plan.receive {
        ReceiveChoice::Auto => "the one that matches the engine",
        ReceiveChoice::Only(receive) => receive.name(),
    };
    let waiting = match plan.spin {
        Spin::Auto => "sleeps while it is far, spins the last stretch",
        Spin::Never => "only sleeps",
    };
    let yes = |it: bool| if it { "yes" } else { "no" }.to_owned();
    vec![
        ("place", place(plan.place)),
        ("profile", plan.profile.to_string()),
        ("trials", plan.trials.to_string()),
        ("engine asked for", engine.into()),
        ("receive asked for", receive.into()),
        ("workers", plan.workers.to_string()),
        ("a worker", waiting.into()),
        ("echo", yes(plan.echo)),
        ("one way", yes(plan.one_way)),
        ("size", format!("{} bytes of UDP payload", plan.size_bytes)),
        ("processors", processors(&plan.cpus)),
        ("port", if plan.port == 0 { "a free one".into() } else { plan.port.to_string() }),
        ("seed", plan.seed.to_string()),
    ]
}
