//! A transfer over time: its rate, and what lay where.

use netfathom_model::plan::Role;
use netfathom_model::record::{TransferResult, TransferSample, TransferStream};

use crate::page::{Axis, Block, Chart, Color, Look, Page, Series};

/// Looks beyond these would lie within one pixel of each other.
const MOST_LOOKS: usize = 512;
/// Streams beyond these are hard to tell from each other in a picture.
const MOST_STREAMS: usize = 8;

const COLORS: [Color; MOST_STREAMS] =
    ["rx", "call", "lag", "planned", "stage-wakeup", "stage-sockqueue", "rate", "muted"];

pub(super) fn draw(page: &mut Page, result: &TransferResult) {
    let watched: Vec<(usize, &TransferStream)> =
        result.streams.iter().enumerate().filter(|(_, s)| s.samples.len() > 1).collect();
    if watched.is_empty() {
        return;
    }
    page.chart(rates(&watched));
    let lay = |&(i, stream): &(usize, &TransferStream)| {
        let chart = where_it_lay(i, stream, result.plan.role);
        (format!("stream {}", i + 1), vec![Block::Chart(chart)])
    };
    page.choice("Stream", watched.iter().take(MOST_STREAMS).map(lay).collect());
}

fn rates(watched: &[(usize, &TransferStream)]) -> Chart {
    let times = times(watched);
    let each: Vec<Vec<Option<f64>>> = watched.iter().map(|(_, s)| growth(&s.samples, &times)).collect();
    let sum: Vec<Option<f64>> =
        (0..times.len()).map(|i| Some(each.iter().filter_map(|rates| rates[i]).sum())).collect();
    let line = |label: String, color, look, values| Series { values, ..Series::new(label, color, look) };
    let again = sent_again(watched, &times, &sum);
    let all = if watched.len() == 1 { "rate" } else { "all streams" };
    let mut series = vec![line(all.into(), "tx", Look::Steps, sum)];
    if watched.len() > 1 {
        let single = each.into_iter().zip(watched).zip(COLORS);
        series.extend(
            single.map(|((v, (i, _)), color)| line(format!("stream {}", i + 1), color, Look::Steps, v)),
        );
    }
    if again.iter().any(Option::is_some) {
        series.push(line("retransmitted segments".into(), "void", Look::Dots, again));
    }
    Chart {
        id: "transfer-rate".into(),
        title: "Rate".into(),
        about: "Bits a second between two looks.".into(),
        x: Axis::Run,
        y: Axis::BitRate,
        height: 240,
        sync: Some("transfer".into()),
        xs: times.iter().map(|ns| ns / 1e9).collect(),
        series,
        note: Some("Sampled while it ran; between two samples the rate is their difference."),
        ..Chart::default()
    }
}

/// The times at which all streams are looked at, ns.
fn times(watched: &[(usize, &TransferStream)]) -> Vec<f64> {
    let mut all: Vec<u64> = watched.iter().flat_map(|(_, s)| s.samples.iter().map(|l| l.at_ns)).collect();
    all.sort_unstable();
    all.dedup();
    let (Some(&first), Some(&last)) = (all.first(), all.last()) else { return Vec::new() };
    if all.len() <= MOST_LOOKS {
        return all.iter().map(|&ns| ns as f64).collect();
    }
    let step = (last - first) as f64 / (MOST_LOOKS - 1) as f64;
    (0..MOST_LOOKS).map(|i| first as f64 + step * i as f64).collect()
}

/// Bits a second from each time to the next; the last stands for itself as well.
fn growth(samples: &[TransferSample], times: &[f64]) -> Vec<Option<f64>> {
    let bytes: Vec<f64> = times.iter().map(|&at| bytes_at(samples, at)).collect();
    let steps = times.windows(2).zip(bytes.windows(2));
    let rate = |(t, b): (&[f64], &[f64])| (t[1] > t[0]).then(|| (b[1] - b[0]).max(0.0) * 8e9 / (t[1] - t[0]));
    let mut rates: Vec<Option<f64>> = steps.map(rate).collect();
    rates.push(rates.last().copied().flatten());
    rates
}

/// Bytes of a stream at a time. It has looks of its own, so what it had in between is taken to have grown evenly.
fn bytes_at(samples: &[TransferSample], at: f64) -> f64 {
    let after = samples.partition_point(|l| l.at_ns as f64 <= at);
    let Some(before) = after.checked_sub(1).map(|i| &samples[i]) else { return 0.0 };
    let Some(next) = samples.get(after) else { return before.bytes as f64 };
    let part = (at - before.at_ns as f64) / (next.at_ns.saturating_sub(before.at_ns).max(1) as f64);
    before.bytes as f64 + (next.bytes as f64 - before.bytes as f64) * part
}

/// The rate at the looks before which segments were sent again.
fn sent_again(
    watched: &[(usize, &TransferStream)],
    times: &[f64],
    rates: &[Option<f64>],
) -> Vec<Option<f64>> {
    let mut again = vec![None; times.len()];
    for pair in watched.iter().flat_map(|(_, s)| s.samples.windows(2)) {
        if pair[1].retransmits > pair[0].retransmits {
            let place = times.partition_point(|&t| t < pair[1].at_ns as f64).min(times.len() - 1);
            again[place] = rates[place];
        }
    }
    again
}

/// In flight, waiting, and what the peer would take.
fn where_it_lay(place: usize, stream: &TransferStream, role: Role) -> Chart {
    let line = |label: &str, color, look, of: &dyn Fn(&TransferSample) -> f64| Series {
        values: stream.samples.iter().map(|sample| Some(of(sample))).collect(),
        ..Series::new(label, color, look)
    };
    let mut series = Vec::new();
    if role == Role::Transmit {
        if let Some(tcp) = &stream.tcp {
            let segment = f64::from(tcp.mss_bytes);
            series.push(line("in flight", "tx", Look::Strong, &|l| f64::from(l.in_flight) * segment));
            series.push(line("congestion window", "lag", Look::Thin, &|l| f64::from(l.cwnd) * segment));
        }
        series.push(line("waits unsent", "rx", Look::Strong, &|l| f64::from(l.unsent_bytes)));
        series.push(line("the peer's receive window", "call", Look::Dashed, &|l| {
            f64::from(l.peer_window_bytes)
        }));
    } else {
        series.push(line("waits to be read", "rx", Look::Strong, &|l| f64::from(l.queued_bytes)));
    }
    let title = if role == Role::Transmit { "In flight, and its limits" } else { "Waits to be read" };
    Chart {
        id: format!("transfer-lay-{place}"),
        title: title.into(),
        about: "Bytes at each look.".into(),
        x: Axis::Run,
        y: Axis::Bytes,
        height: 200,
        sync: Some("transfer".into()),
        xs: stream.samples.iter().map(|l| l.at_ns as f64 / 1e9).collect(),
        series,
        ..Chart::default()
    }
}
