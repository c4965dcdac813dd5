//! The searches, and what came of each rate that was tried.

use netfathom_model::record::{CapacityResult, CapacityRow, Probe, Search};

use super::name;
use crate::page::{Axis, Block, Chart, Look, Page, Series, Table};
use crate::story::{MOST_ROWS, more, number};

pub(super) fn draw(page: &mut Page, result: &CapacityResult) {
    let all: Vec<(&CapacityRow, usize, &Search)> =
        result.rows.iter().flat_map(|r| r.searches.iter().enumerate().map(move |(i, s)| (r, i, s))).collect();
    if all.is_empty() {
        return;
    }
    page.heading("Searches");
    let mut table = Table::of("<engine|workers|search|probes|from|to|sustained|on schedule");
    for (row, i, search) in all.iter().take(MOST_ROWS) {
        let wanted = || search.probes.iter().map(|p| p.wanted_per_s);
        let rate = |r: Option<f64>| r.map_or_else(|| "-".into(), number::rate);
        table.row(&[
            row.engine.name().to_owned(),
            row.workers.to_string(),
            (i + 1).to_string(),
            search.probes.len().to_string(),
            rate(wanted().reduce(f64::min)),
            rate(wanted().reduce(f64::max)),
            rate(search.sustained_per_s),
            rate(search.capacity_per_s),
        ]);
    }
    page.table(table);
    more(page, all.len(), "search");
    probes(page, result);
}

/// What came of each rate that was tried.
fn probes(page: &mut Page, result: &CapacityResult) {
    let tried = |row: &CapacityRow| row.searches.iter().any(|s| !s.probes.is_empty());
    let options = result.rows.iter().enumerate().filter(|(_, row)| tried(row));
    page.choice("Engine and workers", options.map(|(i, row)| (name(row), probed_rates(i, row))).collect());
}

fn probed_rates(place: usize, row: &CapacityRow) -> Vec<Block> {
    let mut probes: Vec<(usize, &Probe)> = (row.searches.iter().enumerate())
        .flat_map(|(i, search)| search.probes.iter().map(move |probe| (i, probe)))
        .filter(|(_, probe)| probe.wanted_per_s > 0.0)
        .collect();
    probes.sort_by(|a, b| a.1.wanted_per_s.total_cmp(&b.1.wanted_per_s));
    let reached = |good: fn(&Probe) -> bool| {
        let value = |(_, p): &(usize, &Probe)| (good(p) && p.reached_per_s > 0.0).then_some(p.reached_per_s);
        probes.iter().map(value).collect()
    };
    let dots = |label: &str, color, values| Series { values, ..Series::new(label, color, Look::Dots) };
    let xs: Vec<f64> = probes.iter().map(|(_, p)| p.wanted_per_s).collect();
    let wanted = xs.iter().copied().map(Some).collect();
    let chart = Chart {
        id: format!("probes-{place}"),
        title: format!("Rates tried, {}", name(row)),
        about: "Each rate that was held: wanted across, reached upwards.".into(),
        x: Axis::Rate,
        y: Axis::Rate,
        height: 300,
        xs,
        series: vec![
            Series { look: Look::Dashed, ..dots("as wanted", "muted", wanted) },
            dots("not sustained", "void", reached(|p| !p.sustained)),
            dots("sustained, not on schedule", "tx", reached(|p| p.sustained && !p.in_time)),
            dots("on schedule", "call", reached(|p| p.in_time)),
        ],
        note: Some("A point is a rate that was held. On the line it was reached; below it, it was not."),
        ..Chart::default()
    };
    Page::filled(|page| {
        page.chart(chart);
        page.details("lag and loss of each", |page| page.table(probe_table(&probes)));
    })
}

fn probe_table(probes: &[(usize, &Probe)]) -> Table {
    let mut table = Table::of("search|wanted|reached|lost|lag p99|in send slots|a whole slot late|<");
    for (search, p) in probes {
        table.row([
            (search + 1).to_string(),
            number::rate(p.wanted_per_s),
            number::rate(p.reached_per_s),
            p.lost.map_or_else(|| "n/a".into(), number::percent),
            number::time(p.lag_p99_ns),
            number::percent(p.lag_p99_of_slot),
            number::percent(p.missed),
            outcome(p).into(),
        ]);
    }
    table
}

fn outcome(probe: &Probe) -> &'static str {
    match (probe.in_time, probe.sustained) {
        (true, _) => "on schedule",
        (false, true) => "sustained",
        (false, false) => "not sustained",
    }
}
