//! Of `netfathom ttcp`.

use netfathom_model::record::{TcpState, TransferResult, TransferStream};

use super::{Better, Quantity, Unit};

const US: f64 = 1000.0;

/// How fast it was, and what it took. A transfer is one trial, with all of its streams.
pub fn of(result: &TransferResult) -> Vec<Quantity> {
    let streams = &result.streams;
    let cost = result.cost.as_ref();
    let kib = result.bytes() as f64 / 1024.0;
    let own = streams.iter().map(|s| s.user_ns as f64 + s.system_ns as f64).sum::<f64>();
    let tcp: Vec<&TcpState> = streams.iter().filter_map(|stream| stream.tcp.as_ref()).collect();
    let of_calls = streams.iter().filter_map(|s| Some(s.calls_took?.p99_ns));
    let count = |name: &str, title: &str, value: Option<u64>| {
        Quantity::new((name, title), (Unit::Count, Better::Less), value.map(|n| n as f64))
    };
    vec![
        Quantity::new(
            ("rate", "bytes transferred"),
            (Unit::BytesPerSecond, Better::More),
            result.bytes_per_s(),
        )
        .main(true),
        Quantity::time("cpu.kib", "processor time of the host for 1024 bytes", cost.map(|c| c.ns_per_kib))
            .main(true),
        Quantity::time(
            "thread.kib",
            "processor time of the streams' threads for 1024 bytes",
            (kib > 0.0).then(|| own / kib),
        ),
        Quantity::time("rtt", "round trip, smoothed, longest of the streams", longest(&tcp)),
        count("retransmits", "segments sent again", total(&tcp)),
        count("dropped", "datagrams that the socket had no room for", dropped(streams)),
        Quantity::time(
            "call.p99",
            "a call on the socket, p99, longest of the streams",
            of_calls.max().map(|ns| ns as f64),
        ),
    ]
}

fn longest(tcp: &[&TcpState]) -> Option<f64> {
    tcp.iter().map(|state| state.rtt_us).max().map(|us| f64::from(us) * US)
}

fn total(tcp: &[&TcpState]) -> Option<u64> {
    (!tcp.is_empty()).then(|| tcp.iter().map(|state| u64::from(state.retransmits)).sum())
}

fn dropped(streams: &[TransferStream]) -> Option<u64> {
    let counts: Vec<u64> = streams.iter().filter_map(|s| s.udp.as_ref()).map(|udp| udp.dropped).collect();
    (!counts.is_empty()).then(|| counts.iter().sum())
}
