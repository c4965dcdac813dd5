//! `netfathom cost`: what a program takes from benchmarks, by condition, from mark to mark and by resource.

mod calls;
mod effects;
mod program;
mod spans;
mod taken;
mod trials;

use crate::page::{Page, shortened};
use netfathom_model::record::{Comparison, CostBenchmark, CostResult, Record};

use super::{MOST_ROWS, headline, notes};
use crate::story::costed;

/// Letters of a benchmark's name in a heading.
const LONGEST_NAME: usize = 50;

pub(super) fn draw(page: &mut Page, record: &Record, result: &CostResult) {
    headline::draw(page, record, &answer(result), &costed::there(result));
    let own = costed::own_alone(result);
    if own {
        result.benchmarks.iter().for_each(|benchmark| calls::draw(page, result, benchmark));
    }
    effects::draw(page, result);
    for benchmark in &result.benchmarks {
        if let Some(comparison) = costed::shown(result, benchmark) {
            spans::draw(page, result, benchmark, comparison);
            taken::draw(page, result, benchmark, comparison);
        }
        if !own {
            calls::draw(page, result, benchmark);
        }
    }
    program::draw(page, result);
    trials::draw(page, result);
    plan(page, result);
    notes::findings(page, record);
}

pub(super) fn answer(result: &CostResult) -> String {
    match costed::how(result) {
        None => costed::answer(result),
        Some(how) => format!("{}; {how}", costed::answer(result)),
    }
}

fn plan(page: &mut Page, result: &CostResult) {
    page.heading("What was asked for");
    let Some(plan) = &result.plan else {
        page.text(&format!("{}: there was no plan", costed::NO_PLAN));
        return;
    };
    for (name, value) in costed::plan_words(plan) {
        page.bullet(&format!("{name}: {value}"));
    }
}

/// Of which benchmark, in which condition beside which: `tar, with at 80M beside without at 80M`.
fn beside(result: &CostResult, benchmark: &CostBenchmark, comparison: &Comparison) -> String {
    format!("{}, {}", shortened(&benchmark.name, LONGEST_NAME), costed::beside(result, comparison))
}

/// Says how many rows were cut off.
fn more(page: &mut Page, rows: usize) {
    if rows > MOST_ROWS {
        page.note(&format!("… and {} more in the record", rows - MOST_ROWS));
    }
}
