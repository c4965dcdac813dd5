//! `netfathom message`: rates and round trips by size and layer.

use netfathom_model::record::{MessageResult, Record};

use super::page::Page;
use super::table::{Align, Table};
use super::{headline, notes};
use crate::render::messaged;

pub(super) fn draw(page: &mut Page, record: &Record, result: &MessageResult) {
    headline::draw(page, record, &answer(result), &messaged::there(result));
    let heads = ["layer", "bytes", "where", "cpus", "a second", "ratio", "p50, us", "p99, us"];
    let mut table = Table::new(&heads.map(|h| (h, Align::Right)));
    for cell in &result.cells {
        let us = |ns: i64| format!("{:.1}", ns as f64 / 1e3);
        table.row(&[
            cell.layer.to_string(),
            cell.bytes.to_string(),
            cell.placement.name().into(),
            result.pairs.get(cell.pair).map_or("-", |pair| pair.shares.name()).into(),
            cell.rate.map_or_else(|| "n/a".into(), |r| format!("{:.0}", r.median_per_s)),
            cell.ratio.map_or_else(|| "-".into(), |r| format!("{:.2}", r.value)),
            us(cell.times.p50_ns),
            us(cell.times.p99_ns),
        ]);
    }
    page.table(&table);
    notes::findings(page, record);
}

pub(super) fn answer(result: &MessageResult) -> String {
    messaged::answer(result)
}
