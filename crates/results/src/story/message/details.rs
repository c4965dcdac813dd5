//! What each cell took, size by size: times, and the cost of a message at both ends.

use crate::page::{Page, Table};
use netfathom_model::layer::Side;
use netfathom_model::record::{Counted, MessageCell, MessageResult};

use super::figure::{Quantity, each};
use super::groups::{self, Group};
use super::plan::size_name;
use super::{caveats, charts, chosen};
use crate::story::number;

const ENDS: [Side; 2] = [Side::Client, Side::Server];

pub(super) fn draw(page: &mut Page, result: &MessageResult) {
    let sizes = groups::all_sizes(result);
    let shown = chosen(&sizes);
    shown.iter().for_each(|&bytes| size(page, result, bytes, Page::heading));
    if shown.is_empty() {
        return;
    }
    page.note("± half the 95 % interval between trials; p50, p99, p99.9: of all trials together");
    page.note(
        "a message, as the median of the trials: cpu: CPU time in ns of the client (c) and the server (s), \
         calls: system calls, sw: context switches, seg: TCP segments",
    );
    page.note(&format!("kern: that {}", caveats::WORKERS));
    if result.plan.rate_per_s.is_some() {
        page.note("times count from when a message was to be sent");
    }
    if shown.len() < sizes.len() {
        page.note(&format!(
            "of {} sizes the smallest, the middle one and the largest; the report as HTML and the record have all",
            sizes.len()
        ));
    }
    for reason in caveats::reasons(result) {
        page.note(&format!("n/a: {reason}"));
    }
    let others: Vec<u64> = sizes.into_iter().filter(|bytes| !shown.contains(bytes)).collect();
    if !others.is_empty() {
        page.details("the other sizes", |page| {
            others.iter().for_each(|&bytes| size(page, result, bytes, Page::text));
        });
    }
    page.details("system calls by name", |page| page.table(calls(result)));
}

/// Both tables of a size, each under its title.
fn size(page: &mut Page, result: &MessageResult, bytes: u64, title: fn(&mut Page, &str)) {
    let size = format!("{} {}", number::count(bytes), size_name(&result.plan));
    title(page, &format!("{size}: times"));
    times(page, result, bytes);
    title(page, &format!("{size}: cost of each"));
    costs(page, result, bytes);
}

fn times(page: &mut Page, result: &MessageResult, bytes: u64) {
    let quantity = Quantity::of(&result.plan);
    let figure = if quantity == Quantity::Time { "round\ntrips/s" } else { quantity.name(&result.plan) };
    let rate = if quantity == Quantity::Bytes { Quantity::Bytes } else { Quantity::Messages };
    let ratio_head =
        quantity.ratio_name(result.plan.test).replace("of ", "of\n").replace("median ", "median\n");
    let figure = figure.replace(" a second", "/s").replace("round\ntrips", result.plan.test.counts());
    let heads = [figure.as_str(), &ratio_head, "p50", "p99", "p99.9"];
    page.choice("placement", charts::percentiles(result, bytes));
    page.table(each_cell(result, bytes, &heads, |group, cell| {
        let reference = group.reference(&result.plan, bytes).filter(|r| !std::ptr::eq(*r, cell));
        let quantile = |ns: i64| match cell.times.n {
            0 => "n/a".into(),
            _ => number::time(ns),
        };
        vec![
            rate.cell_text(&result.plan, cell),
            reference.map_or_else(|| "-".into(), |r| quantity.ratio_text(&result.plan, cell, r)),
            quantile(cell.times.p50_ns),
            quantile(cell.times.p99_ns),
            quantile(cell.times.p999_ns),
        ]
    }));
}

fn costs(page: &mut Page, result: &MessageResult, bytes: u64) {
    let heads = ["cpu\nc", "cpu\ns", "kern", "calls\nc", "calls\ns", "sw\nc", "sw\ns", "seg\nc", "seg\ns"];
    page.table(each_cell(result, bytes, &heads, |_, cell| {
        let whole = |ns: Option<f64>| ns.map_or_else(|| "n/a".into(), |ns| number::count(ns.round() as u64));
        let both = |of: &dyn Fn(Side) -> Option<f64>| ENDS.map(|end| each(of(end)));
        let mut cells = ENDS.map(|end| whole(cell.cpu_ns_per_message(end))).to_vec();
        cells.push(whole(cell.kernel_workers_ns_per_message()));
        cells.extend(both(&|end| cell.calls_per_message(end)));
        cells.extend(both(&|end| cell.switches_per_message(end)));
        cells.extend(both(&|end| cell.segments_per_message(end)));
        cells
    }));
}

/// A row for each cell of a size, below the name of its group; one that is VOID has no figures.
fn each_cell(
    result: &MessageResult,
    bytes: u64,
    heads: &[&str],
    cells: impl Fn(&Group<'_>, &MessageCell) -> Vec<String>,
) -> Table {
    let mut table = Table::of("<layer").figures(heads);
    for group in groups::groups(result) {
        let of_it: Vec<&MessageCell> =
            group.layers(&result.plan).into_iter().filter_map(|layer| group.cell(layer, bytes)).collect();
        if of_it.is_empty() {
            continue;
        }
        table.row_across(group.placement.name(), &groups::pair(result, group.pair));
        for cell in of_it {
            let mut row = vec![cell.layer.to_string()];
            let void = || vec![cell.verdict.level.name().to_owned(); heads.len()];
            row.extend(if cell.is_void() { void() } else { cells(&group, cell) });
            table.row(row);
        }
    }
    table
}

fn calls(result: &MessageResult) -> Table {
    let mut table = Table::of("bytes|calls a message|<end|<call|<layer");
    for cell in result.cells.iter().filter(|cell| !cell.is_void()) {
        let Counted::Calls(calls) = &cell.calls else { continue };
        for call in calls {
            let cells = [
                number::count(cell.bytes),
                each(Some(call.per_message)),
                call.end.name().into(),
                call.name.clone(),
            ];
            table.row_open(cells, &groups::cell_name(result, cell));
        }
    }
    table
}
