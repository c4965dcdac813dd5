//! Lag over the run, all loaded trials merged window by window.

use netfathom_model::record::LoadResult;
use netfathom_stats::Distribution;

use crate::page::{Axis, Chart, Color, Look, Page, Series};
use crate::story::curves::{longest, means, merged, middles, pooled};

/// Percentiles and moments have windows of different lengths: one axis holds both.
pub(super) fn draw(page: &mut Page, result: &LoadResult) {
    let fine = pooled(super::loaded(result).map(|t| &t.load.series));
    let (wide_ns, wide) = windows(result);
    let (at_fine, at_wide) = (middles(fine.window_ns, fine.n.len()), middles(wide_ns, wide.len()));
    let mut xs = [at_fine.clone(), at_wide.clone()].concat();
    if xs.is_empty() {
        return;
    }
    xs.sort_unstable_by(f64::total_cmp);
    xs.dedup();
    let curve = |label: &str, color: Color, look, at: &[f64], values: Vec<Option<f64>>| Series {
        joined: true,
        values: laid(&xs, at, &values),
        ..Series::new(label, color, look)
    };
    let quantile = |q| wide.iter().map(|d| d.quantile(q).map(|ns| ns as f64)).collect();
    let series = vec![
        curve("max", "rx", Look::Thin, &at_fine, longest(&fine)),
        curve("p99", "lag", Look::Strong, &at_wide, quantile(0.99)),
        curve("mean", "call", Look::Thin, &at_fine, means(&fine)),
        curve("p50", "rate", Look::Strong, &at_wide, quantile(0.5)),
    ];
    page.chart(Chart {
        id: "lag-run".into(),
        title: "Lag".into(),
        about: "Lag of all loaded trials, window by window.".into(),
        x: Axis::Run,
        y: Axis::LogTime,
        height: 220,
        sync: Some("run".into()),
        xs,
        series,
        note: Some("Percentiles have longer windows than mean and maximum."),
        ..Chart::default()
    });
}

/// Windows of one length; those of another cannot be laid upon each other.
fn windows(result: &LoadResult) -> (u64, Vec<Distribution>) {
    let all = || super::loaded(result).map(|t| &t.lag_windows);
    let window_ns = all().next().map_or(0, |windows| windows.window_ns);
    let same = || all().filter(|windows| windows.window_ns == window_ns);
    let length = same().map(|windows| windows.windows.len()).max().unwrap_or(0);
    (window_ns, (0..length).map(|i| merged(same().filter_map(|windows| windows.windows.get(i)))).collect())
}

/// Values at some of the places of an axis, those above zero, which alone have a logarithm.
fn laid(xs: &[f64], at: &[f64], values: &[Option<f64>]) -> Vec<Option<f64>> {
    let value = |x: &f64| {
        let place = at.binary_search_by(|at| at.total_cmp(x)).ok()?;
        (*values.get(place)?).filter(|&ns| ns > 0.0)
    };
    xs.iter().map(value).collect()
}
