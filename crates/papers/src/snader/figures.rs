//! The same as pictures.

use netfathom_model::plan::SweepEnds;
use netfathom_model::record::{Figure, FigurePoint, SweepPoint};

use super::claims::times_as_slow;
use super::ours::{Ours, mean};
use super::plans::PATH;
use crate::beside::{self, bar, estimate, named, plain, point};

/// Megabits of 10^6 bits.
fn megabits(bytes_per_s: f64) -> f64 {
    bytes_per_s * 8.0 / 1e6
}

/// Over the path: the rate, and beside it what the buffer alone would let through.
pub fn over_buffer(ours: &[Ours<'_>]) -> Option<Figure> {
    let path = named(ours, PATH)?;
    let SweepEnds::Lab { wire: Some(wire) } = &path.result.plan.ends else { return None };
    let trip_s = 2.0 * wire.delay_ns as f64 / 1e9;
    let with = |no_delay: bool| path.result.points.iter().filter(move |p| p.no_delay == no_delay);
    let line = |name, no_delay| beside::ours(name, with(no_delay).filter_map(measured).collect());
    let bound = |p: &SweepPoint| {
        let bytes = f64::from(p.granted_buffer_bytes?);
        Some(point(bytes / 1024.0, plain(megabits(bytes / trip_s))))
    };
    let derived = with(false).filter_map(bound).collect();
    let derived = beside::theirs("not in the book, derived: buffer / round trip", derived);
    let series = vec![derived, line("here", false), line("here, -D", true)];
    let axes = ["send buffer granted, KiB", "Mb/s"];
    Some(beside::lines("Rate over the send buffer, over the path", axes, series))
}

fn measured(p: &SweepPoint) -> Option<FigurePoint> {
    let x = f64::from(p.granted_buffer_bytes?) / 1024.0;
    Some(point(x, mean(p, |t| t.bytes_per_s().map(megabits))?))
}

/// How many times as fast the system's buffer is, place by place.
pub fn slower(ours: &[Ours<'_>]) -> Option<Figure> {
    let series = |name, no_delay| {
        let bar =
            |(i, o): (usize, &Ours<'_>)| Some(bar(i as f64, estimate(times_as_slow(o, no_delay)?), o.name));
        beside::ours(name, ours.iter().enumerate().filter_map(bar).collect())
    };
    let series = vec![series("here", false), series("here, -D", true)];
    let title = "Times as fast with the system's send buffer as with one of 1448 bytes";
    let has_points = series.iter().any(|s| !s.points.is_empty());
    has_points.then(|| beside::bars(title, ["where", "times"], series))
}
