//! `netfathom cost`: what a program takes from benchmarks, by condition, from mark to mark and by resource.

mod answer;
mod calls;
mod charts;
mod comparison;
mod effects;
mod figure;
mod notes;
mod plan;
mod program;
mod sequences;
mod spans;
mod taken;
mod trials;

use netfathom_model::record::{Comparison, CostBenchmark, CostResult};

use super::{Body, MOST_ROWS};
use crate::page::{Block, Page, shortened};

pub(super) use answer::answer;

/// Letters of a benchmark's name in a heading.
const LONGEST_NAME: usize = 50;

pub(super) fn body(result: &CostResult) -> Body<'_> {
    let mut page = Page::default();
    let own = answer::own_alone(result);
    if own {
        result.benchmarks.iter().for_each(|benchmark| calls::draw(&mut page, result, benchmark));
    }
    effects::draw(&mut page, result);
    for benchmark in &result.benchmarks {
        if let Some(comparison) = comparison::shown(result, benchmark) {
            spans::draw(&mut page, result, benchmark, comparison);
            taken::draw(&mut page, result, benchmark, comparison);
            others(&mut page, result, benchmark, comparison);
        }
        if !own {
            calls::draw(&mut page, result, benchmark);
        }
    }
    program::draw(&mut page, result);
    trials::draw(&mut page, result);
    let plan = plan::words(result);
    super::asked_for(&mut page, &plan);
    Body {
        title: if own { "What its own calls take" } else { "What it takes from others" },
        done: plan::done(result),
        page,
        remarks: answer::remarks(result),
        plan,
        left_out: &[],
    }
}

/// Spans and resources of the comparisons that are not shown.
fn others(page: &mut Page, result: &CostResult, benchmark: &CostBenchmark, shown: &Comparison) {
    let has_details = |c: &&Comparison| !c.spans.is_empty() || !c.taken.is_empty();
    let all = benchmark.comparisons.iter().filter(|c| !std::ptr::eq(*c, shown)).filter(has_details);
    let option = |comparison: &Comparison| -> (String, Vec<Block>) {
        let name = format!("{}: {}", comparison.effect.name(), comparison::row_name(result, comparison));
        let blocks = Page::filled(|page| {
            page.text(&beside(result, benchmark, comparison));
            spans::fill(page, benchmark, comparison);
            taken::fill(page, comparison);
        });
        (name, blocks)
    };
    let options: Vec<_> = all.map(option).collect();
    if !options.is_empty() {
        page.details("the other comparisons", |page| page.choice("comparison", options));
    }
}

/// Of which benchmark, in which condition beside which: `tar, with at 80M beside without at 80M`.
fn beside(result: &CostResult, benchmark: &CostBenchmark, comparison: &Comparison) -> String {
    format!("{}, {}", shortened(&benchmark.name, LONGEST_NAME), comparison::beside(result, comparison))
}

fn more(page: &mut Page, rows: usize) {
    if rows > MOST_ROWS {
        page.note(&format!("… and {} more in the record", rows - MOST_ROWS));
    }
}
