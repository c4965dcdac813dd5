//! `netfathom host`: what can be measured on this machine, and what is missing for the rest.
//!
//! Everything is tried rather than concluded from a version, in a second or so: traffic goes
//! over the loopback device and a lab of its own only, programs are those that measurements use
//! and are gone again at once. Nothing here fails: what cannot be tried is missing, with the reason.

use netfathom_model::host::{HostGroup, HostReport, HostRow, HostStatus, Topic};
use netfathom_model::plan::Family;

use crate::ground::environment;
use crate::ground::lab::Lab;

mod drivers;
mod kernel;
mod latency;
mod machine;
mod places;
mod privileges;
mod programs;
mod reason;
mod taps;

pub fn probe() -> HostReport {
    let environment = environment::read(Vec::new(), Vec::new(), None);
    let lab = Lab::create();
    let groups = Topic::ALL.map(|topic| HostGroup {
        topic,
        rows: match topic {
            Topic::Taps => vec![taps::bpf(), taps::timestamping(), taps::pcap()],
            Topic::Places => places::rows(&lab),
            Topic::Privileges => privileges::rows(),
            Topic::Kernel => [programs::rows(&lab), drivers::rows(&lab), kernel::rows()].concat(),
            Topic::Clock => machine::clock(&environment),
            Topic::Processors => [machine::processors(&environment), latency::rows(&environment)].concat(),
        },
    });
    let mut report = HostReport {
        kernel: environment.kernel,
        cpu_model: environment.cpu_model,
        stack: String::new(),
        groups: groups.into(),
    };
    report.stack = stack_sentence(&report);
    report
}

/// Privileges that this process lacks, with the reasons: nothing is tried for it, unlike [`probe`].
pub fn lacks() -> Vec<(String, String)> {
    let missing = privileges::rows().into_iter().filter(|row| !is_usable(row));
    missing.filter_map(|row| Some((row.name.clone(), row.status.shortcoming()?.0.to_owned()))).collect()
}

/// What `netfathom stack` does here by default.
fn stack_sentence(report: &HostReport) -> String {
    let works = |topic, name| report.row(topic, name).is_some_and(is_usable);
    let bpf = report.row(Topic::Taps, taps::BPF).map(|row| &row.status);
    let tap = match (bpf, works(Topic::Taps, taps::TIMESTAMPING)) {
        (Some(HostStatus::Works), _) => "the bpf tap: every stage, both directions",
        (Some(HostStatus::Limited { .. }), _) => "the bpf tap: both directions, not every stage",
        (_, true) => "the timestamping tap: fewer stages, no kernel programs",
        (_, false) => return "netfathom stack cannot measure here: no tap works".into(),
    };
    if works(Topic::Places, &places::lab_name(Family::Ipv4)) {
        format!("netfathom stack measures in a lab (two network namespaces), with {tap}")
    } else {
        format!("netfathom stack --loopback measures here, with {tap}")
    }
}

fn is_usable(row: &HostRow) -> bool {
    !matches!(row.status, HostStatus::Missing { .. })
}

fn works(name: &str, detail: impl Into<String>) -> HostRow {
    HostRow { name: name.into(), status: HostStatus::Works, detail: detail.into() }
}

/// A row of something that works with a drawback.
fn limited(name: &str, detail: &str, reason: impl Into<String>, remedy: impl Into<String>) -> HostRow {
    let status = HostStatus::Limited { reason: reason.into(), remedy: remedy.into() };
    HostRow { name: name.into(), status, detail: detail.into() }
}

/// A row of something that does not work.
fn missing(name: &str, detail: &str, reason: impl Into<String>, remedy: impl Into<String>) -> HostRow {
    let status = HostStatus::Missing { reason: reason.into(), remedy: remedy.into() };
    HostRow { name: name.into(), status, detail: detail.into() }
}
