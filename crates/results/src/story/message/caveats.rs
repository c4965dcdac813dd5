//! How far figures carry, and why some are not known.

use netfathom_model::grouping::by_key;
use netfathom_model::plan::{Carrier, Place, Placement};
use netfathom_model::print::counted;
use netfathom_model::record::{Counted, EndCost, MessageCell, MessageResult, MessageTrial};

/// Of what the kernel's workers ran.
pub(super) const WORKERS: &str = "of all kernel workers of the machine, for any purpose: an upper bound, except for workers that ended \
     meanwhile";

/// Why nothing is known of a thread of an end in the kernel.
pub(super) const IN_KERNEL: &str = "an end in the kernel has no thread of its own";

/// Where an end in the kernel runs; `None` where there is none.
pub(super) fn where_kernel_ends_run(result: &MessageResult) -> Option<&'static str> {
    result.cells.iter().any(|cell| in_kernel(cell.placement)).then_some(
        "an end in the kernel runs where its packets come in: mostly on the other end's CPU, whatever the \
         pair; compare K placements with UU on one CPU",
    )
}

pub(super) fn in_kernel(placement: Placement) -> bool {
    placement.kernel_client() || placement.kernel_server()
}

/// Why there are no segments where there can be none.
pub(super) fn no_segments(carrier: Carrier) -> Option<&'static str> {
    match carrier {
        Carrier::Tcp => None,
        Carrier::Udp => Some("over UDP there are no segments, and what TCP counts is not theirs"),
        Carrier::Unix => Some("over Unix sockets there are no segments, and what TCP counts is not theirs"),
    }
}

/// Why figures are not known, each reason once.
pub(super) fn reasons(result: &MessageResult) -> Vec<String> {
    let trials = || result.cells.iter().flat_map(|cell| &cell.trials);
    let mut all: Vec<String> = Vec::new();
    if result.cells.iter().any(|cell| in_kernel(cell.placement)) {
        all.push(IN_KERNEL.into());
    }
    if result.cells.iter().any(|cell| cell.times.n == 0 && cell.trials.iter().any(|t| t.messages > 0)) {
        all.push(untimed(result).into());
    }
    all.extend(no_segments(result.plan.carrier).map(String::from));
    if trials().any(|trial| trial.kernel_workers_ns.is_none()) {
        all.push(
            "what the kernel's workers ran could not be read: /proc of a PID namespace does not show them, nor does \
             a kernel without CONFIG_SCHED_INFO"
                .into(),
        );
    }
    if result.cells.iter().any(unread) {
        all.push(
            "what threads took could not be read of all of them, as one ended or was not let be seen".into(),
        );
    }
    all.extend(calls(result));
    all
}

/// Why messages that arrived have no times.
fn untimed(result: &MessageResult) -> &'static str {
    if matches!(result.plan.place, Place::To(_)) {
        "times one way between two hosts, which have no clock in common; pingpong times round trips"
    } else {
        "times of messages that the kernel took in or wrote: it counts them, and has no clock for each"
    }
}

/// Whether an end in user space has a trial without its processor time.
fn unread(cell: &MessageCell) -> bool {
    let without = |end: fn(&MessageTrial) -> &EndCost| cell.trials.iter().any(|t| end(t).cpu_ns.is_none());
    (!cell.placement.kernel_client() && without(|trial| &trial.client))
        || (!cell.placement.kernel_server() && without(|trial| &trial.server))
}

fn calls(result: &MessageResult) -> Vec<String> {
    let reasons = result.cells.iter().filter_map(|cell| match &cell.calls {
        Counted::Not(why) => Some((why, cell)),
        Counted::Calls(_) => None,
    });
    let line = |(why, cells): (&String, Vec<&MessageCell>)| {
        format!("system calls of {} were not counted: {why}", counted(cells.len(), "cell"))
    };
    by_key(reasons).into_iter().map(line).collect()
}
