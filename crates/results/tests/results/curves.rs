//! Curves of a page.

use netfathom_results::page::Page;

use crate::pictures::charts;

/// The values of a curve, by the chart's name and its label.
pub fn curve<'a>(page: &'a Page, chart: &str, label: &str) -> &'a [Option<f64>] {
    let found = charts(page).into_iter().find(|(id, _)| id == chart).unwrap_or_else(|| panic!("no {chart}"));
    let curve = found.1.series.iter().find(|s| s.label == label);
    &curve.unwrap_or_else(|| panic!("no {label} in {chart}")).values
}

/// Whether a curve has these values, each at its place.
pub fn same(drawn: &[Option<f64>], wanted: &[f64]) {
    let is_near = |(a, b): (&Option<f64>, &f64)| a.is_some_and(|a| (a - b).abs() <= b.abs() * 1e-9 + 1e-12);
    let all = drawn.iter().zip(wanted).all(is_near);
    assert!(drawn.len() == wanted.len() && all, "{drawn:?} is not {wanted:?}");
}
