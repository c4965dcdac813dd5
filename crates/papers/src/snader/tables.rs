//! The book's run, what its explanation predicts of the other, and ours beside them.

use netfathom_model::plan::SweepEnds;
use netfathom_model::record::{BesideRow, BesideTable, Cell, SweepPoint, SweepTrial};

use super::derived::{self, BYTES, kb_per_s, write_ms};
use super::ours::{Ours, mean, named};
use super::plans::PATH;

const DERIVED: &str = "derived, not printed: send buffer of one segment";

fn plain(value: f64) -> Cell {
    Cell { value, half_width: None, printed: None }
}

fn cell(of: Option<(f64, Option<f64>)>) -> Option<Cell> {
    of.filter(|(value, _)| value.is_finite()).map(|(value, half_width)| Cell {
        value,
        half_width,
        printed: None,
    })
}

/// Such as `here, path, -b 1448 -D`.
fn who(ours: &Ours<'_>, point: &SweepPoint) -> String {
    let buffer = point.socket_buffer_bytes.map_or(", default".into(), |bytes| format!(", -b {bytes}"));
    format!("here, {}{buffer}{}", ours.name, if point.no_delay { " -D" } else { "" })
}

/// The book's columns.
pub fn transfers(ours: &[Ours<'_>]) -> BesideTable {
    let printed = derived::printed().map(|(rate, seconds)| {
        let write = plain(1e3 * seconds.value / (BYTES / derived::WRITE_BYTES as f64));
        source("Snader, default send buffer", vec![Some(rate), Some(seconds), Some(write), None])
    });
    let stalled = source(
        DERIVED,
        vec![
            Some(plain(kb_per_s(BYTES / derived::stalled_s()))),
            Some(plain(derived::stalled_s())),
            Some(plain(1e3 * derived::stalled_write_s())),
            Some(plain(derived::SEGMENT_BYTES.into())),
        ],
    );
    let here = ours.iter().flat_map(|o| o.books().map(move |p| row(o, p)));
    BesideTable {
        title: "2048 writes of 8192 bytes".into(),
        columns: ["KB/s (of 1024 bytes)", "16,777,216 bytes, s", "a write, ms", "send buffer granted, bytes"]
            .map(Into::into)
            .into(),
        rows: printed.into_iter().chain([stalled]).chain(here).collect(),
        note: Some(format!(
            "Derived: by the book's explanation each of the {} segments of a write waits until the one before is \
             acknowledged, for at most 200 ms each; its printed figure of that run is not at hand. Ours: mean of the \
             trials and half its 95 % interval, until the receiver had everything; what 16,777,216 bytes take follows \
             from the rate.",
            derived::segments()
        )),
    }
}

fn row(ours: &Ours<'_>, point: &SweepPoint) -> BesideRow {
    let rate = |t: &SweepTrial| t.bytes_per_s().filter(|&r| r > 0.0);
    let cells = vec![
        cell(mean(point, |t| rate(t).map(kb_per_s))),
        cell(mean(point, |t| rate(t).map(|r| BYTES / r))),
        cell(mean(point, |t| rate(t).map(write_ms))),
        point.granted_buffer_bytes.map(|bytes| plain(bytes.into())),
    ];
    BesideRow { who: who(ours, point), here: true, cells }
}

fn source(who: &str, cells: Vec<Option<Cell>>) -> BesideRow {
    BesideRow { who: who.into(), here: false, cells }
}

/// What each was held up by, and what makes us think so.
pub fn held_up(ours: &[Ours<'_>]) -> BesideTable {
    let stalled = source(
        DERIVED,
        vec![
            Some(Cell { printed: Some("delayed acknowledgements".into()), ..plain(1.0) }),
            None,
            Some(plain(1e3 * derived::stalled_write_s())),
            None,
            None,
        ],
    );
    let here = ours.iter().flat_map(|o| o.result.points.iter().map(move |p| causes(o, p)));
    BesideTable {
        title: "What held it up".into(),
        columns: [
            "limited by",
            "of the time, %",
            "median write call, ms",
            "calls of 30 to 60 ms, of 1000",
            "held up by the send buffer, % of busy time",
        ]
        .map(Into::into)
        .into(),
        rows: [stalled].into_iter().chain(here).collect(),
        note: Some(
            "Calls of 30 to 60 ms are those that a delayed acknowledgement of Linux, 40 ms, would show in; two round \
             trips of the path are shorter. The last column is the kernel's own count (tcp_info, tcpi_sndbuf_limited)."
                .into(),
        ),
    }
}

fn causes(ours: &Ours<'_>, point: &SweepPoint) -> BesideRow {
    let cause = point.cause.map(|(cause, share)| (cause.name(), 100.0 * share));
    let cells = vec![
        cause.map(|(name, share)| Cell { printed: Some(name.into()), ..plain(share) }),
        cause.map(|(_, share)| plain(share)),
        cell(mean(point, |t| Some(t.calls_took?.p50_ns as f64 / 1e6))),
        cell(mean(point, |t| Some(1e3 * t.calls_took?.delayed_calls as f64 / t.calls.max(1) as f64))),
        cell(mean(point, |t| buffer_limited(t).map(|share| 100.0 * share))),
    ];
    BesideRow { who: who(ours, point), here: true, cells }
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
            cell(mean(p, |t| t.bytes_per_s().map(kb_per_s))),
            cell(mean(p, a_trip)),
            cell(mean(p, times)),
        ];
        BesideRow { who: who(&path, p), here: true, cells }
    };
    vec![BesideTable {
        title: format!("Over the path, whose round trip takes {:.0} ms", 1e3 * trip_s),
        columns: ["send buffer granted, bytes", "KB/s (of 1024 bytes)", "bytes a round trip", "bytes a round trip / buffer"]
            .map(Into::into)
            .into(),
        rows: path.result.points.iter().map(row).collect(),
        note: Some(
            "The source has no such path: all rows are of this machine. The kernel grants a buffer twice over, to have \
             room for its own data, and lets one more packet in, of up to 64 KB, as long as the buffer is not full: what \
             goes in a round trip is therefore more than the buffer, and the more so the smaller it is."
                .into(),
        ),
    }]
}
