//! What was asked for.

use netfathom_model::path::Tap;
use netfathom_model::plan::{StackPlan, StageSet, TapChoice, Transport};
use netfathom_model::print::listed;
use netfathom_model::units::format_duration;

use crate::story::{number, place, precision};

pub(super) fn words(plan: &StackPlan) -> Vec<(&'static str, String)> {
    let tap = match plan.tap {
        TapChoice::Auto => "auto".to_owned(),
        TapChoice::All => "all, on the same load".to_owned(),
        TapChoice::Only(tap) => tap.name().to_owned(),
    };
    let cpus = plan.cpus.map_or("chosen by netfathom".into(), |(s, r)| format!("sender {s}, reader {r}"));
    let port = if plan.port == 0 { "a free one".into() } else { plan.port.to_string() };
    let trials = |trials| precision::trials(trials, plan.until);
    let mut rows = vec![
        ("directions", listed(plan.directions.iter().map(|d| d.name()))),
        ("place", place::ends(plan.place)),
        ("profile", plan.profile.to_string()),
        ("trials with the tap", trials(plan.trials)),
        ("baseline trials", trials(plan.baselines)),
        ("cross-check trials", trials(plan.cross_checks)),
        ("requested tap", tap),
        ("workers", format!("{}{}", plan.workers, if plan.processes { ", each a process" } else { "" })),
        (
            "size",
            match plan.transport {
                Transport::Udp => format!("{} bytes of UDP payload", plan.size_bytes),
                Transport::Tcp => format!("{} bytes in a connection of TCP", plan.size_bytes),
            },
        ),
        ("samples", plan.samples.to_string()),
        ("CPUs", cpus),
        ("port", port),
        ("seed", plan.seed.to_string()),
    ];
    if matches!(plan.tap, TapChoice::All | TapChoice::Only(Tap::Pcap)) {
        let by =
            if plan.pcap.tcpdump { "Debian's tcpdump" } else { "netfathom's own reader of the packet ring" };
        let kept = if plan.pcap.keep { "in the run's directory" } else { "no" };
        rows.extend([("the pcap tap captures by", by.into()), ("captures and logs kept", kept.into())]);
    }
    rows.extend(precision::words(plan.until));
    if plan.stages != StageSet::All {
        rows.push(("stages asked for", plan.stages.name().into()));
    }
    if plan.reader_delay_ns > 0 {
        rows.push(("reader's delay", format_duration(plan.reader_delay_ns)));
    }
    if let Some(delay) = plan.inserted_delay {
        let text = format!("{} on {}", format_duration(delay.delay_ns.into()), delay.direction.name());
        rows.push(("inserted delay", text));
    }
    rows
}

/// The delays that a run was given, which its times have.
pub(super) fn inserted(plan: &StackPlan) -> Option<String> {
    let on_path = plan.inserted_delay.map(|of| {
        let (delay, way) = (number::seconds(of.delay_ns.into()), of.direction);
        format!("each message takes {delay} longer to {} (--insert-delay {})", way.verb(), way.name())
    });
    let reader = Some(plan.reader_delay_ns).filter(|&ns| ns > 0).map(|ns| {
        let delay = number::seconds(ns);
        format!("the reader pauses for {delay} after each message (--reader-delay)")
    });
    let delays: Vec<String> = on_path.into_iter().chain(reader).collect();
    (!delays.is_empty()).then(|| delays.join("; "))
}
