//! What both pictures say of a transfer, in words.

use netfathom_model::plan::{Role, TransferPlan};
use netfathom_model::record::{TcpState, TransferResult, TransferStream, UdpCounts};
use netfathom_model::units::format_duration;

/// Names and what stands for them.
pub(crate) type Words = Vec<(&'static str, String)>;

/// How much of it is there.
pub(crate) fn there(result: &TransferResult) -> String {
    match result.plan.planned_bytes() {
        Some(planned) => format!("{} of {planned} bytes went", result.bytes()),
        None => format!("{} bytes went", result.bytes()),
    }
}

/// Bits a second, by thousands as networks have them: `94.5 Mb/s`.
pub(crate) fn rate(result: &TransferResult) -> String {
    let Some(bits) = result.bytes_per_s().map(|bytes| bytes * 8.0) else { return "n/a".into() };
    match bits {
        b if b >= 1e9 => format!("{:.2} Gb/s", b / 1e9),
        b if b >= 1e6 => format!("{:.1} Mb/s", b / 1e6),
        b => format!("{:.1} kb/s", b / 1e3),
    }
}

/// Processor time of a kibibyte at this end.
pub(crate) fn cpu_per_kib(stream: &TransferStream) -> Option<f64> {
    let spent = (stream.user_ns + stream.system_ns) as f64;
    (stream.bytes > 0).then(|| spent / (stream.bytes as f64 / 1024.0))
}

/// What became of the checksum, where there is one.
pub(crate) fn checksum(result: &TransferResult) -> Option<String> {
    let checksum = result.checksum.as_ref()?;
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
    let switches = [
        ("SO_DEBUG", plan.debug),
        ("whole buffers only", plan.full_blocks),
        ("each byte looked at", plan.touch),
        ("left in the kernel", plan.discard),
        ("checksum", plan.checksum),
    ];
    words.extend(switches.into_iter().filter(|s| s.1).map(|(name, on)| (name, yes(on))));
    words
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
