//! `netfathom reverse`: what load that comes in takes from load that goes out.

use crate::page::{Axis, Band, Chart, Page, Table};
use netfathom_model::plan::{Place, Variant};
use netfathom_model::print::{Scale, listed};
use netfathom_model::record::{
    BetweenHosts, Contention, Estimate, Phase, PhaseTimes, ProcessorShares, ReverseResult, ReverseSummary,
    ReverseTrial, VariantResult,
};
use netfathom_model::units::{format_duration, format_rate};

use super::{Body, Story, contention, counted, curves, number, place, place::Site, trial_number};

impl Story for ReverseResult {
    fn body(&self) -> Body<'_> {
        let mut page = Page::default();
        overview(&mut page, self);
        for variant in &self.variants {
            draw_variant(&mut page, self, variant);
        }
        contention::draw(&mut page, observed(self));
        Body {
            title: "Send rate while receiving".into(),
            done: finished(self),
            page,
            remarks: remarks(self),
            plan: plan(self),
            left_out: &self.left_out,
        }
    }

    /// Such as `Receiving 200k/s cuts the send rate by 31.1 % (ignored) to 61.9 % (other-thread)`.
    fn answer(&self) -> String {
        if !self.is_of_values() {
            return "no trial is finished, so there is no answer yet".into();
        }
        let (changed, open): (Vec<_>, Vec<_>) = usable(self).partition(|(_, s)| is_significant(s));
        if changed.is_empty() {
            return unchanged(&open);
        }
        // An echo comes back as fast as it can, whatever the plan's inbound load: it is no end of a range.
        let (echo, planned): (Vec<_>, Vec<_>) =
            changed.into_iter().partition(|(variant, _)| *variant == Variant::Echo);
        if planned.is_empty() {
            return format!("Receiving its own echo at {} {}", received(&echo), change(echo));
        }
        format!("Receiving {} {}", received(&planned), change(planned))
    }

    fn is_of_values(&self) -> bool {
        summaries(self).next().is_some()
    }

    fn site(&self) -> Site {
        match self.plan.to.as_deref() {
            None => Site::At(Place::Lab),
            Some(hosts) => Site::To(listed(hosts)),
        }
    }
}

fn unchanged(open: &[(Variant, &ReverseSummary)]) -> String {
    if open.is_empty() {
        return "no variant has a trial to be used, so there is no answer".into();
    }
    let widest = open.iter().filter_map(|(_, s)| Some(s.drop_interval?.half_width)).fold(0.0, f64::max);
    format!("No significant cut of the send rate by receiving (known to ± {})", number::percent(widest))
}

/// What came in at the peak, such as `200k/s` or `187k/s to 200k/s`: it may be less than the plan wanted.
fn received(changed: &[(Variant, &ReverseSummary)]) -> String {
    let rates = changed.iter().map(|(_, s)| s.inbound_per_s[Phase::Peak as usize]);
    let (least, most) = (rates.clone().fold(f64::INFINITY, f64::min), rates.fold(0.0, f64::max));
    let (least, most) = (number::rate(least), number::rate(most));
    if least == most { least } else { format!("{least} to {most}") }
}

/// The least and the most of variants with one load. The table has the intervals of several.
fn change(mut drops: Vec<(Variant, &ReverseSummary)>) -> String {
    let raises = drops.iter().all(|(_, s)| s.drop < 0.0);
    let (verb, sign) = if raises { ("raises", -1.0) } else { ("cuts", 1.0) };
    drops.sort_by(|a, b| (sign * a.1.drop).total_cmp(&(sign * b.1.drop)));
    let cut = |(variant, s): &(Variant, &ReverseSummary), interval: Option<Estimate>| {
        format!("{} ({})", share(sign * s.drop, interval), variant.name())
    };
    let by = match drops.as_slice() {
        [least, .., most] => format!("{} to {}", cut(least, None), cut(most, None)),
        rest => listed(rest.iter().map(|only| cut(only, only.1.drop_interval))),
    };
    format!("{verb} the send rate by {by}")
}

fn plan(result: &ReverseResult) -> Vec<(&'static str, String)> {
    let plan = &result.plan;
    let cpus = plan.cpus.map_or("chosen by netfathom".into(), |(s, f)| format!("sender {s}, far end {f}"));
    let (from, to) = (format_rate(plan.inbound_from_per_s), format_rate(plan.inbound_peak_per_s));
    let mut words = vec![
        ("variants", listed(plan.variants.iter().map(|v| v.name()))),
        ("trials of each", plan.trials.to_string()),
        ("a trial", format_duration(plan.duration_ns)),
        ("inbound load", format!("{from}..{to} a second")),
        ("stack times", if plan.tapped { "taken" } else { "not taken" }.into()),
        ("size", format!("{} bytes of UDP payload", plan.size_bytes)),
        ("CPUs", cpus),
    ];
    words.extend(result.hosts.iter().flatten().map(|host| ("other host", place::other(host))));
    words
}

fn finished(result: &ReverseResult) -> String {
    let done: usize = result.variants.iter().map(|v| v.trials.len()).sum();
    format!(
        "{done} of {} trials are finished",
        result.plan.variants.len() as u64 * u64::from(result.plan.trials)
    )
}

fn summaries(result: &ReverseResult) -> impl Iterator<Item = (Variant, &ReverseSummary)> {
    result.variants.iter().filter_map(|v| v.summary.as_ref().map(|s| (v.variant, s)))
}

/// Those that the answer may be drawn from.
fn usable(result: &ReverseResult) -> impl Iterator<Item = (Variant, &ReverseSummary)> {
    result.variants.iter().filter_map(|v| v.usable().map(|s| (v.variant, s)))
}

/// Without an interval there is a single trial, which its remarks say.
fn is_significant(s: &ReverseSummary) -> bool {
    s.drop_interval.is_none_or(|e| s.drop.abs() > e.half_width)
}

/// How it was measured.
fn remarks(result: &ReverseResult) -> Vec<String> {
    let plan = &result.plan;
    let tap = result.tap.map_or("no tap".into(), |t| format!("{} tap", t.name()));
    let how = format!("{} of each variant, {} B, {tap}", counted(plan.trials, "trial"), plan.size_bytes);
    let open: Vec<&str> =
        usable(result).filter(|(_, s)| !is_significant(s)).map(|(variant, _)| variant.name()).collect();
    let open = (!open.is_empty()).then(|| format!("not significant: {}", open.join(", ")));
    let waits = contention::remarks(observed(result), None);
    open.into_iter().chain(waits).chain([how]).collect()
}

fn observed(result: &ReverseResult) -> impl Iterator<Item = &Contention> {
    result.variants.iter().flat_map(|variant| &variant.trials).flat_map(|trial| &trial.contention)
}

/// `41.2 % ± 1.1`.
fn share(value: f64, interval: Option<Estimate>) -> String {
    Scale::Share.interval(value, interval.map(|i| i.half_width))
}

fn overview(page: &mut Page, result: &ReverseResult) {
    if summaries(result).next().is_none() {
        return;
    }
    page.main("Send rate while receiving");
    let mut table = Table::of("<variant|before|at peak|after|drop|recovery|trials");
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
        "incoming packets were handled on the sender's CPU"
    } else {
        "incoming packets were handled on CPUs that the kernel chose, not only on the sender's"
    });
}

fn draw_variant(page: &mut Page, result: &ReverseResult, variant: &VariantResult) {
    page.heading(&format!("{}: {}", variant.variant.name(), meaning(variant.variant)));
    figure(page, variant);
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
    page.details("each trial", |page| page.table(trials(variant)));
}

/// The paper's figure: outgoing and inbound rate over time, and beneath it the stack time.
fn figure(page: &mut Page, variant: &VariantResult) {
    let Some(first) = variant.trials.first() else { return };
    let same: Vec<&ReverseTrial> = variant.trials.iter().filter(|t| t.window_ns == first.window_ns).collect();
    let windows = same.iter().map(|t| t.outgoing.len().max(t.inbound.len())).max().unwrap_or(0);
    let name = variant.variant.name();
    let chart = |id: String, title: &str, about: &str, y, height, series| Chart {
        id,
        title: format!("{title}, {name}"),
        about: about.into(),
        x: Axis::Run,
        y,
        height,
        sync: Some(name.into()),
        xs: curves::middles(first.window_ns, windows),
        bands: first.phases.iter().map(band).collect(),
        series,
        ..Chart::default()
    };
    let rates = |label, color, of: fn(&ReverseTrial) -> &[u64]| {
        let trials: Vec<_> = same.iter().map(|t| (t.index, curves::per_second(of(t), t.window_ns))).collect();
        curves::over_trials(label, color, &trials, windows)
    };
    let both = [rates("outgoing", "tx", |t| &t.outgoing), rates("inbound", "rx", |t| &t.inbound)].concat();
    let about = "Outgoing and inbound messages a second in each window.";
    page.chart(chart(format!("reverse-{name}"), "Rate", about, Axis::Rate, 220, both));
    let tapped: Vec<_> =
        same.iter().filter_map(|t| t.stack.as_ref().map(|s| (t.index, curves::means(s)))).collect();
    if !tapped.is_empty() {
        let series = curves::over_trials("stack time", "lag", &tapped, windows);
        let about = "Mean stack time of the outgoing messages in each window.";
        let (id, title) = (format!("reverse-stack-{name}"), "Mean time to send");
        page.chart(chart(id, title, about, Axis::Time, 150, series));
    }
}

fn band(phase: &PhaseTimes) -> Band {
    Band {
        from: phase.start_ns as f64 / 1e9,
        to: phase.end_ns as f64 / 1e9,
        label: phase.phase.name().into(),
        shaded: matches!(phase.phase, Phase::Rise | Phase::Peak),
    }
}

fn trials(variant: &VariantResult) -> Table {
    let mut table =
        Table::of("trial|before|at peak|after|sent|counted by the far device|inbound sent|read|<verdict");
    for trial in &variant.trials {
        let at =
            |i: usize| trial.phases.get(i).map_or_else(|| "-".into(), |p| number::rate(p.outgoing_per_s));
        table.row([
            trial_number(trial.index),
            at(0),
            at(2),
            at(3),
            number::count(trial.sent),
            number::count(trial.arrived),
            number::count(trial.inbound_sent),
            number::count(trial.inbound_read),
            trial.verdict.level.name().into(),
        ]);
    }
    table
}

fn meaning(variant: Variant) -> &'static str {
    match variant {
        Variant::Ignored => "no thread reads what comes in",
        Variant::OtherThread => "another thread reads what comes in",
        Variant::SameThread => "the sending thread reads between its messages",
        Variant::Echo => "the far end sends the load back, another thread reads",
    }
}

fn phases(page: &mut Page, s: &ReverseSummary) {
    let mut table = Table::of("<").figures(Phase::ALL.map(Phase::name));
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
        ("CPU: user", |p| p.user),
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
    let mut table = Table::of("<stage|before|at peak|change|");
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
                format!("{}x", Scale::Ratio.text(stage.peak_ns / stage.before_ns))
            } else {
                String::new()
            },
        ]);
    }
    page.table(table);
    if outside {
        page.note("* below the link layer: not part of the stack time");
    }
}

/// What arrived of what was sent, both ways.
fn messages(page: &mut Page, variant: &VariantResult) {
    let sum = |of: fn(&ReverseTrial) -> u64| variant.trials.iter().map(of).sum::<u64>();
    let between = |of: fn(&BetweenHosts) -> u64| {
        number::count(variant.trials.iter().filter_map(|t| t.between.as_ref()).map(of).sum())
    };
    let [sent, arrived, inbound_sent, read] =
        [sum(|t| t.sent), sum(|t| t.arrived), sum(|t| t.inbound_sent), sum(|t| t.inbound_read)]
            .map(number::count);
    if variant.trials.iter().any(|t| t.between.is_some()) {
        page.text(&format!(
            "outgoing: sent {sent} = arrived {arrived} + queue drop {} + lost {}",
            between(|b| b.not_sent),
            between(|b| b.lost)
        ));
        page.text(&format!(
            "inbound: sent {inbound_sent} = read {read} + found the socket full {} + left in it {} + lost {}",
            between(|b| b.inbound_overflowed),
            between(|b| b.inbound_left),
            between(|b| b.inbound_lost)
        ));
    } else {
        page.text(&format!(
            "outgoing: sent {sent}, counted by the far end's device {arrived}; inbound: sent {inbound_sent}, read {read}"
        ));
    }
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
