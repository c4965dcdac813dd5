//! `netfathom reproduce`: what the source says and whether it holds here, its tables with our
//! rows beside its own, and a line a run.

mod tables;

use crate::page::{Page, Style};
use netfathom_model::record::{Holds, Record, ReproduceResult};

use super::{counted, headline, notes};
use crate::story::standing::standing;

pub(super) fn draw(page: &mut Page, record: &Record, result: &ReproduceResult) {
    headline::draw(page, record, &answer(result), &there(result));
    page.heading(&result.title);
    page.text(&result.source);
    claims(page, result);
    for table in &result.tables {
        tables::draw(page, table);
    }
    differences(page, result);
    runs(page, result);
    notes::findings(page, record);
}

fn there(result: &ReproduceResult) -> String {
    let count = |n: usize, what| counted(n as u32, what);
    format!("{} and {} are there", count(result.runs.len(), "run"), count(result.tables.len(), "table"))
}

/// Such as `borodin-tx: of 3 claims 1 holds, 1 does not hold, 1 cannot be told`.
pub(super) fn answer(result: &ReproduceResult) -> String {
    let name = &result.plan.name;
    let quick = if result.plan.quick { "; quick, so smaller than the source's" } else { "" };
    if result.claims.is_empty() {
        return format!("{name}: no claim was judged, so there is no answer yet{quick}");
    }
    let count = |holds| result.claims.iter().filter(|c| c.holds == holds).count();
    let parts: Vec<String> =
        [(Holds::Yes, "hold here"), (Holds::No, "do not"), (Holds::CannotTell, "cannot be told")]
            .into_iter()
            .filter(|&(h, _)| count(h) > 0)
            .map(|(h, text)| format!("{} {}", count(h), singular(count(h), text)))
            .collect();
    let claims = if result.claims.len() == 1 { "claim" } else { "claims" };
    format!("{name}: of {} {claims} of the source, {}{quick}", result.claims.len(), parts.join(", "))
}

fn singular(count: usize, text: &str) -> &str {
    match (count, text) {
        (1, "hold here") => "holds here",
        (1, "do not") => "does not",
        _ => text,
    }
}

fn claims(page: &mut Page, result: &ReproduceResult) {
    if result.claims.is_empty() {
        return;
    }
    page.heading("What the source says");
    for claim in &result.claims {
        let style = match claim.holds {
            Holds::Yes => Style::Good,
            Holds::No => Style::Bad,
            Holds::CannotTell => Style::Warning,
        };
        page.labelled(style, &format!("  {:<13}", claim.holds.name()), &claim.says);
        page.aside("there", &claim.there);
        page.aside("here", &claim.here);
    }
}

fn differences(page: &mut Page, result: &ReproduceResult) {
    if result.differences.is_empty() {
        return;
    }
    page.heading("What differs from the original");
    for text in &result.differences {
        page.bullet(text);
    }
}

fn runs(page: &mut Page, result: &ReproduceResult) {
    page.heading("Runs");
    if result.runs.is_empty() {
        page.text("n/a: none is finished");
    }
    for run in &result.runs {
        let trust = standing(&run.measurement).filter(|s| !s.text.is_empty());
        let trust = trust.map_or(String::new(), |s| format!(" ({})", s.text));
        page.bullet(&format!(
            "{}: netfathom {}: {}{trust}",
            run.name,
            run.measurement.name(),
            super::answer(&run.measurement)
        ));
    }
    if !result.runs.is_empty() {
        page.note("the record holds each of them whole; `netfathom report` draws them");
    }
}
