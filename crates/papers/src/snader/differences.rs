//! What differs from the original.

use netfathom_model::plan::ReproducePlan;
use netfathom_model::units::format_duration;

use super::ours::Ours;
use super::plans::{LOOPBACK, PATH};
use crate::beside::{named, short};

const ALWAYS: [&str; 4] = [
    "Both ends of the book are on one host (its capture has bsd.1187 > bsd.5013), in segments of 1448 bytes. Here both \
     ends are on one machine too: over a pair of virtual devices (lab), over loopback, and over a path with a rate and a \
     round trip of its own (path), which the book has not.",
    "Linux grants a buffer of 1448 bytes as 2304, which it doubles for its own data, and asks whether there is room \
     only before it begins a packet. The book's system held back what did not fit.",
    "Linux delays an acknowledgment for 40 ms (TCP_DELACK_MIN) where the book's system took nearly 200 ms, and sends it at once when two segments are there, or when the reader has emptied its buffer after a full one \
     (tcp_cleanup_rbuf).",
    "A segment of the book is 1448 bytes, as in the lab and over the path; over loopback it is 65483 bytes. There 16 KiB \
     is what is less than a segment.",
];

pub fn of(plan: &ReproducePlan, ours: &[Ours<'_>]) -> Vec<String> {
    let mut list: Vec<String> = ALWAYS.map(Into::into).into();
    if let Some(first) = ours.iter().find(|o| o.name != LOOPBACK) {
        list.push(format!(
            "A trial sends for {} (over loopback two and a half times as long) instead of 2048 writes, so that one that \
             stalls ends as well; there are {} of each, in an order drawn by lot. The book has one run of each.",
            format_duration(first.result.plan.time_ns),
            first.result.plan.trials
        ));
    }
    if !ours.is_empty() && named(ours, PATH).is_none() {
        list.push("Without root there is no lab and no path: what is here is of loopback alone.".into());
    }
    list.extend(short(plan, "fewer and shorter trials"));
    list
}
