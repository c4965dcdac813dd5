//! What can be measured on a machine: a line for each thing that was tried, and under what
//! is missing its reason and its remedy.

use crate::page::{Page, Style};
use itertools::Itertools as _;
use netfathom_model::host::{HostGroup, HostReport, HostRow, HostStatus};

pub fn of(report: &HostReport) -> Page {
    let mut page = Page::default();
    page.labelled(Style::Strong, "->", &report.stack);
    page.text(&tally(report));
    page.text(&machine(report));
    let names = report.groups.iter().flat_map(|g| &g.rows).map(|r| r.name.chars().count());
    let widest = names.max().unwrap_or(0);
    shortcomings(&mut page, report, widest);
    for group in &report.groups {
        draw(&mut page, group, widest);
    }
    page
}

fn machine(report: &HostReport) -> String {
    [&report.kernel, &report.cpu_model].into_iter().filter(|text| !text.is_empty()).join(", ")
}

/// What does not work, and the remedy: a line each, and one for neighbors that lack the same.
fn shortcomings(page: &mut Page, report: &HostReport, widest: usize) {
    let rows = report.groups.iter().flat_map(|g| &g.rows);
    let short: Vec<_> = rows.filter_map(|row| row.status.shortcoming().map(|why| (row, why))).collect();
    for (i, alike) in short.chunk_by(|(a, _), (b, _)| a.status == b.status).enumerate() {
        if i == 0 {
            page.main("Limited or missing");
        }
        let [(row, (reason, remedy)), others @ ..] = alike else { continue };
        let others: Vec<&str> = others.iter().map(|(other, _)| other.name.as_str()).collect();
        let others =
            if others.is_empty() { String::new() } else { format!("; the same for {}", others.join(", ")) };
        let label = format!("  {:<widest$}  {:<7}", row.name, row.status.name());
        page.labelled(style(&row.status), &label, &format!("{remedy} ({reason}){others}"));
    }
}

fn draw(page: &mut Page, group: &HostGroup, widest: usize) {
    page.heading(group.topic.name());
    for row in &group.rows {
        let label = |name: &str, status: &str| format!("  {name:<widest$}  {status:<7}");
        page.labelled(style(&row.status), &label(&row.name, row.status.name()), &row.detail);
        if let Some((reason, remedy)) = row.status.shortcoming() {
            let under = label("", "");
            page.labelled(Style::Plain, &under, &format!("why: {reason}"));
            page.labelled(Style::Plain, &under, &format!("remedy: {remedy}"));
        }
    }
}

fn style(status: &HostStatus) -> Style {
    match status {
        HostStatus::Works => Style::Good,
        HostStatus::Limited { .. } => Style::Warning,
        HostStatus::Missing { .. } => Style::Bad,
    }
}

/// Such as `22 work, 1 limited, 2 missing; found out by trying, not by version`.
fn tally(report: &HostReport) -> String {
    let rows: Vec<&HostRow> = report.groups.iter().flat_map(|g| &g.rows).collect();
    let count = |name: &str| rows.iter().filter(|r| r.status.name() == name).count();
    let (works, limited, missing) = (count("works"), count("limited"), count("missing"));
    format!(
        "{works} of {} features work, {limited} limited, {missing} missing; found out by trying, not by version",
        rows.len()
    )
}
