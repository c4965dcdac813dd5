//! The trials of each cell, what went wrong in them, and how late messages left.

use crate::page::{Page, Table};
use netfathom_model::plan::Carrier;
use netfathom_model::record::{EndCost, MessageCell, MessageResult, MessageTrial, TcpCounts};

use super::figure::Quantity;
use super::groups;
use crate::story::{MOST_ROWS, counted, more, number, trial_number};

pub(super) fn draw(page: &mut Page, result: &MessageResult) {
    if result.cells.is_empty() {
        return;
    }
    page.heading("Trials");
    let trials = || result.cells.iter().flat_map(|cell| &cell.trials);
    for (name, wrong) in [
        ("cut short, out of time before all messages were there", trials().filter(|t| t.cut_short).count()),
        ("without a single whole message", trials().filter(|t| t.messages == 0).count()),
    ] {
        if wrong > 0 {
            page.bullet(&format!("{}: {name}", counted(wrong, "trial")));
        }
    }
    let lost: u64 = trials().map(|t| t.lost).sum();
    if lost > 0 {
        page.bullet(&format!("messages that did not come: {}", number::count(lost)));
    }
    spread(page, result);
    lag(page, result);
    page.details("each trial", |page| page.table(each(result)));
}

/// The cells with the largest differences between trials come first.
fn spread(page: &mut Page, result: &MessageResult) {
    let of = |cell: &MessageCell| cell.rate.map_or(0.0, |r| r.highest_per_s / r.lowest_per_s);
    let mut cells: Vec<&MessageCell> = result.cells.iter().filter(|cell| cell.rate.is_some()).collect();
    cells.sort_by(|a, b| of(b).total_cmp(&of(a)));
    let mut table = Table::of("bytes|trials|slowest|median|fastest|<layer");
    for cell in cells.iter().take(LEAST_ALIKE) {
        let Some(rate) = cell.rate else { continue };
        let per_s = |value| Quantity::Messages.value(value);
        let figures = [
            number::count(cell.bytes),
            cell.trials.len().to_string(),
            per_s(rate.lowest_per_s),
            per_s(rate.median_per_s),
            per_s(rate.highest_per_s),
        ];
        table.row_open(&figures, &groups::cell_name(result, cell));
    }
    page.table(table);
    let what = result.plan.test.counts();
    let more = cells.len().saturating_sub(LEAST_ALIKE);
    page.note(&match more {
        0 => format!("{what} a second; the cells with the largest differences between trials come first"),
        _ => format!("{what} a second, for the cells with the largest differences between trials; {more} more are in the record"),
    });
}

/// Rows of cells with differing trials: those further down add nothing.
const LEAST_ALIKE: usize = 8;

/// How late messages left, where they had a time to leave at.
fn lag(page: &mut Page, result: &MessageResult) {
    let known: Vec<_> = result.cells.iter().filter_map(|c| Some((c, c.lag.as_ref()?))).collect();
    if known.is_empty() {
        return;
    }
    page.heading("How late messages were sent");
    let mut table = Table::of("bytes|p50|p99|most|<layer");
    for (cell, lag) in known.iter().take(MOST_ROWS) {
        let times = [lag.p50_ns, lag.p99_ns, lag.max_ns].map(number::time);
        let figures: Vec<String> = [number::count(cell.bytes)].into_iter().chain(times).collect();
        table.row_open(&figures, &groups::cell_name(result, cell));
    }
    page.table(table);
    more(page, known.len(), "cell");
}

fn each(result: &MessageResult) -> Table {
    const HEADS: &str = "trial|round|bytes|whole|lost|took|a second|p50|p99|client waited|server waited|delayed ACKs|\
                         time-outs|sent again|<layer";
    let mut table = Table::of(HEADS).about(&[
        "",
        "trials of a round are compared with each other",
        "",
        "messages, round trips or replies",
        "",
        "",
        "",
        "",
        "",
        "how long its threads were ready and waited for a CPU",
        "how long its threads were ready and waited for a CPU",
        "acknowledgments that were delayed until their timer ran out",
    ]);
    let mut all: Vec<(&MessageCell, &MessageTrial)> =
        result.cells.iter().flat_map(|cell| cell.trials.iter().map(move |trial| (cell, trial))).collect();
    all.sort_by_key(|(_, trial)| trial.index);
    for (cell, trial) in all {
        let cut = if trial.cut_short { ", cut short" } else { "" };
        table.row_open(figures(result, cell, trial), &(groups::cell_name(result, cell) + cut));
    }
    table
}

fn figures(result: &MessageResult, cell: &MessageCell, trial: &MessageTrial) -> [String; 14] {
    let none = || "n/a".to_owned();
    let waited = |end: &EndCost| end.run_delay_ns.map_or_else(none, number::seconds);
    // Over anything else they are those of other connections.
    let tcp = trial.tcp.filter(|_| result.plan.carrier == Carrier::Tcp);
    let counts = |of: fn(TcpCounts) -> u64| tcp.map_or_else(none, |tcp| number::count(of(tcp)));
    let timed = |ns| if cell.times.n > 0 && trial.messages > 0 { number::time(ns) } else { none() };
    [
        trial_number(trial.index),
        trial_number(trial.round),
        number::count(cell.bytes),
        number::count(trial.messages),
        number::count(trial.lost),
        number::seconds(trial.duration_ns),
        trial.per_s().map_or_else(none, |per_s| Quantity::Messages.value(per_s)),
        timed(trial.p50_ns),
        timed(trial.p99_ns),
        waited(&trial.client),
        waited(&trial.server),
        counts(|tcp| tcp.delayed_acks),
        counts(|tcp| tcp.timeouts),
        counts(|tcp| tcp.retransmitted),
    ]
}
