//! The answer of `netfathom reverse`.

use netfathom_model::print::Scale;
use netfathom_model::record::{ReverseResult, ReverseSummary};
use netfathom_model::units::{format_duration, format_rate};

use super::{Words, family, percent, rate, together, trials};

pub fn words(reverse: &ReverseResult) -> Words {
    let plan = &reverse.plan;
    let done: usize = reverse.variants.iter().map(|v| v.trials.len()).sum();
    let wanted = plan.variants.len() * plan.trials as usize;
    Words {
        title: "What incoming load takes from outgoing".into(),
        sentence: sentence(reverse),
        there: format!("{done} of {wanted} trials are here."),
        circumstances: vec![
            "lab".into(),
            format!(
                "inbound {}..{} a second",
                format_rate(plan.inbound_from_per_s),
                format_rate(plan.inbound_peak_per_s)
            ),
            format!("{} of {} of each variant", trials(plan.trials), format_duration(plan.duration_ns)),
            format!("{} bytes over UDP, {}", plan.size_bytes, family(plan.family)),
            reverse.tap.map_or("no tap".into(), |t| format!("tap {}", t.name())),
            if reverse.steered {
                "packets handled on the sender's processor".into()
            } else {
                "packets handled anywhere".into()
            },
        ],
    }
}

fn sentence(reverse: &ReverseResult) -> String {
    let known = reverse.variants.iter().filter_map(|v| v.summary.as_ref().map(|s| (v.variant, s)));
    let parts: Vec<String> = known
        .clone()
        .map(|(variant, s)| format!("{} {} (back to {})", variant.name(), change(s), percent(s.recovery)))
        .collect();
    let Some((_, first)) = known.clone().next() else {
        return "No trial was finished, so there is no answer yet.".into();
    };
    format!(
        "Load that comes in takes from the outgoing rate, {} a second before it: {}.",
        rate(first.outgoing_per_s[0]),
        parts.join(", ")
    )
}

fn change(s: &ReverseSummary) -> String {
    together(&Scale::Share.interval(s.drop, s.drop_interval.map(|i| i.half_width)))
}
