//! The overhead of the tap, and the cross-check.

use crate::page::{Page, Table};
use netfathom_model::path::{Direction, Tap};
use netfathom_model::print::Scale;
use netfathom_model::record::{
    Agreement, CrossCheck, Distorts, Estimate, PathSummary, SelfCost, StackResult, TrialKind,
};

use crate::story::{number, trial_number};

/// An interval of that width says nothing of a share.
const NOTHING_KNOWN: f64 = 1.0;

/// Both in a line.
pub(super) fn brief(result: &StackResult) -> Option<String> {
    let cost = result.self_cost.as_ref();
    let within = [("tx", cost.and_then(|c| c.within_tx_ns)), ("rx", cost.and_then(|c| c.within_rx_ns))];
    let own: Vec<String> = within
        .into_iter()
        .filter_map(|(way, within)| Some((way, within.filter(|own| own.value > own.half_width)?)))
        .map(|(way, own)| format!("{} of {way}", Scale::Time.interval(own.value, Some(own.half_width))))
        .collect();
    let tap = result.tap.name();
    let own = (!own.is_empty())
        .then(|| format!("overhead: the times include what the {tap} tap takes: {}", own.join(" and ")));
    let share = cost.and_then(|cost| cost.send_call_share);
    let share = share.filter(|share| own.is_none() || distorts(Some(*share)));
    let overhead = share.map(|share| {
        if share.half_width > NOTHING_KNOWN && !distorts(Some(share)) {
            let most = Scale::Ratio.text(1.0 + share.value + share.half_width);
            return format!(
                "overhead of the {tap} tap: inconclusive (a send call takes at most {most} times as long with it)"
            );
        }
        let effect = if distorts(Some(share)) { ": ! over 10 %" } else { doubt(&share) };
        format!(
            "{}the {tap} tap adds {} to a send call{effect}",
            if own.is_none() { "overhead: " } else { "" },
            added(Scale::Share, share)
        )
    });
    let check = |w: &CrossCheck| {
        let agreement = match w.agreement {
            Agreement::Agree => "agrees",
            Agreement::Inconclusive => "inconclusive",
            Agreement::Disagree => "DISAGREES",
        };
        format!("{} {agreement} ({})", w.direction.name(), w.tap.name())
    };
    let checks: Vec<String> = result.cross_checks.iter().map(check).collect();
    let checks = (!checks.is_empty()).then(|| format!("cross-check: {}", checks.join(", ")));
    let parts: Vec<String> = own.into_iter().chain(overhead).chain(checks).collect();
    (!parts.is_empty()).then(|| parts.join("; "))
}

pub(super) fn self_cost(page: &mut Page, result: &StackResult) {
    page.heading("Overhead of the tap");
    estimates(page, result);
    if super::of_kind(result, TrialKind::Baseline).next().is_some() {
        page.details("trials with and without the tap", |page| page.table(trials(result)));
    }
}

fn estimates(page: &mut Page, result: &StackResult) {
    let Some(cost) = &result.self_cost else {
        let baselines = super::of_kind(result, TrialKind::Baseline).count();
        page.text(&format!(
            "n/a: needs at least two measured trials and two baselines; here {} and {baselines}",
            super::of_kind(result, TrialKind::Measured).count()
        ));
        return;
    };
    for (way, within) in [("tx", &cost.within_tx_ns), ("rx", &cost.within_rx_ns)] {
        if let Some(within) = within {
            page.text(&format!("within {way}    {}", per_message(within)));
        }
    }
    if cost.within_tx_ns.or(cost.within_rx_ns).is_some() {
        page.note(
            "within tx, rx: part of the times above; without the tap they are shorter by that much (from rounds with \
             and without it)",
        );
    }
    page.text(&format!("send call    {}", per_message(&cost.send_call_ns)));
    if let Some(share) = &cost.send_call_share {
        page.text(&format!("of the call  {}{}", added(Scale::Share, *share), doubt(share)));
    }
    if let Some(reader) = &cost.reader_cpu_ns {
        page.text(&format!("reader CPU   {}", per_message(reader)));
    }
    if let Some(lost) = &cost.rate_lost {
        page.text(&format!(
            "rate lost    {} of the unpaced rate{}",
            Scale::Share.interval(lost.value, Some(lost.half_width)),
            doubt(lost)
        ));
    }
    page.note(
        "send call, reader CPU, rate: how much slower the program is than in baseline trials without the tap",
    );
}

fn trials(result: &StackResult) -> Table {
    let mut table =
        Table::of("<trial|<kind|<tap|send call mean|reader CPU per message|unpaced rate|clock moved");
    let known = |value: Option<String>| value.unwrap_or_else(|| "-".into());
    for t in &result.trials {
        table.row([
            trial_number(t.index),
            t.kind.name().into(),
            t.tap.map_or("none", Tap::name).into(),
            number::mean(t.load.send_call.mean_ns),
            known(t.reader_cpu_ns_per_message.map(number::mean)),
            known(t.flat_out_per_s.map(number::rate)),
            known(t.clock_moved_ns.map(number::time)),
        ]);
    }
    table
}

/// What is added, with its sign: `+120 ns ± 14`.
pub(super) fn added(scale: Scale, e: Estimate) -> String {
    let sign = if e.value > 0.0 { "+" } else { "" };
    format!("{sign}{}", scale.interval(e.value, Some(e.half_width)))
}

fn per_message(e: &Estimate) -> String {
    format!("{} per message{}", added(Scale::Time, *e), doubt(e))
}

/// That the times have the tap's in them, or are of a slower program, which the answer does not show.
pub(super) fn distortion(result: &StackResult) -> Option<String> {
    let cost = result.self_cost.as_ref()?;
    let tap = result.tap.name();
    let within: Vec<String> = result.summaries.iter().filter_map(|way| within(cost, way)).collect();
    if !within.is_empty() {
        return Some(format!(
            "the answer includes the time of the {tap} tap itself: {}",
            within.join(" and ")
        ));
    }
    let share = cost.send_call_share.filter(|share| distorts(Some(*share)))?;
    let by = added(Scale::Share, share);
    Some(format!(
        "the {tap} tap adds {by} to a send call: times and verdict are of the slower program, not of one without the tap"
    ))
}

/// Such as `408 ns ± 187 of the time to send (20 %; 1.64 µs ± 0.25 without it)`, where that is much of it. How the two
/// errors hang together is unknown: at worst they add up.
fn within(cost: &SelfCost, way: &PathSummary) -> Option<String> {
    let own = match way.direction {
        Direction::Tx => cost.within_tx_ns,
        Direction::Rx => cost.within_rx_ns,
    }
    .filter(|own| own.value > 0.0)?;
    let of = way.stands_for_all().map_or(&way.overall, |undisturbed| &undisturbed.overall);
    let mean_ns = of.mean_ns;
    let share = Estimate { value: own.value / mean_ns, half_width: own.half_width / mean_ns };
    distorts(Some(share)).then(|| {
        let (time, share) =
            (Scale::Time.interval(own.value, Some(own.half_width)), number::whole_percent(share.value));
        let half_width = of.between_trials_ns.map(|half_width| half_width + own.half_width);
        let without = Some(mean_ns - own.value).filter(|&without| without > 0.0);
        let without = without.map(|ns| format!("; {} without it", Scale::Time.interval(ns, half_width)));
        format!("{time} of the time to {} ({share}{})", way.direction.verb(), without.unwrap_or_default())
    })
}

/// Whether a tap distorts what it measures, even where it loses nothing.
pub(super) fn distorts(share: Option<Estimate>) -> bool {
    share.map(Distorts::of) == Some(Distorts::Yes)
}

/// Says so where the interval holds 0.
fn doubt(e: &Estimate) -> &'static str {
    if e.holds(0.0) { ": not significant" } else { "" }
}

pub(super) fn cross_checks(page: &mut Page, result: &StackResult) {
    page.heading("Cross-check with another tap");
    if result.cross_checks.is_empty() {
        page.text("n/a: no trial was run with another tap");
    }
    for w in &result.cross_checks {
        let relation = if w.difference_ns < 0.0 { "less" } else { "more" };
        let verdict = match w.agreement {
            Agreement::Agree => "they agree within the larger of 15 % and 300 ns",
            Agreement::Inconclusive if w.half_width_ns.is_none() => {
                "inconclusive: an interval needs two trials of each tap"
            }
            Agreement::Inconclusive => {
                "inconclusive: the means or the medians may differ by more than 15 % and 300 ns"
            }
            Agreement::Disagree => "they DISAGREE by more than 15 % and 300 ns",
        };
        let behind = w.behind_ns.map_or_else(String::new, |ns| {
            format!(
                "; on the same messages the timestamp of {} is {} later, which is part of the difference",
                w.tap.name(),
                number::mean(ns)
            )
        });
        page.text(&format!(
            "{}   {} {}: the {} tap has {} {relation}: {verdict}{behind}",
            w.direction.name(),
            w.tap.name(),
            number::mean(w.mean_ns),
            result.tap.name(),
            Scale::Time.interval(w.difference_ns.abs(), w.half_width_ns),
        ));
    }
    let moved = result.trials.iter().filter_map(|t| t.clock_moved_ns).max_by_key(|m| m.unsigned_abs());
    if let Some(moved) = moved {
        page.note(&format!(
            "timestamps were converted from CLOCK_REALTIME, which moved by at most {} during a trial",
            number::time(moved.saturating_abs())
        ));
    }
}
