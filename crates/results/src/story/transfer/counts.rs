//! What a transfer counted, and what was asked for, in words.

use netfathom_model::plan::{Role, TransferPlan};
use netfathom_model::print::{bit_rate, bytes, count, percent, time};
use netfathom_model::record::{
    CallTimes, Cause, Explanation, Packet, Packets, Served, Spread, TcpState, TransferCost, TransferEnd,
    TransferResult, TransferStream, UdpCounts, ZeroCopied,
};
use netfathom_model::units::format_duration;

use crate::story::Words;

pub(super) fn finished(result: &TransferResult) -> String {
    match result.plan.planned_bytes() {
        Some(planned) => format!("{} of {planned} bytes went", result.bytes()),
        None => format!("{} bytes went", result.bytes()),
    }
}

/// A rate into the socket is another one if it is more than this of what arrived.
const BUFFERED: f64 = 1.05;

/// Bits a second of all of it: `94.5 Mb/s`.
pub(super) fn rate(result: &TransferResult) -> String {
    let arrived = into_buffers(result).map(|(arrived, _)| arrived);
    arrived.or_else(|| result.bytes_per_s()).map_or_else(|| "n/a".into(), bit_rate)
}

/// Bytes a second that arrived and that went into the socket, where much was still in buffers after the last write.
fn into_buffers(result: &TransferResult) -> Option<(f64, f64)> {
    let (arrived, written) = (result.received_per_s()?, result.bytes_per_s()?);
    (written > BUFFERED * arrived).then_some((arrived, written))
}

/// Why the rate is lower than what the writes make it.
pub(super) fn buffered_words(result: &TransferResult) -> Option<String> {
    let (arrived, written) = into_buffers(result)?;
    let rest_ns = result.received_ns()?.saturating_sub(result.duration_ns());
    Some(format!(
        "{} is the rate until the last byte arrived; the writes, at {}, filled the socket buffers, which took {} more to empty",
        bit_rate(arrived),
        bit_rate(written),
        time(rest_ns as f64)
    ))
}

/// Processor time of a kibibyte at this end.
pub(super) fn cpu_per_kib(stream: &TransferStream) -> Option<f64> {
    (stream.bytes > 0).then(|| stream.cpu_ns() as f64 / (stream.bytes as f64 / 1024.0))
}

/// What became of the checksum, where there is one.
pub(super) fn checksum(stream: &TransferStream) -> Option<String> {
    let checksum = stream.checksum.as_ref()?;
    let agrees = if checksum.agrees { "the same at both ends" } else { "NOT the same at the other end" };
    Some(format!("SHA-256 {}, {agrees}", checksum.sha256))
}

/// What was asked for.
pub(super) fn plan_words(plan: &TransferPlan) -> Words {
    let yes = |on: bool| if on { "yes" } else { "no" }.to_owned();
    let source = match (plan.generated, plan.role) {
        (true, Role::Transmit) if plan.time_ns.is_some() => {
            format!("generated, for {}", format_duration(plan.time_ns.unwrap_or(0)))
        }
        (true, Role::Transmit) => format!("generated, {} buffers", plan.buffers),
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
            format!(
                "{} bytes, at an offset of {} from a multiple of {}",
                plan.buffer_bytes, plan.offset, plan.align
            ),
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
        words.push(("at most", format!("{} each stream", bit_rate(bits as f64 / 8.0))));
    }
    words.extend(plan.congestion.clone().map(|name| ("requested congestion control", name)));
    if let Some(service) = &plan.serve {
        let most = service.most_bytes.map_or("any number of".into(), count);
        words.push(("senders at once", format!("at most {}", service.most_clients)));
        words.push((
            "of each",
            format!("{most} bytes, cut off after {} without any", format_duration(service.timeout_ns)),
        ));
    }
    words
}

/// How it ended in a word or two, and the rest of it; no rest where that is as it should be.
pub(in crate::story) fn ended(end: &TransferEnd) -> (&'static str, Option<String>) {
    match end {
        TransferEnd::Whole => ("whole", None),
        TransferEnd::Acknowledged => ("acknowledged", Some(", but the receiver did not close".into())),
        TransferEnd::Unconfirmed => ("unconfirmed", Some(", as all of UDP".into())),
        TransferEnd::Idle => ("no end came", Some(String::new())),
        TransferEnd::Stopped => ("stopped", Some(" by its user".into())),
        TransferEnd::CutOff { unacknowledged_bytes } => {
            ("cut off", Some(format!(": {} were not acknowledged", bytes(*unacknowledged_bytes as f64))))
        }
        TransferEnd::Interrupted => ("interrupted", Some(" by its user".into())),
        TransferEnd::Broken { why } => ("broke off", Some(format!(": {why}"))),
    }
}

/// How much went without a copy: `16,000,000 bytes without a copy, 777,216 copied`.
pub(super) fn zero_copied(zero: &ZeroCopied) -> String {
    let mut text =
        format!("{} without a copy, {} copied", count(zero.uncopied_bytes), count(zero.copied_bytes));
    if zero.unknown_bytes > 0 {
        text += &format!(", unknown {}", count(zero.unknown_bytes));
    }
    text
}

/// Where the time of a stream's thread went.
pub(super) fn call_words(took: &CallTimes) -> Words {
    vec![
        ("in calls on the socket", time(took.socket_ns as f64)),
        ("waiting for standard input or output", time(took.standard_ns as f64)),
        ("waiting for a CPU", time(took.runqueue_ns as f64)),
        ("median of a call", time(took.p50_ns as f64)),
        ("99 of 100 calls below", time(took.p99_ns as f64)),
        ("longest call", time(took.longest_ns as f64)),
        ("calls of 30 to 60 ms", count(took.delayed_calls)),
    ]
}

pub(super) fn cost_words(cost: &TransferCost) -> Words {
    let known = |ns: Option<u64>| ns.map_or_else(|| "n/a".into(), |ns| time(ns as f64));
    let mut words = vec![
        ("this process", time(cost.process_ns as f64)),
        ("softirqs on top of it", known(cost.own_softirq_ns)),
        ("softirqs charged to others", known(cost.softirq_ns)),
        ("all of it per 1024 bytes", time(cost.ns_per_kib)),
    ];
    words.extend(cost.left_out.clone().map(|why| ("softirqs were not counted", why)));
    words
}

pub(super) fn served_words(served: &Served) -> Words {
    let counts = [
        ("streams that came to their end", served.whole),
        ("broke off, or sent nothing for too long", served.broken),
        ("cut after as many bytes as one may send", served.too_long),
        ("turned away, too many at once", served.turned_away),
        ("the most at once", served.most_at_once.into()),
        ("bytes of all of them", served.bytes),
    ];
    counts.map(|(name, n)| (name, count(n))).to_vec()
}

/// A cause in a sentence, with the share of the time that it took; of some there is no share.
pub(super) fn cause_words(e: &Explanation) -> String {
    match e.cause {
        Cause::Nothing | Cause::TooShort => e.text.clone(),
        cause => format!("{}, {} of the time: {}", cause.name(), percent(e.share), e.text),
    }
}

/// A cause in the table; where there is no fault, what took the time.
pub(super) fn row_name(cause: Cause) -> &'static str {
    match cause {
        Cause::Nothing => "other end",
        cause => cause.name(),
    }
}

/// What happened in the time that a cause is given.
pub(super) fn meaning(cause: Cause) -> &'static str {
    match cause {
        Cause::TooShort => "",
        Cause::Nothing => "this end waited for the other end, or ran",
        Cause::Processor => "this end ran, or waited for a CPU or the other end",
        Cause::BothProcessors => "this end ran, waited for a CPU, or for the receiver",
        Cause::SmallWrites => "this end ran, mostly for small writes, or waited for the other end",
        Cause::SmallReads => "this end ran, mostly for small reads, or waited for the other end",
        Cause::SendBuffer => "the send buffer was full",
        Cause::DelayedAcknowledgement => "it waited for delayed ACKs",
        Cause::Nagle => "a small segment waited for an ACK",
        Cause::ReceiveWindow => "the receiver's window was full",
        Cause::SlowSender => "the program had nothing to send",
        Cause::SlowReceiver => "the program did not read what was there",
        Cause::Loss => "lost segments were sent again",
        Cause::Path => "data waited for the congestion window or the path",
        Cause::Pace => "data waited for its time",
        Cause::Elsewhere => "this end waited for data, with room for it",
    }
}

/// A connection by the kernel's account (tcp_info).
pub(super) fn connection_words(tcp: &TcpState) -> Words {
    let known = |value: Option<String>| value.unwrap_or_else(|| "n/a: the kernel is too old".into());
    let us = |us: u64| time(us as f64 * 1000.0);
    vec![
        ("retransmitted segments", count(tcp.retransmits.into())),
        ("smoothed round trip", format!("{}, variation {}", us(tcp.rtt_us.into()), us(tcp.rttvar_us.into()))),
        ("shortest round trip", tcp.min_rtt_us.map_or("n/a".into(), |shortest| us(shortest.into()))),
        (
            "congestion window",
            format!("{} segments of {} bytes", count(tcp.cwnd.into()), count(tcp.mss_bytes.into())),
        ),
        ("receive window of the peer", known(tcp.peer_window_bytes.map(|window| bytes(window.into())))),
        ("busy sending", known(tcp.busy_us.map(us))),
        ("of that, limited by the receive window", known(tcp.window_limited_us.map(us))),
        ("of that, limited by the send buffer (tcp_info)", known(tcp.buffer_limited_us.map(us))),
    ]
}

pub(super) fn datagram_words(udp: &UdpCounts) -> Words {
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

/// Such as `P 8193:9641(1448)` and `. ack 9641`.
pub fn packet(packet: &Packet) -> String {
    let flags = if packet.push { "P" } else { "." };
    if packet.sent {
        let end = packet.first_byte + u64::from(packet.bytes);
        return format!("{flags} {}:{end}({})", packet.first_byte, packet.bytes);
    }
    format!("{flags} ack {}", packet.acknowledged)
}

/// Such as `1,200 segments of 1,448 bytes, 98 % with PSH; from one to the next 200 ms, until acknowledged 200 ms (medians)`.
pub fn packet_words(seen: &Packets) -> String {
    let share = seen.pushed as f64 / seen.segments.max(1) as f64;
    let times = |spread: Option<Spread>| {
        let words = |s: Spread| format!("{} (at most {})", time(s.p50_ns as f64), time(s.longest_ns as f64));
        spread.map_or_else(|| "unknown".into(), words)
    };
    format!(
        "{} segments of {} bytes, {} with PSH; median time to the next {}, to the ACK {}",
        count(seen.segments),
        count(seen.segment_bytes),
        percent(share),
        times(seen.between),
        times(seen.acknowledged)
    )
}
