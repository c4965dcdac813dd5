//! `netfathom reproduce`: what the source says and whether it holds here, its tables with our
//! rows beside its own, and a line a run.

mod digits;
mod figures;
mod runs;
mod tables;

use crate::page::{Page, Style};
use netfathom_model::plan::TapChoice;
use netfathom_model::record::{Claim, Holds, ReproduceResult, Whose};

use super::{Body, Words, counted};

pub(super) fn body(result: &ReproduceResult) -> Body<'_> {
    let mut page = Page::default();
    page.heading("Source");
    page.text(&result.title);
    page.text(&result.source);
    claims(&mut page, result);
    figures::draw(&mut page, result);
    for table in &result.tables {
        tables::draw(&mut page, table);
    }
    differences(&mut page, result);
    runs::draw(&mut page, result);
    Body { title: &result.title, done: there(result), page, plan: plan(result), left_out: &[] }
}

fn plan(result: &ReproduceResult) -> Words {
    let plan = &result.plan;
    let tap = match plan.tap {
        TapChoice::Auto => "auto",
        TapChoice::All => "all",
        TapChoice::Only(tap) => tap.name(),
    };
    vec![
        ("experiment", plan.name.clone()),
        ("size", if plan.quick { "quick" } else { "whole" }.into()),
        ("tap asked for", tap.into()),
        ("seed", plan.seed.to_string()),
    ]
}

fn there(result: &ReproduceResult) -> String {
    let count = |n: usize, what| counted(n as u32, what);
    format!("{} and {} are there", count(result.runs.len(), "run"), count(result.tables.len(), "table"))
}

/// Such as `borodin-tx: of 3 claims of the source, 1 holds here, 2 are inconclusive; of 1 of ours, 1 holds here`.
pub(super) fn answer(result: &ReproduceResult) -> String {
    let name = &result.plan.name;
    let quick = if result.plan.quick { "; quick, so smaller than the source's" } else { "" };
    if result.claims.is_empty() {
        return format!("{name}: no claim was judged, so there is no answer yet{quick}");
    }
    let parts: Vec<String> = [(Whose::Source, "of the source"), (Whose::Ours, "of ours")]
        .into_iter()
        .filter_map(|(whose, words)| outcomes(&of(result, whose), words))
        .collect();
    format!("{name}: {}{quick}", parts.join("; "))
}

/// What the source claims, or what we ask besides.
fn of(result: &ReproduceResult, whose: Whose) -> Vec<&Claim> {
    result.claims.iter().filter(|claim| claim.whose == whose).collect()
}

fn outcomes(claims: &[&Claim], whose: &str) -> Option<String> {
    let count = |holds| claims.iter().filter(|c| c.holds == holds).count();
    let parts: Vec<String> =
        [(Holds::Yes, "hold here"), (Holds::No, "do not"), (Holds::CannotTell, "undecided")]
            .into_iter()
            .filter(|&(h, _)| count(h) > 0)
            .map(|(h, text)| format!("{} {}", count(h), singular(count(h), text)))
            .collect();
    let number = claims.len();
    let noun = if number == 1 { "claim" } else { "claims" };
    (number > 0).then(|| format!("of {number} {noun} {whose}, {}", parts.join(", ")))
}

fn singular(count: usize, text: &str) -> &str {
    match (count, text) {
        (1, "hold here") => "holds here",
        (1, "do not") => "does not",
        _ => text,
    }
}

fn claims(page: &mut Page, result: &ReproduceResult) {
    for (whose, heading) in [(Whose::Source, "What the source says"), (Whose::Ours, "What we ask besides")] {
        let claims = of(result, whose);
        if !claims.is_empty() {
            page.heading(heading);
            draw_claims(page, &claims);
        }
    }
}

fn draw_claims(page: &mut Page, claims: &[&Claim]) {
    for claim in claims {
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
