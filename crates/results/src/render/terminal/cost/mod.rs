//! `netfathom cost`: what a program takes from benchmarks, by condition, from mark to mark and by resource.

mod effects;

use netfathom_model::record::{CostResult, Record};

use super::page::Page;
use super::{headline, notes};
use crate::render::costed;

pub(super) fn draw(page: &mut Page, record: &Record, result: &CostResult) {
    headline::draw(page, record, &answer(result), &costed::there(result));
    effects::draw(page, result);
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
        page.text("times that were taken elsewhere were compared: there was no plan");
        return;
    };
    for (name, value) in costed::plan_words(plan) {
        page.bullet(&format!("{name}: {value}"));
    }
}
