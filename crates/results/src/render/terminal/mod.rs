//! Tables for a terminal: the two tables of the papers, the stages, and what stands for
//! the numbers.

mod accounting;
mod cost;
mod headline;
pub mod host;
mod lag;
mod notes;
mod number;
mod page;
mod stages;
mod summary;
mod table;
mod trials;

use netfathom_model::record::{Measurement, Record, StackResult, Trial, TrialKind};

use page::Page;

/// The narrowest page that the tables fit on.
const LEAST_WIDTH: usize = 80;

/// Draws a record as text of at most `width` columns (80 where it is less), each line ended
/// by a newline. With `color` it has ANSI escapes; without, none at all, whatever the
/// record says.
#[must_use]
pub fn render(record: &Record, width: usize, color: bool) -> String {
    let mut page = Page::new(width.max(LEAST_WIDTH), color);
    match &record.measurement {
        Measurement::Stack(result) => stack(&mut page, record, result),
    }
    page.finish()
}

fn stack(page: &mut Page, record: &Record, result: &StackResult) {
    headline::draw(page, record, result);
    for summary in &result.summaries {
        page.heading(summary::title(summary.direction));
        trials::draw(page, result, summary.direction);
        summary::draw(page, summary);
        stages::draw(page, summary);
    }
    stages::percentiles(page, &result.summaries);
    accounting::draw(page, result);
    cost::self_cost(page, result);
    cost::witnesses(page, result);
    lag::draw(page, result);
    notes::findings(page, record);
    notes::left_out(page, result);
}

/// The trials of one kind.
fn of_kind(result: &StackResult, kind: TrialKind) -> impl Iterator<Item = &Trial> {
    result.trials.iter().filter(move |t| t.kind == kind)
}

/// How a trial is called in print: its place in the run, from 1.
fn number_of(trial: &Trial) -> String {
    (trial.index + 1).to_string()
}
