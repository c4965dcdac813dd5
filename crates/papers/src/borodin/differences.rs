//! What differs from the original.

use netfathom_model::path::{Direction, Tap};
use netfathom_model::plan::{Place, ReproducePlan};
use netfathom_model::profile::Profile;
use netfathom_model::record::StackResult;
use netfathom_model::units::{format_duration, format_rate};

use crate::beside::short;

const TODAY: &str = "The kernel and the CPUs are today's. The papers' platforms: 1, Core i7 920, CentOS 6.4; \
                     2, Core i5 430M, Ubuntu 12.10; 3, Core i7 3667U, OS X 10.8.5.";

pub fn of_stack(plan: &ReproducePlan, ours: Option<&StackResult>) -> Vec<String> {
    let mut list = Vec::new();
    if let Some(ours) = ours {
        list.push(place(ours));
        list.extend(tap(ours));
        list.push(load(ours));
        list.extend(senders(ours));
    }
    list.extend(short(
        plan,
        "fewer and shorter trials, each with far fewer messages than one of the papers, which has 0.79 to 5.62 million \
         (table 2 of each)",
    ));
    list.push(TODAY.into());
    list
}

pub fn of_instances(plan: &ReproducePlan, ours: Option<&StackResult>) -> Vec<String> {
    let set_up = [
        "An instance is a process, as in the paper, with a socket of its own. All send parts of one flow of messages to one \
         receiver. Those that share a CPU are late, so no times are shown; who else had a CPU is not recorded.",
        "The capture is the project's own reader of the packet ring; the paper's was \
         tcpdump.",
        "Each instance is to send 100,000 messages a second, which is about what the paper's program formed. The paper does not say \
         how finely it searched; ours doubles the number, up to 64.",
    ];
    let mut list: Vec<String> = ours.map(place).into_iter().chain(set_up.map(Into::into)).collect();
    list.extend(short(plan, "fewer and shorter trials"));
    list.push(TODAY.into());
    list
}

pub fn of_reverse(plan: &ReproducePlan) -> Vec<String> {
    let set_up = if plan.to.is_some() {
        "As in the original the measured host sends into a network, and other hosts, which run the same program, send \
         toward it: two there, platforms 1 and 2. Incoming packets are handled on the CPUs that this host's devices and \
         its settings choose."
    } else {
        "Sender and far end are on one machine, joined by a pair of virtual devices. The original had three \
         platforms in a local network: platform 3 was measured, platforms 1 and 2 ran the same program toward it. \
         Incoming packets are steered to the sender's CPU, where a device with one queue would have them \
         handled too."
    };
    let mut list: Vec<String> = vec![
        set_up
            .into(),
        "The paper does not say whether anything on platform 3 read the inbound messages. With `ignored` no \
         application reads them, and all they take is the operating system's; `other-thread` adds an application \
         that reads them. The claims are decided on `ignored`."
            .into(),
        "The outgoing load is as much as one thread can send, from the start. By the paper, one instance on platform 3 can \
         send at a high rate while the capture loses nothing; the inbound load began once the outgoing one had reached its peak, and ended at \
         its own; ours stays at its peak for a quarter of a trial."
            .into(),
        "The paper does not say how often it repeated this; ours are trials with intervals.".into(),
    ];
    list.extend(short(plan, "fewer and shorter trials"));
    list.push(TODAY.into());
    list
}

fn place(ours: &StackResult) -> String {
    match ours.plan.place {
        Place::To(_) => "The receiver is on another host. The outgoing paper's platforms sent into a network; it names no receiver. Which network and which adapters is in \
                         the record as far as this host knows."
            .into(),
        Place::Loopback => "Sender and reader share the loopback device of this machine; the papers' platforms sent \
                            into a network, and received from a generator on another node. The receiver's part of \
                            the kernel runs within the sender's send call."
            .into(),
        _ => "Sender and reader are on one machine, joined by a pair of virtual devices; the papers' platforms sent \
              into a network, and received from a generator on another node. No adapter, no driver's queue and no \
              interrupt is in our times, and the sender's CPU also takes each message into the other device."
            .into(),
    }
}

fn tap(ours: &StackResult) -> Option<String> {
    let by = match ours.tap {
        Tap::Bpf | Tap::Fentry => {
            "kernel programs at the hooks of the link layer, which read the application's own clock"
        }
        Tap::Timestamping => "the kernel's own stamps (SO_TIMESTAMPING)",
        Tap::Pcap => return None,
    };
    Some(format!(
        "Link-layer times are taken by {by}; the papers took them from a capture by tcpdump. `--tap pcap` is their \
         way."
    ))
}

fn load(ours: &StackResult) -> String {
    let plan = &ours.plan;
    let profile = &plan.profile;
    format!(
        "{} trials of {} messages of {} bytes each, up to {} messages/s within {}. {}",
        plan.trials,
        format_rate(profile.messages() as f64),
        plan.size_bytes,
        format_rate(profile.peak_per_s()),
        format_duration(profile.duration_ns()),
        theirs(ours)
    )
}

/// The size of the papers' trials.
fn theirs(ours: &StackResult) -> &'static str {
    let [out, into] = [Direction::Tx, Direction::Rx].map(|way| ours.plan.measures(way));
    match (&ours.plan.profile, out, into) {
        (Profile::Triangle { .. }, ..) => {
            "Of graphs 4 to 6 the paper says neither how long they took nor how many messages or trials they have."
        }
        (_, true, false) => {
            "The paper's trials (table 2) have 1.01 to 5.62 million; an experiment took 1 min 50 s, with 1.2 GB for one platform."
        }
        (_, false, _) => {
            "The paper's trials (table 2) have 0.79 to 1.58 million, up to what a single thread reached on the \
             generator's node."
        }
        _ => {
            "The papers' trials (table 2 of each) have 1.01 to 5.62 million outgoing, 0.79 to 1.58 million incoming."
        }
    }
}

/// The outgoing paper ran several instances of its program, the incoming one a generator of one thread.
fn senders(ours: &StackResult) -> Option<String> {
    match (ours.plan.measures(Direction::Tx), ours.plan.workers) {
        (true, 1) => Some(
            "One sender; the outgoing paper ran several instances of its program, under conditions in which the capture \
             lost at most 5 %. Senders that share a CPU keep to no profile, and beside the reader's this \
             machine has no more than one for them."
                .into(),
        ),
        (true, n) => Some(format!(
            "{n} senders, each a thread on its own CPU; the outgoing paper ran several instances of its \
             program, under conditions in which the capture lost at most 5 %."
        )),
        (false, 1) => None,
        (false, n) => Some(format!("{n} senders; the incoming paper's generator had one thread.")),
    }
}
