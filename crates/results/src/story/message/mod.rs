//! `netfathom message`: rates and round trips by size, layer, placement and processors.

mod details;
mod placements;
mod remedies;
mod sizes;
mod trials;

use crate::page::Page;
use netfathom_model::layer::Layer;
use netfathom_model::record::{MessageResult, Record};

use super::{headline, notes};
use crate::story::messaged;

pub(super) fn draw(page: &mut Page, record: &Record, result: &MessageResult) {
    headline::draw(page, record, &answer(result), &messaged::there(result));
    remedies::draw(page, result);
    sizes::draw(page, result);
    placements::draw(page, result);
    details::draw(page, result);
    trials::draw(page, result);
    page.heading("What was asked for");
    for (name, value) in messaged::plan_words(&result.plan) {
        page.bullet(&format!("{name}: {value}"));
    }
    notes::findings(page, record);
}

pub(super) fn answer(result: &MessageResult) -> String {
    let how = format!("{} trials, {}", result.plan.trials, messaged::ends(result));
    format!("{}; {how}", messaged::answer(result))
}

/// A layer as a heading: each option in a line of its own.
fn heading(layer: &Layer) -> String {
    layer.to_string().replace('+', "\n+").replace('@', "\n@")
}

/// The smallest, the middle and the largest: details of all would be too long to read.
fn chosen(sizes: &[u64]) -> Vec<u64> {
    match sizes {
        [first, .., last] if sizes.len() > 3 => vec![*first, sizes[sizes.len() / 2], *last],
        all => all.to_vec(),
    }
}
