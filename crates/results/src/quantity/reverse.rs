//! Of `netfathom reverse`.

use netfathom_model::record::{Phase, PhaseTimes, ReverseResult, ReverseTrial, VariantResult};

use super::{Better, Quantity, Unit, word};

/// What incoming messages take from the outgoing rate, by what becomes of them.
pub fn of(result: &ReverseResult) -> Vec<Quantity> {
    result.variants.iter().flat_map(of_variant).collect()
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
    let named = |what: &str| format!("{}.{at}.{what}", word(name));
    let of = |value: fn(&PhaseTimes) -> Option<f64>| -> Vec<f64> {
        variant.trials.iter().filter_map(|trial| times(trial, phase)).filter_map(value).collect()
    };
    [
        Quantity::rate(
            named("rate"),
            format!("{name}: outgoing messages, {at}"),
            of(|t| Some(t.outgoing_per_s)),
        )
        .main(phase == Phase::Peak),
        Quantity::rate(
            named("inbound"),
            format!("{name}: incoming messages, {at}"),
            of(|t| Some(t.inbound_per_s)),
        ),
        Quantity::time(named("stack.mean"), format!("{name}: stack time out, {at}"), of(|t| t.stack_mean_ns)),
        Quantity::share(
            named("waited"),
            format!("{name}: the sender waits for its processor, {at}"),
            of(|t| Some(t.sender_waited)),
        ),
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
