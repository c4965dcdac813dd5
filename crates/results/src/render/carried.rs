//! What both pictures say of a transfer, in words.

use netfathom_model::plan::{Role, TransferPlan};
use netfathom_model::record::{
    CallTimes, Cause, Served, TcpState, TransferCost, TransferEnd, TransferResult, TransferStream, UdpCounts,
    ZeroCopied,
};
use netfathom_model::units::format_duration;

use super::digits::{bits_per_s, grouped};

/// Names and what stands for them.
pub(crate) type Words = Vec<(&'static str, String)>;

/// How much of it is there.
pub(crate) fn there(result: &TransferResult) -> String {
    match result.plan.planned_bytes() {
        Some(planned) => format!("{} of {planned} bytes went", result.bytes()),
        None => format!("{} bytes went", result.bytes()),
    }
}

/// Bits a second of all of it: `94.5 Mb/s`.
pub(crate) fn rate(result: &TransferResult) -> String {
    result.bytes_per_s().map_or_else(|| "n/a".into(), bits_per_s)
}

/// Processor time of a kibibyte at this end.
pub(crate) fn cpu_per_kib(stream: &TransferStream) -> Option<f64> {
    let spent = (stream.user_ns + stream.system_ns) as f64;
    (stream.bytes > 0).then(|| spent / (stream.bytes as f64 / 1024.0))
}

/// What became of the checksum, where there is one.
pub(crate) fn checksum(stream: &TransferStream) -> Option<String> {
    let checksum = stream.checksum.as_ref()?;
    let agrees = if checksum.agrees { "the same at both ends" } else { "NOT the same at the other end" };
    Some(format!("SHA-256 {}, {agrees}", checksum.sha256))
}

/// What was asked for.
pub(crate) fn plan_words(plan: &TransferPlan) -> Words {
    let yes = |on: bool| if on { "yes" } else { "no" }.to_owned();
    let source = match (plan.made_up, plan.role) {
        (true, Role::Transmit) if plan.time_ns.is_some() => {
            format!("made up, for {}", format_duration(plan.time_ns.unwrap_or(0)))
        }
        (true, Role::Transmit) => format!("made up, {} buffers", plan.buffers),
        (true, Role::Receive) => "thrown away".into(),
        (false, Role::Transmit) => "from standard input".into(),
        (false, Role::Receive) => "to standard output".into(),
    };
    let mut words = vec![
        ("end", if plan.role == Role::Transmit { "transmitter" } else { "receiver" }.to_owned()),
        ("protocol", plan.protocol.name().to_owned()),
        ("host", plan.host.clone().unwrap_or_else(|| "any".into())),
        ("port", plan.port.to_string()),
        ("data", source),
        (
            "buffer",
            format!("{} bytes, at {} behind a multiple of {}", plan.buffer_bytes, plan.offset, plan.align),
        ),
        (
            "socket's buffer",
            plan.socket_buffer_bytes.map_or("as the kernel likes".into(), |b| format!("{b} bytes")),
        ),
        ("TCP_NODELAY", yes(plan.no_delay)),
        ("idle time", format_duration(plan.idle_ns)),
    ];
    words.extend(newer_words(plan));
    let switches = [
        ("SO_DEBUG", plan.debug),
        ("whole buffers only", plan.full_blocks),
        ("each byte looked at", plan.touch),
        ("left in the kernel", plan.discard),
        ("checksum", plan.checksum),
        ("watched, to explain it", plan.explain),
        ("without a copy, where it can be", plan.zero_copy),
    ];
    words.extend(switches.into_iter().filter(|s| s.1).map(|(name, on)| (name, yes(on))));
    words
}

/// What the classic does not have, where it was asked for.
fn newer_words(plan: &TransferPlan) -> Words {
    let mut words = Words::new();
    if plan.streams > 1 {
        words.push(("streams at once", plan.streams.to_string()));
    }
    if let Some(bits) = plan.pace_bits_per_s {
        words.push(("at most", format!("{} each stream", bits_per_s(bits as f64 / 8.0))));
    }
    words.extend(plan.congestion.clone().map(|name| ("congestion control asked for", name)));
    if let Some(service) = &plan.serve {
        let most = service.most_bytes.map_or("any number of".into(), |bytes| grouped(bytes as f64, 0));
        words.push(("senders at once", format!("at most {}", service.most_clients)));
        words.push((
            "of each",
            format!("{most} bytes, cut off after {} without any", format_duration(service.timeout_ns)),
        ));
    }
    words
}

/// How it ended, where that is not as it should be.
pub(crate) fn ended(end: &TransferEnd) -> Option<String> {
    let text = match end {
        TransferEnd::Whole => return None,
        TransferEnd::Acknowledged => "acknowledged, but the receiver did not close",
        TransferEnd::Unconfirmed => "unconfirmed, as all of UDP",
        TransferEnd::Idle => "no end came",
        TransferEnd::Stopped => "stopped by its user",
        TransferEnd::Interrupted => "interrupted by its user",
        TransferEnd::Broken { why } => return Some(format!("broke off: {why}")),
    };
    Some(text.into())
}

/// How it ended, in a word or two.
pub(crate) fn ended_briefly(end: &TransferEnd) -> &'static str {
    match end {
        TransferEnd::Whole => "whole",
        TransferEnd::Acknowledged => "acknowledged",
        TransferEnd::Unconfirmed => "unconfirmed",
        TransferEnd::Idle => "no end came",
        TransferEnd::Stopped => "stopped",
        TransferEnd::Interrupted => "interrupted",
        TransferEnd::Broken { .. } => "broke off",
    }
}

/// How much went without a copy: `16,000,000 bytes without a copy, 777,216 copied`.
pub(crate) fn zero_copied(zero: &ZeroCopied) -> String {
    let mut text = format!(
        "{} bytes without a copy, {} copied",
        grouped(zero.uncopied_bytes as f64, 0),
        grouped(zero.copied_bytes as f64, 0)
    );
    if zero.unknown_bytes > 0 {
        text += &format!(", of {} nobody can tell", grouped(zero.unknown_bytes as f64, 0));
    }
    text
}

/// Milliseconds in as many digits as they deserve.
fn millis(ns: u64) -> String {
    let ms = ns as f64 / 1e6;
    let digits = if ms < 1.0 { 3 } else { usize::from(ms < 100.0) };
    format!("{} ms", grouped(ms, digits))
}

/// Where the time of a stream's thread went.
pub(crate) fn call_words(took: &CallTimes) -> Words {
    vec![
        ("in calls on the socket", millis(took.socket_ns)),
        ("waiting for standard input or output", millis(took.standard_ns)),
        ("ready, waiting for a processor", millis(took.runqueue_ns)),
        ("median of a call", millis(took.p50_ns)),
        ("99 of 100 calls below", millis(took.p99_ns)),
        ("longest call", millis(took.longest_ns)),
        ("calls of 30 to 60 ms", grouped(took.delayed_calls as f64, 0)),
    ]
}

/// What it took of this host's processors.
pub(crate) fn cost_words(cost: &TransferCost) -> Words {
    let known = |ns: Option<u64>| ns.map_or_else(|| "n/a".into(), millis);
    let mut words = vec![
        ("this process", millis(cost.process_ns)),
        ("softirqs on top of it", known(cost.own_softirq_ns)),
        ("softirqs that others were charged with", known(cost.softirq_ns)),
        (
            "all of it for 1024 bytes",
            format!("{} ns", grouped(cost.ns_per_kib, usize::from(cost.ns_per_kib < 100.0))),
        ),
    ];
    words.extend(cost.left_out.clone().map(|why| ("softirqs were not counted", why)));
    words
}

/// What a receiver did that served.
pub(crate) fn served_words(served: &Served) -> Words {
    let counts = [
        ("streams that came to their end", served.whole),
        ("broke off, or sent nothing for too long", served.broken),
        ("cut after as many bytes as one may send", served.too_long),
        ("turned away, too many being there", served.turned_away),
        ("the most at once", served.most_at_once.into()),
        ("bytes of all of them", served.bytes),
    ];
    counts.map(|(name, count)| (name, grouped(count as f64, 0))).to_vec()
}

/// A cause with the share of the time that it took; of some there is no share.
pub(crate) fn cause_words(cause: Cause, share: f64) -> String {
    match cause {
        Cause::Nothing => "nothing".into(),
        Cause::TooShort => cause.name().into(),
        _ => format!("{}, {:.0} % of the time", cause.name(), share * 100.0),
    }
}

/// What the kernel said of a connection.
pub(crate) fn connection_words(tcp: &TcpState) -> Words {
    let known = |value: Option<u64>, unit: &str| {
        value.map_or("n/a: the kernel is too old".into(), |v| format!("{v} {unit}"))
    };
    vec![
        ("segments sent again", tcp.retransmits.to_string()),
        ("round trip", format!("{} ± {} us", tcp.rtt_us, tcp.rttvar_us)),
        ("shortest round trip", tcp.min_rtt_us.map_or("n/a".into(), |us| format!("{us} us"))),
        ("congestion window", format!("{} segments of {} bytes", tcp.cwnd, tcp.mss_bytes)),
        ("the peer's window", known(tcp.peer_window_bytes.map(u64::from), "bytes")),
        ("busy sending", known(tcp.busy_us, "us")),
        ("of that, held up by the peer's window", known(tcp.window_limited_us, "us")),
        ("of that, held up by the send buffer", known(tcp.buffer_limited_us, "us")),
    ]
}

/// What a UDP end counted.
pub(crate) fn datagram_words(udp: &UdpCounts) -> Words {
    let counts = [
        ("of data", udp.datagrams),
        ("marks", udp.marks),
        ("of other senders", udp.foreign),
        ("longer than the buffer", udp.truncated),
        ("found the socket full", udp.dropped),
        ("tried again, the device being full", udp.retried),
    ];
    counts.map(|(name, count)| (name, count.to_string())).to_vec()
}
