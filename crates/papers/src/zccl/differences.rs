//! What differs from the original.

use netfathom_model::plan::{MessagePlan, Place, ReproducePlan};
use netfathom_model::units::{format_duration, format_rate};

use super::ours::Ours;
use super::plans::{ANOMALY_BYTES, PLACED_BYTES};

const NO_NETWORK: &str = "No network of 10 Mbit/s is in the way. There it limited sockets from 32 bytes on and the library \
                          from 256 bytes on, and made round trips longer with the size; here the processors are the \
                          limit at every size, and what the network hid shows.";
const SOCKETS: &str = "`sockets` here are bare sockets with one write of header and body a message and TCP_NODELAY. At 37448 \
                       messages a second several must have left in one packet there: each by itself would have \
                       taken 25 Mbit/s and more.";
const LIBRARY: &str = "`thread` is the paper's design, every send handed to a thread that writes, in this project's own \
                       library. It is not the paper's code. `inline` and `adaptive` are not in the paper.";
const PROCESSORS: &str = "There each end had a machine of its own, and of its time. Here they share one, and it matters on which \
                          processors they run: rows say what the two have in common, from one processor for both (`same \
                          processor`) to no more than the machine (`apart`).";

/// Of an experiment over sizes.
pub fn of_sized(plan: &ReproducePlan, ours: Option<&Ours<'_>>) -> Vec<String> {
    let always = [NO_NETWORK, SOCKETS, LIBRARY, PROCESSORS].map(str::to_owned);
    [always.into(), of_plan(ours), short(plan)].concat()
}

/// Of the experiment on placements.
pub fn of_placement(plan: &ReproducePlan, ours: Option<&Ours<'_>>) -> Vec<String> {
    let size = format!(
        "The message's size in test 2 is not at hand, nor whether it was one way. {PLACED_BYTES} bytes are chosen here, one \
         way and as round trips: with a header of four bytes they are 1007 of the 1133 kB/s that the network \
         carried in test 1, and that table ends at 1006 kB/s."
    );
    let kernel = "An end in the kernel is a program on a socket's verdicts (BPF, sockmap) that swallows what comes or sends \
                  it back. It knows of bytes, not of messages: the library is at the end in user space alone. The paper \
                  had both ends' code in the kernel.";
    let always = [size, kernel.into(), NO_NETWORK.into(), LIBRARY.into(), PROCESSORS.into()];
    [always.into(), of_plan(ours), short(plan)].concat()
}

/// Of the experiment on the anomaly.
pub fn of_anomaly(plan: &ReproducePlan, ours: Option<&Ours<'_>>) -> Vec<String> {
    let size = format!(
        "The paper has no table of it and its message's size is not at hand: here a body of {ANOMALY_BYTES} bytes, so that \
         header and body together are far less than a segment."
    );
    let sockets = "All of it is done with bare sockets: it is no matter of a library.";
    let processors = "Each end has a processor of its own where there are two: these are times of timers.";
    let always = [size, sockets.into(), processors.into()];
    [always.into(), of_plan(ours), short(plan)].concat()
}

fn of_plan(ours: Option<&Ours<'_>>) -> Vec<String> {
    let Some(plan) = ours.map(|o| &o.result.plan) else { return Vec::new() };
    vec![place(plan), much(plan)]
}

fn place(plan: &MessagePlan) -> String {
    match plan.place {
        Place::Loopback => "Both ends share the loopback device of this machine.".into(),
        _ => "Both ends are on one machine, joined by a pair of virtual devices: no adapter and no interrupt is in our \
              times."
            .into(),
    }
}

fn much(plan: &MessagePlan) -> String {
    let least = match plan.least_ns {
        0 => String::new(),
        ns => format!(", or more until it took {}", format_duration(ns)),
    };
    format!(
        "A trial has {} {}{least}, and ends after {} in any case; the paper's has {}. There are {} of each, in rounds \
         whose order is drawn by lot.",
        format_rate(plan.messages as f64),
        plan.test.counts(),
        format_duration(plan.most_ns),
        format_rate(plan.test.messages() as f64),
        plan.trials
    )
}

fn short(plan: &ReproducePlan) -> Vec<String> {
    if plan.quick { vec!["The short form: fewer and shorter trials.".into()] } else { Vec::new() }
}
