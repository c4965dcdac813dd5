//! What each cell took, size by size: times, and the cost of a message at both ends.

use crate::page::{Align, Page, Table};
use netfathom_model::layer::End;
use netfathom_model::record::{MessageCell, MessageResult};

use super::chosen;
use crate::story::messaged::{self, Group, Quantity, each, ratio, time};
use crate::story::number;

const ENDS: [End; 2] = [End::Client, End::Server];

pub(super) fn draw(page: &mut Page, result: &MessageResult) {
    let sizes = messaged::all_sizes(result);
    let shown = chosen(&sizes);
    for &bytes in &shown {
        page.heading(&format!("{} {}: times", number::count(bytes), messaged::size_name(&result.plan)));
        times(page, result, bytes);
        page.heading(&format!(
            "{} {}: cost of each",
            number::count(bytes),
            messaged::size_name(&result.plan)
        ));
        costs(page, result, bytes);
    }
    if shown.is_empty() {
        return;
    }
    page.note("± half the 95 % interval between trials; p50, p99, p99.9: of all trials together");
    page.note(
        "a message, as the median of the trials: cpu: processor time in ns of the client (c) and the server (s), \
         calls: system calls, sw: context switches, seg: TCP segments",
    );
    page.note(&format!("kern: that {}", messaged::WORKERS));
    if shown.len() < sizes.len() {
        page.note(&format!(
            "of {} sizes the smallest, the middle one and the largest; the report as HTML and the record have all",
            sizes.len()
        ));
    }
    for reason in messaged::reasons(result) {
        page.note(&format!("n/a: {reason}"));
    }
}

fn times(page: &mut Page, result: &MessageResult, bytes: u64) {
    let quantity = Quantity::of(&result.plan);
    let figure = if quantity == Quantity::Time { "round\ntrips/s" } else { quantity.name(&result.plan) };
    let rate = if quantity == Quantity::Bytes { Quantity::Bytes } else { Quantity::Messages };
    let ratio_head =
        quantity.ratio_name(result.plan.test).replace("of ", "of\n").replace("median ", "median\n");
    let figure = figure.replace(" a second", "/s").replace("round\ntrips", result.plan.test.counts());
    let heads = [figure.as_str(), &ratio_head, "p50", "p99", "p99.9"];
    page.table(each_cell(result, bytes, &heads, |group, cell| {
        let reference = group.reference(&result.plan, bytes).filter(|r| !std::ptr::eq(*r, cell));
        let quantile = |ns: i64| if cell.times.n > 0 { time(ns as f64) } else { "n/a".into() };
        vec![
            rate.of_cell(cell).map_or_else(|| "n/a".into(), |f| rate.text(f)),
            reference.map_or_else(|| "-".into(), |r| ratio(quantity.ratio(cell, r))),
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
        let both = |of: &dyn Fn(End) -> Option<f64>| ENDS.map(|end| each(of(end)));
        let mut cells = ENDS.map(|end| whole(cell.cpu_ns_per_message(end))).to_vec();
        cells.push(whole(cell.kernel_workers_ns_per_message()));
        cells.extend(both(&|end| cell.calls_per_message(end)));
        cells.extend(both(&|end| cell.switches_per_message(end)));
        cells.extend(both(&|end| cell.segments_per_message(end)));
        cells
    }));
}

/// A row for each cell of a size, below the name of its group.
fn each_cell(
    result: &MessageResult,
    bytes: u64,
    heads: &[&str],
    cells: impl Fn(&Group<'_>, &MessageCell) -> Vec<String>,
) -> Table {
    let figures = heads.iter().map(|&head| (head, Align::Right));
    let mut table = Table::new(&[("layer", Align::Left)].into_iter().chain(figures).collect::<Vec<_>>());
    for group in messaged::groups(result) {
        let of_it: Vec<&MessageCell> =
            group.layers(&result.plan).into_iter().filter_map(|layer| group.cell(layer, bytes)).collect();
        if of_it.is_empty() {
            continue;
        }
        table.row_across(group.placement.name(), &messaged::pair(result, group.pair));
        for cell in of_it {
            let mut row = vec![cell.layer.to_string()];
            row.extend(cells(&group, cell));
            table.row(row);
        }
    }
    table
}
