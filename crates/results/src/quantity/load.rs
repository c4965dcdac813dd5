//! Of `netfathom load send`.

use netfathom_model::accounting::Fate;
use netfathom_model::record::{Distribution, Echo, LoadResult, LoadSummary, LoadTrial, LoadTrialKind};
use netfathom_model::verdict::{Level, Part, Verdict};
use serde_json::{Value, json};

use super::{Curve, Figures, Histogram, Pooled, Quantity, of_times};

type OfEcho = (&'static str, fn(&Echo) -> &Distribution);

impl Figures for LoadResult {
    /// The rate that was reached, how late messages left, how many were lost, and what answers took.
    fn quantities(&self) -> Vec<Quantity> {
        let of_kind = |kind| self.trials.iter().filter(move |trial| trial.kind == kind).collect::<Vec<_>>();
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
        all.extend(of_times("lag", "lag behind the plan", &["p99"], loaded.iter().map(|t| &t.load.lag)));
        all.extend(echoes("echo", "under load", &loaded));
        all.extend(echoes("echo.idle", "at rest", &of_kind(LoadTrialKind::Idle)));
        all
    }

    fn level(&self, verdict: &Verdict, name: &str) -> Level {
        verdict.of(match name.split('.').next() {
            Some("lost") => Part::Loss,
            Some("missed" | "lag") => Part::Lateness,
            _ => Part::Load,
        })
    }

    fn choices(&self) -> Vec<(&'static str, Value)> {
        vec![("engine", json!(self.engine)), ("receive", json!(self.receive))]
    }

    fn histograms(&self) -> Vec<Histogram<'_>> {
        self.trials.iter().flat_map(histograms_of).collect()
    }

    fn curves(&self) -> Vec<Curve> {
        self.trials.iter().flat_map(curves_of).collect()
    }

    fn pooled(&self) -> Vec<Pooled> {
        let of_summary = |summary: &LoadSummary| {
            let answer = summary.echo_loaded.as_ref();
            let answer = answer.map(|echo| Pooled::new("response time under load".into(), &echo.response));
            std::iter::once(Pooled::new("lag".into(), &summary.lag)).chain(answer).collect::<Vec<_>>()
        };
        self.summary.iter().flat_map(of_summary).collect()
    }
}

fn echoes(prefix: &str, when: &str, trials: &[&LoadTrial]) -> Vec<Quantity> {
    let kinds: [OfEcho; 2] = [("response", |echo| &echo.response), ("service", |echo| &echo.service)];
    let of_kind = |(kind, times): OfEcho| {
        // What one who needs the answer waits for.
        let main: &[&str] = if prefix == "echo" && kind == "response" { &["p99"] } else { &[] };
        let answered = trials.iter().filter_map(|t| t.echo.as_ref()).map(times);
        let [_mean, quantiles @ ..] =
            of_times(&format!("{prefix}.{kind}"), &format!("{kind} time {when}"), main, answered);
        quantiles
    };
    kinds.into_iter().flat_map(of_kind).collect()
}

/// `None` where the receiver did not report what arrived.
fn lost(trial: &LoadTrial) -> Option<f64> {
    let known = trial.accounting.sent > 0 && trial.accounting.count(&Fate::Unknown) == 0;
    let delivered = trial.accounting.count(&Fate::Delivered);
    known.then(|| 1.0 - delivered as f64 / trial.accounting.sent as f64)
}

fn missed(trial: &LoadTrial) -> Option<f64> {
    (trial.load.sent > 0).then(|| trial.load.missed_slots as f64 / trial.load.sent as f64)
}

fn send_call(trial: &LoadTrial) -> Option<f64> {
    (trial.load.send_call.n > 0).then_some(trial.load.send_call.mean_ns)
}

fn histograms_of(trial: &LoadTrial) -> Vec<Histogram<'_>> {
    let idle = trial.kind == LoadTrialKind::Idle;
    let set = |name: &str, times| Histogram {
        name: name.into(),
        trial: Some(trial.index),
        span_ns: Some((trial.started_after_ns, trial.load.span_ns)),
        times,
    };
    let mut sets = Vec::new();
    if !idle {
        sets.extend([
            set("lag", &trial.load.lag),
            set("send_call", &trial.load.send_call),
            set("intervals", &trial.intervals),
            set("intervals.wanted", &trial.wanted_intervals),
        ]);
    }
    if let Some(echo) = &trial.echo {
        sets.extend(match idle {
            false => [set("echo.response", &echo.response), set("echo.service", &echo.service)],
            true => [set("echo.idle.response", &echo.response), set("echo.idle.service", &echo.service)],
        });
    }
    sets
}

fn curves_of(trial: &LoadTrial) -> [Curve; 2] {
    let prefix = match trial.kind {
        LoadTrialKind::Loaded => "",
        LoadTrialKind::Idle => "idle.",
    };
    Curve::departures(prefix, trial.index, &trial.load)
}
