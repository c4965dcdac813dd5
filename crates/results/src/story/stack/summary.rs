//! The papers' first table: overall, and at peak as the outgoing paper has it.

use crate::page::{Page, Table};
use netfathom_model::path::Direction;
use netfathom_model::record::{Indicator, PathSummary};

use crate::story::number;

/// Of a direction, or of its undisturbed messages alone.
pub(super) fn title(direction: Direction, undisturbed: bool) -> String {
    let of = if undisturbed { ", undisturbed messages" } else { "" };
    match direction {
        Direction::Tx => format!("Send (tx){of}: application to link layer"),
        Direction::Rx => format!("Receive (rx){of}: link layer to application"),
    }
}

pub(super) fn draw(page: &mut Page, summary: &PathSummary) {
    page.gap();
    let mut table = Table::of("<|mean|between|min|max|1/mean|sent");
    if summary.total.n == 0 {
        table.row_across("overall", "n/a: no message was measured");
    } else {
        table.row(row("overall", &summary.overall, None, None));
    }
    match &summary.peak {
        Some(peak) => table.row(row("peak", peak, summary.theoretical_per_s, summary.reached_per_s)),
        None => table.row_across("peak", "n/a: no message was sent in the windows of highest rate"),
    }
    page.table(table);
    let trials = summary.overall.trials;
    if trials > 1 {
        page.note(&format!("between: 95 % interval between {trials} trials, Student's t"));
    } else {
        page.note("between: needs at least two trials");
    }
    match (&summary.peak, summary.theoretical_per_s) {
        (None, _) => {}
        (Some(_), Some(_)) => {
            page.note(
                "1/mean: the load capability that Borodin's outgoing paper (2014) infers, not a rate that was sent; \
                 sent: the rate at peak; netfathom capacity measures what is sustained",
            );
        }
        (Some(_), None) => page.note("sent: the rate at peak"),
    }
    negatives(page, summary);
}

fn row(name: &str, i: &Indicator, capability: Option<f64>, reached: Option<f64>) -> [String; 7] {
    let rate = |r: Option<f64>| r.map_or_else(String::new, number::rate);
    [
        name.into(),
        number::mean(i.mean_ns),
        i.between_trials_ns.map_or_else(|| "-".into(), |half| format!("± {}", number::mean(half))),
        number::least(i.min_ns),
        number::time(i.max_ns),
        rate(capability),
        rate(reached),
    ]
}

fn negatives(page: &mut Page, summary: &PathSummary) {
    let t = &summary.total;
    if t.negative > 0 {
        page.note(&format!(
            "<0: {} of {} times lie below zero, the smallest at {}; all statistics include them",
            number::count(t.negative),
            number::count(t.n),
            number::time(t.min_ns)
        ));
    }
}
