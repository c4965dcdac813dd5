//! The engine that sent, and how it was found.

use crate::page::{Page, Table};
use netfathom_model::plan::EngineChoice;
use netfathom_model::record::{LadderStep, LoadResult};

use crate::story::number;

pub(super) fn draw(page: &mut Page, result: &LoadResult) {
    let receive = result
        .receive
        .map_or("how they are received is unknown".into(), |r| format!("received by {}", r.name()));
    page.heading(&format!("Engine: {}, {receive}", result.engine.name()));
    if result.ladder.is_empty() {
        page.text(match result.plan.engine {
            EngineChoice::Only(_) => "asked for by name, so no other was tried",
            EngineChoice::Auto => "no step of the ladder is recorded",
        });
        return;
    }
    let mut table = Table::of("<engine|unpaced|lag p99|<taken|<");
    for step in &result.ladder {
        table.row_open(row(step), &step.why);
    }
    page.table(table);
    page.note("unpaced: what a short burst without pauses reached");
    page.note(
        "lag p99: at the wanted rate, in send slots; a send slot is what a full batch of the engine takes",
    );
}

fn row(step: &LadderStep) -> [String; 4] {
    [
        step.engine.name().into(),
        step.flat_out_per_s.map_or_else(|| "-".into(), number::rate),
        step.lag_p99_of_slot.map_or_else(|| "-".into(), slots),
        if step.taken { "taken" } else { "no" }.into(),
    ]
}

fn slots(value: f64) -> String {
    format!("{value:.*}", if value.abs() < 9.995 { 2 } else { 0 })
}
