//! What held a transfer up, from what was seen of it: no system calls, so that it can be asked of
//! any record.
//!
//! `facts` makes shares of the time out of the looks, `sender` and `receiver` make reasons out of
//! the shares, `network` those of the way between. The largest is the cause. What is particular to
//! this host, [`Host`] has, as far as it is known.

use std::net::SocketAddr;

use netfathom_model::plan::{Role, TransferPlan};
use netfathom_model::print;
use netfathom_model::record::{Cause, Explanation, Holder, TransferStream};

mod facts;
mod network;
mod others;
mod queue;
mod receiver;
mod remedy;
mod sender;
#[cfg(test)]
pub(super) mod tests;
mod text;

use facts::Facts;

/// Of fewer looks, chance makes the shares.
const LEAST_LOOKS: usize = 16;
/// What took a smaller share of the time is not worth mending.
const LEAST_SHARE: f64 = 0.1;
/// What takes this much of what the largest cause takes may be behind it.
const PART_OF_LARGEST: f64 = 0.25;
/// Smaller shares are not reported.
const REPORTED_SHARE: f64 = 0.02;
/// A program that takes this much in a second is not slow: 2 Gbit/s.
const FAST_BYTES_PER_S: f64 = 250e6;

/// A call takes as long as moving so much: 1.5 µs a call and 0.43 µs a KiB were seen with TCP over loopback (Linux 6.18).
const SMALL_BYTES: u64 = 2048;
/// From here on the call itself is a small part of the time.
const LARGE_BYTES: u64 = 64 << 10;

/// What is known of this host and its end of the connection, beside the looks: nothing of it need be.
#[derive(Clone, Debug, Default)]
pub(super) struct Host {
    /// What the socket's buffer was granted, where one was asked for.
    pub granted_buffer_bytes: Option<u32>,
    pub congestion: Option<String>,
    /// Least, default and largest size of a buffer that the kernel sizes, in bytes:
    /// `net.ipv4.tcp_wmem` of a sender, `net.ipv4.tcp_rmem` of a receiver.
    pub buffer_limits: Option<[u64; 3]>,
    /// The other process that ran longest meanwhile.
    pub busiest: Option<Busiest>,
    /// The processes at the other end, where that is this host.
    pub other_end: Vec<Holder>,
    /// How to raise the CPU quota of this end.
    pub raise_quota: String,
}

#[derive(Clone, Debug)]
pub(super) struct Busiest {
    pub by: Holder,
    /// How much of a CPU it used.
    pub cpus: f64,
}

impl Host {
    pub fn limits(text: &str) -> Option<[u64; 3]> {
        let numbers: Vec<u64> = text.split_ascii_whitespace().map_while(|n| n.parse().ok()).collect();
        numbers.try_into().ok()
    }
}

/// A stream with what is known of it, as seen from the end that has the plan.
#[derive(Clone, Copy)]
struct Case<'a> {
    plan: &'a TransferPlan,
    stream: &'a TransferStream,
    host: &'a Host,
}

/// One thing that may have held it up.
struct Reason {
    cause: Cause,
    share: f64,
    text: String,
    evidence: Vec<String>,
    remedy: String,
}

/// What held the stream up, as seen from the end that has the plan.
fn explain(plan: &TransferPlan, stream: &TransferStream, host: &Host) -> Explanation {
    let facts = Facts::of(plan, stream);
    if facts.looks < LEAST_LOOKS {
        let evidence = vec![format!("{} looks at the connection, {LEAST_LOOKS} are needed", facts.looks)];
        return alone(Cause::TooShort, "too short to explain", evidence, "send more, such as with --time 2s");
    }
    let case = Case { plan, stream, host };
    let reasons = match plan.role {
        Role::Transmit => sender::reasons(case, &facts),
        Role::Receive => receiver::reasons(case, &facts),
    };
    let small_window = plan.role == Role::Transmit && sender::has_small_window(&facts);
    let is_set = |cause| match cause {
        Cause::SendBuffer => plan.socket_buffer_bytes.is_some(),
        Cause::ReceiveWindow => plan.socket_buffer_bytes.is_some() || small_window,
        _ => false,
    };
    choose(reasons, is_set)
}

/// What held most of the streams up. It is that of the stream of them that it took longest.
pub(super) fn explain_all(
    plan: &TransferPlan,
    streams: &[TransferStream],
    host: &Host,
) -> Option<Explanation> {
    let all: Vec<Explanation> = streams.iter().map(|s| explain(plan, s, host)).collect();
    let same = |cause: Cause| all.iter().filter(|e| e.cause == cause).count();
    let often = all.iter().map(|e| e.cause).max_by_key(|&cause| (same(cause), cause))?;
    let of_it = all.iter().filter(|e| e.cause == often);
    let mut explanation = of_it.max_by(|a, b| a.share.total_cmp(&b.share))?.clone();
    if all.len() > 1 {
        let seen = format!("so with {} of {} streams; the figures are of one", same(often), all.len());
        explanation.evidence.insert(0, seen);
    }
    Some(explanation)
}

/// Of all the time, and with no other cause beside it.
fn alone(cause: Cause, text: &str, evidence: Vec<String>, remedy: &str) -> Explanation {
    let (text, remedy) = (text.into(), remedy.into());
    Explanation { cause, share: 1.0, text, evidence, remedy, others: Vec::new() }
}

/// That this end's processor is the limit.
fn busy(case: Case<'_>, share: f64, mut evidence: Vec<String>) -> Reason {
    let Case { plan, stream, host } = case;
    // Over loopback the kernel copies all the same.
    let peer = stream.peer.as_ref().and_then(|peer| peer.parse::<SocketAddr>().ok());
    let is_here = peer.is_some_and(|peer| peer.ip().is_loopback());
    let copies = plan.role == Role::Transmit && is_here;
    let (calls, small, otherwise) = match plan.role {
        Role::Transmit => ("writes", Cause::SmallWrites, "netfathom ttcp --zero-copy"),
        Role::Receive => ("reads", Cause::SmallReads, "--discard"),
    };
    let ran_ns = (stream.user_ns + stream.system_ns) as f64 / stream.calls.max(1) as f64;
    evidence.push(format!(
        "{} {calls} of at most {}; this end ran {} for each",
        print::count(stream.calls),
        text::bytes(plan.buffer_bytes),
        print::time(ran_ns)
    ));
    let small_buffer = plan.socket_buffer_bytes.is_some_and(|set| u64::from(set) < LARGE_BYTES);
    let (cause, text, remedy) = if plan.buffer_bytes <= SMALL_BYTES {
        let text =
            "the CPU of this end is the limit, and most of its time goes to the calls, not to the data";
        // A buffer below such a call would be the next limit.
        let without = if small_buffer { ", without -b" } else { "" };
        (small, text.to_owned(), format!("larger {calls}: -l 64k{without}"))
    } else {
        let text = "the CPU of this end is the limit".to_owned();
        let less = [
            small_buffer.then(|| "no -b (a small buffer takes many calls)".to_owned()),
            (plan.buffer_bytes < LARGE_BYTES).then(|| format!("larger {calls} (-l 128k)")),
            (!plan.zero_copy && !plan.discard && !copies).then(|| otherwise.to_owned()),
        ];
        let less: Vec<String> = less.into_iter().flatten().collect();
        let remedy = match less[..] {
            [] => "a faster CPU".into(),
            _ => format!("less CPU time: {}", less.join(" or ")),
        };
        (Cause::Processor, text, remedy)
    };
    let (seen, first) = others::of(stream, host, is_here);
    evidence.extend(seen);
    Reason { cause, share, text, evidence, remedy: format!("{first}{remedy}") }
}

/// A socket buffer that the user has set comes before a CPU that is the limit with it, unless it takes far less: each of
/// its waits takes CPU time too. Small calls have a remedy of their own, which drops a buffer that would be the next limit.
fn choose(mut reasons: Vec<Reason>, is_set: impl Fn(Cause) -> bool) -> Explanation {
    // Equals stay in their order: the first of them is reported.
    reasons.sort_by(|a, b| b.share.total_cmp(&a.share));
    let largest = reasons.first().map_or(0.0, |first| first.share.min(1.0));
    let is_theirs = |r: &Reason| is_set(r.cause) && r.share >= LEAST_SHARE.max(PART_OF_LARGEST * largest);
    if reasons.first().is_some_and(|first| !is_held_up(first)) {
        let theirs = reasons.iter().position(is_theirs).unwrap_or(0);
        reasons[..=theirs].rotate_right(1);
    }
    if reasons.first().is_none_or(|largest| largest.share < LEAST_SHARE) {
        let text = "nothing held it up that could be seen";
        return alone(Cause::Nothing, text, Vec::new(), "none is needed");
    }
    let chosen = reasons.remove(0);
    let others = reasons.iter().filter(|r| is_held_up(r) && r.share >= REPORTED_SHARE);
    Explanation {
        cause: chosen.cause,
        share: chosen.share.min(1.0),
        text: chosen.text,
        evidence: chosen.evidence,
        remedy: chosen.remedy,
        others: others.map(|r| (r.cause, r.share.min(1.0))).collect(),
    }
}

/// Whether it is anything but ends that do what they can.
fn is_held_up(reason: &Reason) -> bool {
    !matches!(reason.cause, Cause::Nothing | Cause::Processor | Cause::BothProcessors)
}
