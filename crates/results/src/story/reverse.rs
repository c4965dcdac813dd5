//! `netfathom reverse`: what load that comes in takes from load that goes out.

use crate::page::{Align, Page, Table};
use netfathom_model::plan::Variant;
use netfathom_model::record::{
    Estimate, Phase, ProcessorShares, Record, ReverseResult, ReverseSummary, VariantResult,
};

use super::{counted, headline, notes, number, trial_number};

pub(super) fn draw(page: &mut Page, record: &Record, result: &ReverseResult) {
    headline::draw(page, record, &answer(result), &there(result));
    overview(page, result);
    for variant in &result.variants {
        draw_variant(page, result, variant);
    }
    notes::findings(page, record);
    notes::left_out(page, &result.left_out);
}

fn there(result: &ReverseResult) -> String {
    let done: usize = result.variants.iter().map(|v| v.trials.len()).sum();
    format!(
        "{done} of {} trials are there",
        result.plan.variants.len() as u64 * u64::from(result.plan.trials)
    )
}

fn summaries(result: &ReverseResult) -> impl Iterator<Item = (Variant, &ReverseSummary)> {
    result.variants.iter().filter_map(|v| v.summary.as_ref().map(|s| (v.variant, s)))
}

/// Such as `at 200k/s inbound the outgoing rate drops by 41.2 % ± 1.1 (ignored), …`.
pub(super) fn answer(result: &ReverseResult) -> String {
    let plan = &result.plan;
    let tap = result.tap.map_or("no tap".into(), |t| format!("{} tap", t.name()));
    let how = format!("{} of each, {} B, {tap}", counted(plan.trials, "trial"), plan.size_bytes);
    let drops: Vec<String> = summaries(result)
        .map(|(v, s)| format!("{} ({})", share(s.drop, s.drop_interval), v.name()))
        .collect();
    if drops.is_empty() {
        return format!("no trial is finished, so there is no answer yet; {how}");
    }
    // An echo comes back as fast as it can, whatever the plan's inbound load.
    let planned = summaries(result).any(|(v, _)| v != Variant::Echo);
    let at = if planned {
        format!("{} inbound", number::rate(plan.inbound_peak_per_s))
    } else {
        "its own echo".into()
    };
    format!("at {at} the outgoing rate drops by {}; {how}", drops.join(", "))
}

/// `41.2 % ± 1.1`.
fn share(value: f64, interval: Option<Estimate>) -> String {
    number::share_interval(value, interval.map(|i| i.half_width))
}

fn overview(page: &mut Page, result: &ReverseResult) {
    if summaries(result).next().is_none() {
        return;
    }
    page.heading("Outgoing rate under inbound load");
    let mut table = Table::new(&[
        ("variant", Align::Left),
        ("before", Align::Right),
        ("at peak", Align::Right),
        ("after", Align::Right),
        ("drop", Align::Right),
        ("recovery", Align::Right),
        ("trials", Align::Right),
    ]);
    for (variant, s) in summaries(result) {
        table.row(&[
            variant.name().to_owned(),
            number::rate(s.outgoing_per_s[0]),
            number::rate(s.outgoing_per_s[2]),
            number::rate(s.outgoing_per_s[3]),
            share(s.drop, s.drop_interval),
            share(s.recovery, s.recovery_interval),
            s.trials.to_string(),
        ]);
    }
    page.table(table);
    page.note("drop: 1 - at peak / before; recovery: after / before; ±: 95 % interval between the trials");
    page.note(if result.steered {
        "incoming packets were handled on the sender's processor"
    } else {
        "incoming packets were handled wherever the kernel put them, not on the sender's processor alone"
    });
}

fn draw_variant(page: &mut Page, result: &ReverseResult, variant: &VariantResult) {
    page.heading(&format!("{}: {}", variant.variant.name(), meaning(variant.variant)));
    let Some(s) = &variant.summary else {
        page.text("n/a: no trial of it is finished");
        return;
    };
    phases(page, s);
    if result.tap.is_none() {
        page.note("stack time: n/a: taken without a tap");
    }
    stages(page, s);
    messages(page, variant);
}

fn meaning(variant: Variant) -> &'static str {
    match variant {
        Variant::Ignored => "nobody reads what comes in",
        Variant::OtherThread => "another thread reads what comes in",
        Variant::SameThread => "the sending thread reads between its messages",
        Variant::Echo => "the far end sends the load back, another thread reads",
    }
}

fn phases(page: &mut Page, s: &ReverseSummary) {
    let columns: Vec<(&'static str, Align)> =
        [("", Align::Left)].into_iter().chain(Phase::ALL.iter().map(|p| (p.name(), Align::Right))).collect();
    let mut table = Table::new(&columns);
    let mut row = |name: &str, cells: [String; 4]| {
        table.row([&[name.to_owned()], cells.as_slice()].concat());
    };
    row("outgoing", s.outgoing_per_s.map(number::rate));
    row("inbound", s.inbound_per_s.map(number::rate));
    if let Some(means) = s.stack_mean_ns {
        row("stack time", means.map(number::mean));
    }
    row("sender waited", s.sender_waited.map(number::percent));
    type Part = fn(&ProcessorShares) -> f64;
    let parts: [(&str, Part); 6] = [
        ("processor: user", |p| p.user),
        ("  system", |p| p.system),
        ("  softirq", |p| p.softirq),
        ("  irq", |p| p.irq),
        ("  idle", |p| p.idle),
        ("  steal", |p| p.steal),
    ];
    for (name, part) in parts {
        row(name, s.processor.each_ref().map(part).map(number::percent));
    }
    page.table(table);
    page.note("sender waited: part of the time in which the sender was ready but did not run");
}

fn stages(page: &mut Page, s: &ReverseSummary) {
    if s.stages.is_empty() {
        return;
    }
    page.gap();
    let mut table = Table::new(&[
        ("stage", Align::Left),
        ("before", Align::Right),
        ("at peak", Align::Right),
        ("change", Align::Right),
        ("", Align::Right),
    ]);
    let mut outside = false;
    for stage in &s.stages {
        let change = stage.peak_ns - stage.before_ns;
        let sign = if change > 0.0 { "+" } else { "" };
        let beside = if stage.stage.is_inside() { "" } else { " *" };
        outside |= !stage.stage.is_inside();
        table.row(&[
            format!("{}{beside}", stage.stage.name()),
            number::mean(stage.before_ns),
            number::mean(stage.peak_ns),
            format!("{sign}{}", number::mean(change)),
            if stage.before_ns > 0.0 {
                format!("× {}", number::ratio(stage.peak_ns / stage.before_ns, None))
            } else {
                String::new()
            },
        ]);
    }
    page.table(table);
    if outside {
        page.note("* below the link layer: beside the stack time, not in it");
    }
}

/// What arrived of what was sent, both ways.
fn messages(page: &mut Page, variant: &VariantResult) {
    let sum =
        |of: fn(&netfathom_model::record::ReverseTrial) -> u64| variant.trials.iter().map(of).sum::<u64>();
    page.text(&format!(
        "out: sent {}, counted by the far end's device {}; in: sent {}, read {}",
        number::count(sum(|t| t.sent)),
        number::count(sum(|t| t.arrived)),
        number::count(sum(|t| t.inbound_sent)),
        number::count(sum(|t| t.inbound_read))
    ));
    for trial in &variant.trials {
        for reason in &trial.verdict.reasons {
            page.bullet(&format!(
                "trial {}: {}: {}",
                trial_number(trial.index),
                reason.level.name(),
                reason.text
            ));
        }
    }
}
