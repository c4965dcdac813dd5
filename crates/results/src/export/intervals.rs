//! How a transfer went on, in intervals of about a second: what the formats of other tools tell of one.

use netfathom_model::record::{Measured, Measurement, TransferResult, TransferStream};

/// Length of an interval where the run was not asked for another.
const INTERVAL_NS: u64 = 1_000_000_000;

/// The measurement that has intervals.
pub fn transfer(measurement: &Measurement) -> Option<&TransferResult> {
    TransferResult::of(measurement)
}

/// One interval of one stream.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Interval {
    /// From the beginning of the first stream.
    pub start_ns: u64,
    pub end_ns: u64,
    /// Bytes that went in it.
    pub bytes: u64,
    /// Segments that were sent again in it; `None` where they were not counted.
    pub retransmits: Option<u64>,
    pub rtt_us: Option<u32>,
    /// Congestion window at its end, in segments.
    pub cwnd: Option<u32>,
}

impl Interval {
    pub fn seconds(&self) -> f64 {
        (self.end_ns - self.start_ns) as f64 / 1e9
    }

    /// `None` where no time passed.
    pub fn bits_per_s(&self) -> Option<f64> {
        (self.end_ns > self.start_ns).then(|| self.bytes as f64 * 8.0 / self.seconds())
    }
}

/// The intervals of a stream: between looks where it was watched, otherwise one from its beginning to its end.
fn of_stream(result: &TransferResult, stream: &TransferStream) -> Vec<Interval> {
    let length_ns = result.plan.interval_ns.filter(|&ns| ns > 0).unwrap_or(INTERVAL_NS);
    let end_ns = stream.began_ns + stream.duration_ns;
    let mut intervals: Vec<Interval> = Vec::new();
    let (mut start_ns, mut bytes, mut retransmits) = (stream.began_ns, 0, 0);
    for look in &stream.samples {
        // The last interval ends with the stream, not with the last look.
        if look.at_ns < start_ns + length_ns || look.at_ns >= end_ns {
            continue;
        }
        intervals.push(Interval {
            start_ns,
            end_ns: look.at_ns,
            bytes: look.bytes.saturating_sub(bytes),
            retransmits: Some(look.retransmits.saturating_sub(retransmits).into()),
            rtt_us: Some(look.rtt_us),
            cwnd: Some(look.cwnd),
        });
        (start_ns, bytes, retransmits) = (look.at_ns, look.bytes, look.retransmits);
    }
    if end_ns > start_ns || intervals.is_empty() {
        let tcp = stream.tcp.as_ref();
        intervals.push(Interval {
            start_ns,
            end_ns: end_ns.max(start_ns),
            bytes: stream.bytes.saturating_sub(bytes),
            retransmits: tcp.map(|tcp| tcp.retransmits.saturating_sub(retransmits).into()),
            rtt_us: tcp.map(|tcp| tcp.rtt_us),
            cwnd: tcp.map(|tcp| tcp.cwnd),
        });
    }
    intervals
}

/// The intervals of all streams, side by side: those that have one, by their places.
pub fn side_by_side(result: &TransferResult) -> Vec<Vec<(usize, Interval)>> {
    let each: Vec<Vec<Interval>> = result.streams.iter().map(|stream| of_stream(result, stream)).collect();
    let most = each.iter().map(Vec::len).max().unwrap_or(0);
    let there = |i| each.iter().enumerate().filter_map(move |(place, of)| Some((place, *of.get(i)?)));
    (0..most).map(|i| there(i).collect()).collect()
}

/// All streams as one.
pub fn together(intervals: impl Iterator<Item = Interval> + Clone) -> Interval {
    Interval {
        start_ns: intervals.clone().map(|i| i.start_ns).min().unwrap_or(0),
        end_ns: intervals.clone().map(|i| i.end_ns).max().unwrap_or(0),
        bytes: intervals.clone().map(|i| i.bytes).sum(),
        retransmits: intervals.map(|i| i.retransmits).sum(),
        rtt_us: None,
        cwnd: None,
    }
}
