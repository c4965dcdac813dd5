//! `netfathom reproduce`: what the source says and whether it holds here, its tables with our
//! rows beside its own, and a line a run.

mod digits;
mod figures;
mod runs;
mod tables;

use crate::page::{Page, Style};
use netfathom_model::plan::TapChoice;
use netfathom_model::record::{Claim, Holds, Origin, ReproduceResult};

use super::{Body, Story, Words, counted, place::Site};

impl Story for ReproduceResult {
    fn body(&self) -> Body<'_> {
        let mut page = Page::default();
        // As the paper draws them, and first to be seen in a report; the short view of a terminal leaves them out.
        figures::draw(&mut page, self);
        claims(&mut page, self);
        page.heading("Source");
        page.text(&self.title);
        page.text(&self.source);
        for table in &self.tables {
            tables::draw(&mut page, table);
        }
        differences(&mut page, self);
        runs::draw(&mut page, self);
        Body {
            title: self.title.as_str().into(),
            done: finished(self),
            page,
            remarks: remarks(self),
            plan: plan(self),
            left_out: &[],
        }
    }

    /// Such as `borodin-tx: 2 of 3 claims of the source hold here, 1 inconclusive`.
    fn answer(&self) -> String {
        let name = &self.plan.name;
        match outcomes(&of(self, Origin::Source)).or_else(|| outcomes(&of(self, Origin::Ours))) {
            Some(outcomes) => format!("{name}: {outcomes}"),
            None => format!("{name}: no claim was judged, so there is no answer yet"),
        }
    }

    fn site(&self) -> Site {
        Site::Here
    }
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
        ("requested tap", tap.into()),
        ("seed", plan.seed.to_string()),
    ]
}

fn finished(result: &ReproduceResult) -> String {
    let (runs, tables) = (result.runs.len(), result.tables.len());
    format!("{} and {} are finished", counted(runs, "run"), counted(tables, "table"))
}

/// What was asked besides, and how large it was.
fn remarks(result: &ReproduceResult) -> Vec<String> {
    let besides = of(result, Origin::Source).first().and_then(|_| outcomes(&of(result, Origin::Ours)));
    let quick = result.plan.quick.then(|| "quick: smaller than the source's experiment".to_owned());
    besides.map(|besides| format!("besides: {besides}")).into_iter().chain(quick).collect()
}

/// What the source claims, or what we ask besides.
fn of(result: &ReproduceResult, origin: Origin) -> Vec<&Claim> {
    result.claims.iter().filter(|claim| claim.origin == origin).collect()
}

/// Such as `2 of 3 claims of the source hold here, 1 inconclusive`; `None` where there are none.
fn outcomes(claims: &[&Claim]) -> Option<String> {
    let count = |holds| claims.iter().filter(|c| c.holds == holds).count();
    let of = match claims.first()?.origin {
        Origin::Source => "of the source",
        Origin::Ours => "of ours",
    };
    let (hold, noun) = match (count(Holds::Yes), claims.len()) {
        (1, 1) => ("holds", "claim"),
        (1, _) => ("holds", "claims"),
        (_, 1) => ("hold", "claim"),
        _ => ("hold", "claims"),
    };
    let open = count(Holds::CannotTell);
    let open = if open > 0 { format!(", {open} inconclusive") } else { String::new() };
    Some(format!("{} of {} {noun} {of} {hold} here{open}", count(Holds::Yes), claims.len()))
}

fn claims(page: &mut Page, result: &ReproduceResult) {
    for (origin, heading) in [(Origin::Source, "The source's claims"), (Origin::Ours, "Our claims")] {
        let claims = of(result, origin);
        if !claims.is_empty() {
            page.main(heading);
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
    result.differences.iter().for_each(|text| page.bullet(text));
}
