//! The rates of each pair of engine and workers, and why one is missing.

use netfathom_model::print::counted;
use netfathom_model::record::{Bounded, CapacityResult, CapacityRow};
use netfathom_model::verdict::Level;

use super::{bare, bounded, differ, name, short_name, sustained};
use crate::page::{Axis, Bar, BarGroup, Bars, Cell, Page, Style, Table};
use crate::story::number;

pub(super) fn rows(page: &mut Page, result: &CapacityResult) {
    if result.rows.is_empty() {
        return;
    }
    page.main("Messages per second sustained, by engine and workers");
    page.bars(bars(result));
    let mut table = Table::of("<engine|receiver\npolls|receiver\nsleeps|on\nschedule");
    let cell = |b: &Option<Bounded>| b.map_or_else(|| "-".into(), |b| bare(&b));
    for row in &result.rows {
        table.row(&[
            short_name(row),
            row.sustained_per_s.map_or_else(|| "-".into(), |b| sustained(row, &b)),
            cell(&row.blocking_per_s),
            cell(&row.capacity_per_s),
        ]);
    }
    page.table(table);
    page.note(
        "sustained: under 0.1 % lost; on schedule: the receiver polls, and 99 % of the messages are sent within 10 % of \
         a send slot, the time between two messages; ×N: N workers (sending threads), together",
    );
    let rates = |row: &CapacityRow| [row.sustained_per_s, row.blocking_per_s, row.capacity_per_s];
    if result.rows.iter().flat_map(rates).flatten().any(|rate| differ(&rate)) {
        page.note("an interval of more than ± 20 % is inconclusive");
    }
    if let ([engine], [workers]) = (&result.plan.engines[..], &result.plan.workers[..]) {
        let threads = counted(*workers, "thread");
        page.note(&format!("{} with {threads} only; --engine and --workers try others", engine.name()));
    }
    page.rest();
    // No search stands behind a burst: what matters is how far off the others are.
    let unpaced =
        |row: &CapacityRow| row.flat_out_per_s.map(|b| format!("{} {}", short_name(row), bounded(&b)));
    let unpaced: Vec<String> = result.rows.iter().filter_map(unpaced).collect();
    if !unpaced.is_empty() {
        page.note(&format!("sent unpaced, in short bursts, where the search begins: {}", unpaced.join(", ")));
    }
    RATES.iter().for_each(|rate| page.note(&format!("{}: {}", rate.name, rate.about)));
    page.note(&intervals(result));
    for row in &result.rows {
        for reason in &row.verdict.reasons {
            page.bullet(&format!("{}: {}: {}", name(row), reason.level.name(), reason.text));
        }
    }
}

const SUSTAINED: &str = "highest rate with under 0.1 % lost, all sent within 0.1 % (or 1 ms) of the planned time, \
     on schedule or not; the receiver of send, sendmmsg and gso polls for 50 µs before it sleeps";
const ASLEEP: &str =
    "sustained with an ordinary receiver: one recv call per message, asleep until one comes; one search";
const CAPACITY: &str = "sustained, and 99 % of the messages are sent within 10 % of a send slot";
const FLAT_OUT: &str = "sent in short bursts without a schedule, including lost messages";

/// The four rates of each row; `None` where there is none.
fn bars(result: &CapacityResult) -> Option<Bars> {
    let key = RATES.iter().map(|rate| (rate.name.to_owned(), rate.color)).collect();
    let groups: Vec<BarGroup> = result.rows.iter().map(group).collect();
    let is_there = groups.iter().flat_map(|group| &group.bars).any(|bar| bar.value.is_some());
    let reference =
        result.trusted_inference().map(|i| ("inferred from the stack time".into(), i.theoretical_per_s));
    is_there.then_some(Bars { unit: Axis::Rate, key, reference, groups, ..Bars::default() })
}

/// A rate of a row, as a bar.
struct RateOf {
    name: &'static str,
    color: &'static str,
    about: &'static str,
    of: fn(&CapacityRow) -> Option<Bounded>,
}

const RATES: [RateOf; 4] = [
    RateOf { name: "receiver polls", color: "tx", about: SUSTAINED, of: |row| row.sustained_per_s },
    RateOf { name: "receiver sleeps", color: "rx", about: ASLEEP, of: |row| row.blocking_per_s },
    RateOf { name: "on schedule", color: "call", about: CAPACITY, of: |row| row.capacity_per_s },
    RateOf { name: "sent unpaced", color: "planned", about: FLAT_OUT, of: |row| row.flat_out_per_s },
];

fn group(row: &CapacityRow) -> BarGroup {
    let bar = |rate: &RateOf| {
        let found = (rate.of)(row);
        let ends = |b: Bounded| b.half_width_per_s.map(|half| (b.mean_per_s - half, b.mean_per_s + half));
        Bar {
            name: rate.name.into(),
            about: rate.about.into(),
            color: rate.color,
            value: found.map(|b| b.mean_per_s),
            ends: found.and_then(ends),
            text: found.as_ref().map_or_else(|| "-".into(), bounded),
            ..Bar::default()
        }
    };
    let why: Vec<&str> = row.verdict.reasons.iter().map(|reason| reason.text.as_str()).collect();
    let mark = (row.verdict.level != Level::Valid).then(|| Cell::Marked {
        text: row.verdict.level.name().into(),
        style: if row.verdict.level == Level::Void { Style::Bad } else { Style::Warning },
        why: why.join("; "),
    });
    BarGroup { name: name(row), mark, bars: RATES.iter().map(bar).collect() }
}

fn intervals(result: &CapacityResult) -> String {
    match result.plan.trials {
        1 | 2 => "no ± with fewer than three searches".into(),
        n => format!(
            "±: 95 % interval between {n} searches, Student's t, and the step between two rates of a search"
        ),
    }
}

/// Why a cell of the table is empty.
pub(super) fn empty(page: &mut Page, result: &CapacityResult) {
    let lines: Vec<String> = result.rows.iter().flat_map(why_empty).collect();
    if lines.is_empty() {
        return;
    }
    page.heading("Why a cell is empty");
    lines.iter().for_each(|line| page.bullet(line));
}

fn why_empty(row: &CapacityRow) -> Vec<String> {
    let mut lines = Vec::new();
    let mut say = |cell: &str, why: String| lines.push(format!("{}: {cell}: {why}", name(row)));
    if row.flat_out_per_s.is_none() {
        say("sent unpaced", "no burst was sent".into());
    }
    if row.sustained_per_s.is_none() {
        say("receiver polls", probed(row, "no rate was sustained"));
    }
    if row.blocking_per_s.is_none() && row.sustained_per_s.is_some() {
        say("receiver sleeps", why_no_blocking(row).into());
    }
    if row.capacity_per_s.is_none() {
        let closest = row.searches.iter().flat_map(|s| &s.probes).filter(|p| p.sustained);
        let closest = closest.min_by(|a, b| a.lag_p99_of_slot.total_cmp(&b.lag_p99_of_slot));
        let more = closest.map_or(String::new(), |p| {
            format!(
                "; closest at {}, p99 lag {:.2} send slots, {} of the messages a whole send slot late",
                number::rate(p.wanted_per_s),
                p.lag_p99_of_slot,
                number::percent(p.missed)
            )
        });
        say("on schedule", probed(row, "no rate was on schedule") + &more);
    }
    if row.of_inferred.is_none() && row.sustained_per_s.is_some() {
        let why = if row.engine.passes_stack() {
            "nothing was inferred to compare with"
        } else {
            "the engine bypasses the stack, so the stack time does not apply"
        };
        say("sustained, as a multiple of the inferred rate", why.into());
    }
    lines
}

fn why_no_blocking(row: &CapacityRow) -> &'static str {
    if row.blocking.is_some() {
        "no rate was sustained with such a receiver"
    } else if row.engine.passes_stack() {
        "not searched: the run ended before, or the receiver is on another host"
    } else {
        "the engine bypasses the sockets that such a receiver reads"
    }
}

fn probed(row: &CapacityRow, what: &str) -> String {
    let probes: usize = row.searches.iter().map(|s| s.probes.len()).sum();
    if probes == 0 { "no rate was tried".into() } else { format!("{what} of the {probes} that were tried") }
}
