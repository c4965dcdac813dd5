//! Blocks in a report: what is drawn of them is what the page says, whichever measurement it is of.

use netfathom_model::record::StageSummaryTimes;
use netfathom_results::page::{Bar, Bars, Page};
use serde_json::{Value, json};

use crate::kinds::of;
use crate::pictures::{bars, charts};
use crate::records::fixture;
use crate::{Shown, records, show};

/// Every chart holds the values of its block.
pub fn charts_are_drawn(kind: &str, page: &Page, shown: &mut Shown) {
    for (id, chart) in charts(page) {
        let name = format!("{kind}: {id}");
        if chart.series.iter().all(|s| s.values.iter().all(Option::is_none)) {
            continue;
        }
        let drawn = shown.page.eval(&format!("netfathom.charts['{id}'].plot.data.map((v) => [...v])"));
        let drawn: Vec<Vec<Option<f64>>> = serde_json::from_value(drawn).expect("columns");
        let xs: Vec<Option<f64>> = chart.xs.iter().copied().map(Some).collect();
        let mut columns: Vec<_> = chart.series.iter().map(|series| series.values.clone()).collect();
        if chart.stacked {
            stack(&mut columns);
        }
        let wanted = [&xs].into_iter().chain(&columns);
        assert_eq!(drawn.len(), 1 + chart.series.len(), "{name}");
        for (drawn, wanted) in drawn.iter().zip(wanted) {
            assert_eq!(drawn.len(), wanted.len(), "{name}");
            let is_same = drawn.iter().zip(wanted).all(|(a, b)| match (a, b) {
                (Some(a), Some(b)) => (a - b).abs() <= b.abs() * 1e-9,
                _ => a.is_none() && b.is_none(),
            });
            assert!(is_same, "{name}: {drawn:?} is not {wanted:?}");
        }
    }
}

/// Each column on top of those after it.
fn stack(columns: &mut [Vec<Option<f64>>]) {
    for i in (1..columns.len()).rev() {
        let below = columns[i].clone();
        let add =
            |(value, below): (&mut Option<f64>, Option<f64>)| *value = value.zip(below).map(|(a, b)| a + b);
        columns[i - 1].iter_mut().zip(below).for_each(add);
    }
}

/// Where a part of a bar begins and ends, in percent of its track.
type Part = Option<(f64, f64)>;

/// The bars of each block with their whiskers and bands.
fn drawn(shown: &mut Shown) -> Vec<Vec<[Part; 3]>> {
    let all = shown.page.eval(
        "[...document.querySelectorAll('ol.bars')].map((list) => [...list.querySelectorAll('.track')].map((track) =>
            ['.bar', '.whisker', '.band'].map((kind) => track.querySelector(kind)).map((part) => part
                && [parseFloat(part.style.left), parseFloat(part.style.width)])))",
    );
    let part = |p: &Value| Some((p[0].as_f64()?, p[0].as_f64()? + p[1].as_f64()?));
    let each = |bar: &Value| [part(&bar[0]), part(&bar[1]), part(&bar[2])];
    let list = |bars: &Value| bars.as_array().expect("bars").iter().map(each).collect();
    all.as_array().expect("lists").iter().map(list).collect()
}

/// Bars, whiskers and bands lie where their values are; returns how many blocks of bars there are.
pub fn bars_are_drawn(kind: &str, page: &Page, shown: &mut Shown) -> usize {
    let (all, drawn) = (bars(page), drawn(shown));
    assert_eq!(drawn.len(), all.len(), "{kind}");
    for (bars, parts) in all.iter().zip(&drawn) {
        lie_on_one_scale(kind, bars, parts);
    }
    all.len()
}

/// The ends of everything that is drawn lie on one line over their values, or over the logarithms of these.
fn lie_on_one_scale(kind: &str, bars: &Bars, parts: &[[Part; 3]]) {
    let all: Vec<&Bar> = bars.groups.iter().flat_map(|group| &group.bars).collect();
    assert_eq!(all.len(), parts.len(), "{kind}");
    let scale = |v: f64| if bars.from_zero { v } else { v.max(f64::MIN_POSITIVE).log10() };
    let mut points: Vec<(f64, f64)> = Vec::new();
    for (bar, [length, whisker, band]) in all.into_iter().zip(parts) {
        let there = |value: Option<f64>| value.filter(|v| v.is_finite() && (bars.from_zero || *v > 0.0));
        assert_eq!(length.is_some(), there(bar.value).is_some(), "{kind}: {bar:?}");
        if let (Some(value), Some((from, to))) = (there(bar.value), length) {
            points.push((scale(value), if value < 0.0 { *from } else { *to }));
        }
        if let (Some((low, high)), Some((from, to))) = (bar.ends, whisker) {
            points.extend([(scale(low), *from), (scale(high), *to)]);
        }
        if let (Some(half), Some((from, to))) = (bar.band, band) {
            points.extend([(-half, *from), (half, *to)]);
        }
    }
    // An end that the scale cuts off lies at its edge.
    points.retain(|(_, place)| *place > 0.0 && *place < 100.0);
    points.sort_by(|a, b| a.0.total_cmp(&b.0));
    let (Some(first), Some(last)) = (points.first(), points.last()) else { return };
    let span = last.0 - first.0;
    let slope = if span > 0.0 { (last.1 - first.1) / span } else { 0.0 };
    for (value, place) in &points {
        let wanted = first.1 + slope * (value - first.0);
        assert!((place - wanted).abs() < 0.5, "{kind}: {place} is not {wanted} in {bars:?}");
    }
}

#[test]
fn a_chart_reads_as_a_table_too() {
    let Some(mut shown) = show("table", &fixture()) else { return };
    shown.page.eval("document.querySelector('#chart-time-tx details').open = true");
    shown.page.wait_for("document.querySelector('#chart-time-tx table')");
    let rows = shown.page.eval("document.querySelectorAll('#chart-time-tx tbody tr').length");
    assert_eq!(rows, shown.page.eval("netfathom.charts['time-tx'].spec.xs.length"));
}

#[test]
fn bars_begin_where_the_one_before_ended_and_are_as_long_as_the_stages_take() {
    let record = fixture();
    let Some(mut shown) = show("waterfall", &record) else { return };
    for (i, summary) in records::stack(&record).summaries.iter().enumerate() {
        let bars = shown.page.eval(&format!(
            "[...document.querySelectorAll('.waterfall')[{i}].querySelectorAll('.bar')]
                .map(({{ style }}) => [parseFloat(style.left), parseFloat(style.width)])"
        ));
        let bars: Vec<(f64, f64)> = serde_json::from_value(bars).unwrap();
        let taken = |times: &StageSummaryTimes| match times {
            StageSummaryTimes::Measured(d) => Some(d.sum_ns as f64),
            StageSummaryTimes::Unavailable(_) => None,
        };
        let parts = summary.stages.iter().filter_map(|s| taken(&s.times));
        let parts: Vec<f64> = parts.chain([summary.total.sum_ns as f64]).collect();
        assert_eq!(bars.len(), parts.len(), "a bar a measured stage, and one of the stack time");
        let (bar, part) = (bars[bars.len() - 1].1, parts[parts.len() - 1]);
        for ((_, width), p) in bars.iter().zip(&parts) {
            assert!((width / bar - p / part).abs() < 0.005, "{width} of {bar} is not {p} of {part}");
        }
        for two in bars[..bars.len() - 1].windows(2) {
            assert!((two[0].0 + two[0].1 - two[1].0).abs() < 0.5, "{two:?}");
        }
    }
}

#[test]
fn a_part_of_the_mean_has_the_mean_of_those_that_passed_beside_it() {
    let Some(mut shown) = show("asides", &of("watch-slow")) else { return };
    let asides = "[...document.querySelectorAll('.waterfall li:has(.mean small)')]
        .map((step) => [step.querySelector('b'), step.querySelector('.mean small')].map((n) => n.textContent).join(': '))";
    let few = [
        "wakeup: 64.5 % passed, 3.10 µs each",
        "runqueue: 88.0 % passed, 25.9 µs each",
        "blocked: 0.250 % passed, 4.05 ms each",
    ];
    assert_eq!(shown.page.eval(asides), json!(few));
}
