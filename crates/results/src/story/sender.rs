//! What a load's sender did: its rate over the run, and how punctual it was.

use netfathom_model::profile::{Piece, Profile};
use netfathom_model::record::Load;
use netfathom_stats::Distribution;

use super::curves::{by_percentile, middles, over_trials};
use crate::page::{Axis, Chart, Look, Page, Series};

/// A window that ends with the plan is left out where it holds less than this part of a whole one.
const LEAST_PART: f64 = 0.05;

/// The planned and the achieved rate. Windows of the loads' first length; those of another cannot be laid upon each other.
pub(super) fn rate(page: &mut Page, profile: &Profile, loads: &[(u32, &Load)]) {
    let Some(window_ns) = loads.first().map(|(_, load)| load.series.window_ns) else { return };
    let same = loads.iter().filter(|(_, load)| load.series.window_ns == window_ns);
    let rates: Vec<_> = same.map(|&(index, load)| (index, achieved(load, profile))).collect();
    let windows = rates.iter().map(|(_, rates)| rates.len()).max().unwrap_or(0);
    if windows == 0 {
        return;
    }
    let wanted = Series {
        values: planned(profile, window_ns, windows),
        ..Series::new("planned", "planned", Look::Broad)
    };
    page.chart(Chart {
        id: "rate".into(),
        title: "Rate".into(),
        about: "Planned and achieved messages a second in each window.".into(),
        x: Axis::Run,
        y: Axis::Rate,
        height: 170,
        sync: Some("run".into()),
        xs: middles(window_ns, windows),
        series: [vec![wanted], over_trials("achieved", "rate", &rates, windows)].concat(),
        ..Chart::default()
    });
}

/// Messages a second that left in each window. A trial that was stopped has a last window of unknown length, and the
/// plan may end within one.
pub(super) fn achieved(load: &Load, profile: &Profile) -> Vec<Option<f64>> {
    let (length_s, whole_s) = (load.series.window_ns as f64 / 1e9, profile.duration_ns() as f64 / 1e9);
    let last = load.series.n.iter().rposition(|&n| n > 0);
    let rate = |(i, &n): (usize, &u64)| {
        let span_s = length_s.min(whole_s - i as f64 * length_s);
        let known = last.is_some_and(|last| i < last || i == last && load.unsent == 0);
        (known && span_s > length_s * LEAST_PART).then(|| n as f64 / span_s)
    };
    load.series.n.iter().enumerate().map(rate).collect()
}

/// The wanted rate, averaged over each window.
fn planned(profile: &Profile, window_ns: u64, windows: usize) -> Vec<Option<f64>> {
    let (pieces, length_s) = (profile.pieces(), window_ns as f64 / 1e9);
    (0..windows).map(|i| mean_rate(&pieces, i as f64 * length_s, (i + 1) as f64 * length_s)).collect()
}

fn mean_rate(pieces: &[Piece], from_s: f64, to_s: f64) -> Option<f64> {
    let (mut messages, mut covered_s) = (0.0, 0.0);
    for p in pieces {
        let (a, b) = (from_s.max(p.start_s), to_s.min(p.start_s + p.length_s));
        if b > a {
            let at = |t: f64| p.from_per_s + (p.to_per_s - p.from_per_s) * (t - p.start_s) / p.length_s;
            messages += (at(a) + at(b)) / 2.0 * (b - a);
            covered_s += b - a;
        }
    }
    (covered_s > 0.0).then(|| messages / covered_s)
}

pub(super) fn lag(page: &mut Page, lag: &Distribution, send_call: &Distribution) {
    let curve = |label: &str, color, d: &Distribution| (Series::new(label, color, Look::Strong), d.clone());
    let curves = vec![curve("lag", "lag", lag), curve("send call", "call", send_call)];
    page.chart(by_percentile("lag", "Lag and send call by percentile", curves));
}
