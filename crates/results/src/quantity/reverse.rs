//! Of `netfathom reverse`.

use netfathom_model::record::{Phase, PhaseTimes, ReverseResult, ReverseTrial, VariantResult};
use serde_json::{Value, json};

use super::{Better, Curve, Figures, Make, Quantity, Unit, word};

impl Figures for ReverseResult {
    /// What incoming messages take from the outgoing rate, by what becomes of them.
    fn quantities(&self) -> Vec<Quantity> {
        self.variants.iter().flat_map(of_variant).collect()
    }

    fn choices(&self) -> Vec<(&'static str, Value)> {
        vec![("tap", json!(self.tap)), ("steered", json!(self.steered))]
    }

    fn curves(&self) -> Vec<Curve> {
        self.variants.iter().flat_map(curves_of).collect()
    }
}

fn of_variant(variant: &VariantResult) -> Vec<Quantity> {
    let name = variant.variant.name();
    let prefix = word(name);
    let parts = |phase| variant.trials.iter().filter_map(move |trial| part(trial, phase));
    let mut all = vec![
        Quantity::share(
            format!("{prefix}.drop"),
            format!("{name}: part of the outgoing rate that is taken"),
            parts(Phase::Peak).map(|part| 1.0 - part),
        )
        .main(true),
        Quantity::new(
            (format!("{prefix}.recovery"), format!("{name}: outgoing rate afterwards, of that before")),
            (Unit::Ratio, Better::More),
            parts(Phase::After),
        ),
    ];
    all.extend(Phase::ALL.into_iter().flat_map(|phase| of_phase(variant, phase)));
    all
}

fn of_phase(variant: &VariantResult, phase: Phase) -> [Quantity; 4] {
    let (name, at) = (variant.variant.name(), phase.name());
    let of = |make: Make, what: &str, title: &str, value: fn(&PhaseTimes) -> Option<f64>| {
        let values = variant.trials.iter().filter_map(|trial| times(trial, phase)).filter_map(value);
        make(format!("{}.{at}.{what}", word(name)), format!("{name}: {title}, {at}"), values.collect())
    };
    [
        of(Quantity::rate, "rate", "outgoing messages", |t| Some(t.outgoing_per_s))
            .main(phase == Phase::Peak),
        of(Quantity::rate, "inbound", "incoming messages", |t| Some(t.inbound_per_s)),
        of(Quantity::time, "stack.mean", "stack time out", |t| t.stack_mean_ns),
        of(Quantity::share, "waited", "the sender waits for its CPU", |t| Some(t.sender_waited)),
    ]
}

fn times(trial: &ReverseTrial, phase: Phase) -> Option<&PhaseTimes> {
    trial.phases.iter().find(|times| times.phase == phase)
}

/// The outgoing rate of a part of a trial, of that before; `None` where none was before.
fn part(trial: &ReverseTrial, phase: Phase) -> Option<f64> {
    let before = times(trial, Phase::Before)?.outgoing_per_s;
    (before > 0.0).then_some(times(trial, phase)?.outgoing_per_s / before)
}

fn curves_of(variant: &VariantResult) -> Vec<Curve> {
    let prefix = word(variant.variant.name());
    variant.trials.iter().flat_map(|trial| curves_of_trial(&prefix, trial)).collect()
}

fn curves_of_trial(prefix: &str, trial: &ReverseTrial) -> Vec<Curve> {
    let index = Some(trial.index);
    let mut curves = vec![
        Curve::rate(format!("{prefix}.rate"), index, trial.window_ns, &trial.outgoing),
        Curve::rate(format!("{prefix}.inbound"), index, trial.window_ns, &trial.inbound),
    ];
    curves.extend(trial.stack.iter().map(|series| Curve::times(format!("{prefix}.stack"), index, series)));
    curves
}
