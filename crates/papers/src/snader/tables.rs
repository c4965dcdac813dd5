//! The book's transfers, and ours beside them.

use netfathom_model::plan::SweepEnds;
use netfathom_model::record::{BesideRow, BesideTable, Cell, SweepPoint, SweepTrial};

use super::originals::{self, BYTES, Printed, kb_per_s, write_ms};
use super::ours::{Ours, mean};
use super::plans::PATH;
use crate::beside::{beside_table, named, own, plain, source};

/// Such as `here, path, -b 1448 -D`.
fn who(ours: &Ours<'_>, point: &SweepPoint) -> String {
    let buffer = point.socket_buffer_bytes.map_or(", default".into(), |bytes| format!(", -b {bytes}"));
    format!("here, {}{buffer}{}", ours.name, if point.no_delay { " -D" } else { "" })
}

pub fn transfers(ours: &[Ours<'_>]) -> BesideTable {
    let printed = originals::printed().into_iter().map(|of: Printed| {
        let write = plain(write_ms(BYTES / of.seconds.value));
        let cells = [of.kb_per_s, of.seconds, of.msec_per_call, write].map(Some);
        source(format!("Snader, ttcp {} bsd", of.options), cells.into_iter().chain([None]).collect())
    });
    let here = ours.iter().flat_map(|o| o.books().map(move |p| row(o, p)));
    beside_table(
        "2048 writes of 8192 bytes",
        "KB/s (of 1024 bytes)|16,777,216 bytes, s|msec/call, as ttcp counts|a write, ms|send buffer granted, bytes",
        printed.chain(here),
        "ttcp multiplies msec/call by 1.024: 1228.62 is a write of 1199.8 ms. By our count a write is six \
         segments, and by the book each waits 200 ms for its acknowledgment. Ours: mean of the trials and \
         half its 95 % interval, until the receiver had everything; what 16,777,216 bytes take follows from the rate.",
    )
}

fn row(ours: &Ours<'_>, point: &SweepPoint) -> BesideRow {
    let rate = |t: &SweepTrial| t.bytes_per_s().filter(|&r| r > 0.0);
    let cells = vec![
        mean(point, |t| rate(t).map(kb_per_s)),
        mean(point, |t| rate(t).map(|r| BYTES / r)),
        mean(point, |t| rate(t).map(|r| 1.024 * write_ms(r))),
        mean(point, |t| rate(t).map(write_ms)),
        point.granted_buffer_bytes.map(|bytes| plain(bytes.into())),
    ];
    own(who(ours, point), cells)
}

/// What each was held up by, and what makes us think so.
pub fn held_up(ours: &[Ours<'_>]) -> BesideTable {
    // What a trace of the system calls showed.
    let traced = [("-tsv", 0.3), ("-tsvb 1448", 1200.0)].map(|(options, write_ms)| {
        let write = Cell { printed: Some(format!("~{write_ms}")), ..plain(write_ms) };
        source(format!("Snader, ttcp {options} bsd"), vec![None, None, Some(write), None, None])
    });
    let here = ours.iter().flat_map(|o| o.result.points.iter().map(move |p| causes(o, p)));
    beside_table(
        "What held it up",
        "limited by|of the time, %|median write call, ms|calls of 30 to 60 ms, of 1000|held up by the send buffer, % of busy time",
        traced.into_iter().chain(here),
        "The book's writes are those of its trace of system calls; it puts the second one down to delayed \
         acknowledgments (figure 4.12: 200 ms from segment to segment). Calls of 30 to 60 ms are those that a delayed ACK of Linux, 40 ms, would show in; two round \
         trips of the path are shorter. The last column is the kernel's own count (tcp_info, tcpi_sndbuf_limited).",
    )
}

fn causes(ours: &Ours<'_>, point: &SweepPoint) -> BesideRow {
    let cause = point.cause.map(|(cause, share)| (cause.name(), 100.0 * share));
    let cells = vec![
        cause.map(|(name, share)| Cell { printed: Some(name.into()), ..plain(share) }),
        cause.map(|(_, share)| plain(share)),
        mean(point, |t| Some(t.calls_took?.p50_ns as f64 / 1e6)),
        mean(point, |t| Some(1e3 * t.calls_took?.delayed_calls as f64 / t.calls.max(1) as f64)),
        mean(point, |t| buffer_limited(t).map(|share| 100.0 * share)),
    ];
    own(who(ours, point), cells)
}

/// Part of the time with something to send in which the send buffer was too small, as the kernel
/// counts it.
pub fn buffer_limited(trial: &SweepTrial) -> Option<f64> {
    let tcp = trial.tcp?;
    let busy = tcp.busy_us.filter(|&us| us > 0)?;
    Some(tcp.buffer_limited_us? as f64 / busy as f64)
}

/// What went in a round trip of the path.
pub fn over_path(ours: &[Ours<'_>]) -> Vec<BesideTable> {
    let Some(path) = named(ours, PATH) else { return Vec::new() };
    let SweepEnds::Lab { wire: Some(wire) } = &path.result.plan.ends else { return Vec::new() };
    let trip_s = 2.0 * wire.delay_ns as f64 / 1e9;
    let row = |p: &SweepPoint| {
        let a_trip = |t: &SweepTrial| t.bytes_per_s().map(|rate| rate * trip_s);
        let times = |t: &SweepTrial| Some(a_trip(t)? / f64::from(p.granted_buffer_bytes?));
        let cells = vec![
            p.granted_buffer_bytes.map(|bytes| plain(bytes.into())),
            mean(p, |t| t.bytes_per_s().map(kb_per_s)),
            mean(p, a_trip),
            mean(p, times),
        ];
        own(who(path, p), cells)
    };
    vec![beside_table(
        format!("Over the path, with a round trip of {:.0} ms", 1e3 * trip_s),
        "send buffer granted, bytes|KB/s (of 1024 bytes)|bytes a round trip|bytes a round trip / buffer",
        path.result.points.iter().map(row),
        "The source has no such path: all rows are of this machine. The kernel grants a buffer twice over, to have \
         room for its own data, and lets one more packet in, of up to 64 KB, as long as the buffer is not full: what \
         goes in a round trip is therefore more than the buffer, and the more so the smaller it is.",
    )]
}
