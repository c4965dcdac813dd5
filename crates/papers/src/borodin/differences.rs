//! What differs from the original.

use netfathom_model::path::{Direction, Tap};
use netfathom_model::plan::{Place, ReproducePlan};
use netfathom_model::record::StackResult;
use netfathom_model::units::{format_duration, format_rate};

/// The original had machines of its time.
const TODAY: &str = "The kernel and the processors are today's; the papers' platforms were Windows and Linux \
                     machines of their time.";

/// Of an experiment that measures the stack.
pub fn of_stack(plan: &ReproducePlan, ours: Option<&StackResult>) -> Vec<String> {
    let mut told = Vec::new();
    if let Some(ours) = ours {
        told.push(place(ours));
        told.extend(tap(ours));
        told.push(load(ours));
        told.extend(senders(ours));
    }
    if plan.quick {
        told.push(
            "The short form: fewer and shorter trials, with far less than the million messages of a trial of \
             the papers."
                .into(),
        );
    }
    told.push(TODAY.into());
    told
}

/// Of the experiment on answers.
pub fn of_reverse(plan: &ReproducePlan) -> Vec<String> {
    let mut told: Vec<String> = vec![
        "Sender and far end are on one machine, joined by a pair of virtual devices; the original had two \
         machines and a network between them. Incoming packets are steered to the sender's processor, where \
         a device with one queue would have them handled too."
            .into(),
        "What becomes of the answers is not left open: `ignored` is the nearest, where nobody reads them and \
         all they take is the operating system's; `other-thread` adds an application that reads them. The \
         claims are decided on `ignored`."
            .into(),
        "The inbound load is not the answers of a server but a load of its own, with a plan of its own.".into(),
        "The outgoing load is as much as one thread can send, not a ramp of many processes.".into(),
    ];
    if plan.quick {
        told.push("The short form: fewer and shorter trials.".into());
    }
    told.push(TODAY.into());
    told
}

fn place(ours: &StackResult) -> String {
    match ours.plan.place {
        Place::Loopback => "Sender and reader share the loopback device of this machine; the original had two \
                            machines. The receiver's part of the kernel runs within the sender's send call."
            .into(),
        _ => "Sender and reader are on one machine, joined by a pair of virtual devices; the original had two \
              machines with network adapters. No adapter, no driver's queue and no interrupt is in our times, \
              and the sender's processor also takes each message into the other device."
            .into(),
    }
}

fn tap(ours: &StackResult) -> Option<String> {
    let by = match ours.tap {
        Tap::Bpf => "kernel programs at the hooks of the link layer, which read the application's own clock",
        Tap::Timestamping => "the kernel's own stamps (SO_TIMESTAMPING)",
        Tap::Pcap => return None,
    };
    Some(format!(
        "Link-layer times are taken by {by}; the original joined a capture by tcpdump with the application's \
         times, to the microsecond. `--tap pcap` is its way."
    ))
}

fn load(ours: &StackResult) -> String {
    let plan = &ours.plan;
    let profile = &plan.profile;
    format!(
        "{} trials of {} messages of {} bytes each, up to {} messages/s within {}; the papers' trials have 0.8 \
         to 5.6 million, up to the limits of their machines.",
        plan.trials,
        format_rate(profile.messages() as f64),
        plan.size_bytes,
        format_rate(profile.peak_per_s()),
        format_duration(profile.duration_ns()),
    )
}

fn senders(ours: &StackResult) -> Option<String> {
    if !ours.plan.measures(Direction::Tx) && ours.plan.workers > 1 {
        return None;
    }
    Some(match ours.plan.workers {
        1 => {
            "One sender; the original had many processes. Senders that share a processor keep to no profile, \
              and beside the reader's this machine has no more than one for them."
                .into()
        }
        n => {
            format!("{n} senders, each a thread on a processor of its own; the original had many processes.")
        }
    })
}
