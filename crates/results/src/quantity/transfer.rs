//! Of `netfathom ttcp`.

use netfathom_model::record::{TcpState, TransferResult, TransferStream};
use serde_json::{Value, json};

use super::{Better, Curve, Figures, Point, Quantity, Unit};

const US: f64 = 1000.0;

impl Figures for TransferResult {
    /// How fast it was, and what it took. A transfer is one trial, with all of its streams.
    fn quantities(&self) -> Vec<Quantity> {
        let streams = &self.streams;
        let cost = self.cost.as_ref();
        let kib = self.bytes() as f64 / 1024.0;
        let own = streams.iter().map(|s| s.cpu_ns() as f64).sum::<f64>();
        let tcp: Vec<&TcpState> = streams.iter().filter_map(|stream| stream.tcp.as_ref()).collect();
        let of_calls = streams.iter().filter_map(|s| Some(s.calls_took?.p99_ns));
        let count = |name: &str, title: &str, value: Option<u64>| {
            Quantity::new((name, title), (Unit::Count, Better::Less), value.map(|n| n as f64))
        };
        vec![
            Quantity::new(
                ("rate", "bytes transferred"),
                (Unit::BytesPerSecond, Better::More),
                self.bytes_per_s(),
            )
            .main(true),
            Quantity::time("cpu.kib", "CPU time of the host for 1024 bytes", cost.map(|c| c.ns_per_kib))
                .main(true),
            Quantity::time(
                "thread.kib",
                "CPU time of the streams' threads for 1024 bytes",
                (kib > 0.0).then(|| own / kib),
            ),
            Quantity::time("rtt", "smoothed round trip of the slowest stream", longest(&tcp)),
            count("retransmits", "retransmitted segments", total(&tcp)),
            count("dropped", "datagrams that the socket had no room for", dropped(streams)),
            Quantity::time(
                "call.p99",
                "p99 of the calls on the socket of the slowest stream",
                of_calls.max().map(|ns| ns as f64),
            ),
        ]
    }

    fn choices(&self) -> Vec<(&'static str, Value)> {
        vec![("way", json!(self.way)), ("congestion", json!(self.congestion))]
    }

    fn curves(&self) -> Vec<Curve> {
        let watched = self.streams.iter().enumerate().filter(|(_, stream)| !stream.samples.is_empty());
        watched.flat_map(|(place, stream)| curves_of(place + 1, stream)).collect()
    }
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

fn curves_of(number: usize, stream: &TransferStream) -> [Curve; 5] {
    // The first look may be a little before the stream's own beginning was taken.
    let first_ns = stream.samples.first().map_or(stream.began_ns, |look| look.at_ns.min(stream.began_ns));
    let mut from = (first_ns, 0);
    let spans: Vec<(u64, u64, u64)> = stream
        .samples
        .iter()
        .map(|look| {
            let (start_ns, bytes) = std::mem::replace(&mut from, (look.at_ns, look.bytes));
            (start_ns, look.at_ns, look.bytes.saturating_sub(bytes))
        })
        .collect();
    let curve = |what: &str, unit, value: &dyn Fn(usize) -> Option<f64>| Curve {
        name: format!("stream.{number}.{what}"),
        unit,
        trial: None,
        points: (spans.iter().enumerate())
            .map(|(i, &(start_ns, end_ns, _))| Point {
                start_ns,
                end_ns,
                value: value(i),
                ..Point::default()
            })
            .collect(),
    };
    let look = |i: usize| &stream.samples[i];
    [
        curve("throughput", "bytes_per_s", &|i| {
            let (start, end, bytes) = spans[i];
            (end > start).then(|| bytes as f64 * 1e9 / (end - start) as f64)
        }),
        curve("rtt", "ns", &|i| Some(f64::from(look(i).rtt_us) * 1e3)),
        curve("cwnd", "segments", &|i| Some(look(i).cwnd.into())),
        curve("queued", "bytes", &|i| Some(look(i).queued_bytes.into())),
        curve("retransmits", "count", &|i| Some(look(i).retransmits.into())),
    ]
}
