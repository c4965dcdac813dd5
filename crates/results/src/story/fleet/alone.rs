//! The same measurement on every host by itself.

use netfathom_model::print::{self, rate, time};
use netfathom_model::record::{FleetFigure, FleetResult};
use netfathom_stats::middle_of;

use super::sentence;
use crate::page::{Page, Table};

pub fn answer(result: &FleetResult) -> String {
    if let Some(worst) = result.outliers().next() {
        return sentence(result, worst);
    }
    let Some(figure) = result.figures.iter().find(|figure| figure.main) else {
        return "no host has figures that it vouches for".into();
    };
    let values = || figure.hosts.values().copied();
    format!(
        "no host is different: {} {} ({} to {}, {})",
        figure.title,
        value(figure, middle_of(values()).unwrap_or_default()),
        value(figure, values().fold(f64::INFINITY, f64::min)),
        value(figure, values().fold(0.0, f64::max)),
        print::counted(figure.hosts.len(), "host"),
    )
}

fn value(figure: &FleetFigure, value: f64) -> String {
    match figure.unit.as_str() {
        "ns" => time(value),
        "per_s" => rate(value),
        "bytes_per_s" => print::bit_rate(value),
        "share" => print::percent(value),
        _ => print::grouped(value, print::decimals(value)),
    }
}

pub fn draw(page: &mut Page, result: &FleetResult) {
    if result.figures.is_empty() {
        return;
    }
    page.main("Main figures");
    page.table(figures(result.figures.iter().filter(|figure| figure.main)));
    page.rest();
    page.heading("All figures");
    page.table(figures(result.figures.iter()));
}

fn figures<'a>(all: impl Iterator<Item = &'a FleetFigure>) -> Table {
    let mut table = Table::of("<figure|median|best|worst|<on");
    for figure in all {
        let mut hosts: Vec<(&String, f64)> = figure.hosts.iter().map(|(host, v)| (host, *v)).collect();
        hosts.sort_by(|a, b| a.1.total_cmp(&b.1));
        if !figure.less {
            hosts.reverse();
        }
        let (Some(best), Some(worst)) = (hosts.first(), hosts.last()) else { continue };
        table.row([
            figure.name.clone(),
            value(figure, middle_of(hosts.iter().map(|h| h.1)).unwrap_or_default()),
            value(figure, best.1),
            value(figure, worst.1),
            worst.0.clone(),
        ]);
    }
    table
}
