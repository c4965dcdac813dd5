//! A comparison.

mod pictures;
mod thresholds;
mod values;
mod words;

use std::cmp::Reverse;

use netfathom_model::grouping::by_key;
use netfathom_model::verdict::Level;

use crate::compare::{Compared, Comparison, Design, Difference, Gates, Outcome, Passage};
use crate::page::{Page, Style, Table};

use super::MOST_ROWS;

/// Of equal width, so that what follows stands in one column.
const CHANGED: &str = "  changed     ";
const NOT_COMPARED: &str = "  not compared";
/// Settings and plans that are shown; `--json` has them all.
const MOST_DIFFERENCES: usize = 20;
/// The same in the short view.
const MOST_SHORT_DIFFERENCES: usize = 4;
/// Runs of each side that are named.
const MOST_RUNS: usize = 2;
/// Runs as the rounds of a test.
const ROUNDS: &str = "netfathom compare --run 'ARGS OF A' --run 'ARGS OF B'";
/// The same of a program that such a run does not start.
const ROUNDS_OF_PROGRAM: &str =
    "netfathom compare --before-a 'START A' --before-b 'START B' --after 'STOP IT' --run 'ARGS OF BOTH'";
/// Cautions of many runs are alike.
const MOST_CAUTIONS: usize = 6;

/// The page of comparisons, each with what came of its thresholds.
pub fn of(comparisons: &[(Comparison, Gates)]) -> Page {
    let mut page = Page::default();
    for (number, (comparison, gates)) in comparisons.iter().enumerate() {
        if number > 0 {
            page.main(&title(comparison));
        }
        let (style, label) = label(comparison, gates);
        page.labelled(style, label, &answer(comparison, gates));
        found(&mut page, comparison, gates, number);
    }
    page
}

/// The same below their titles and answers.
pub(crate) fn below(comparisons: &[(Comparison, Gates)]) -> Page {
    let mut page = Page::default();
    for (number, (comparison, gates)) in comparisons.iter().enumerate() {
        page.heading(&title(comparison));
        found(&mut page, comparison, gates, number);
    }
    page
}

/// What came of the thresholds, if there are any. As every answer it is wrapped, not cut.
pub(crate) fn answer(comparison: &Comparison, gates: &Gates) -> String {
    let answer =
        thresholds::worst(comparison, gates).map(|gate| thresholds::gate_answer(comparison, gate, gates));
    let answer = answer.unwrap_or_else(|| words::answer(comparison));
    let outcome = comparison.forced.then(|| format!("forced: {}: ", outcome(comparison, gates).1));
    outcome.unwrap_or_default() + &answer
}

pub(crate) fn title(comparison: &Comparison) -> String {
    format!("B compared with A, {}", comparison.measurement)
}

fn found(page: &mut Page, comparison: &Comparison, gates: &Gates, number: usize) {
    if let Some(gate) = thresholds::worst(comparison, gates) {
        let remedy = thresholds::remedy(comparison, gate);
        let remedy = remedy.map(|remedy| format!("{remedy}; under --strict it is a failure (exit status 6)"));
        let remarks = [remedy, thresholds::others(comparison, gates)];
        remarks.iter().flatten().for_each(|remark| page.bullet(remark));
    }
    comparison.obstacles.iter().for_each(|obstacle| page.bullet(obstacle));
    if comparison.is_refused() && !comparison.kinds_differ {
        if comparison.design == Design::Apart {
            page.text(&format!("To measure both anew, interleaved: {}", rounds(comparison)));
        }
        page.text("To compare them anyway: --force");
    }
    if words::is_untested(comparison) && comparison.design == Design::Apart {
        page.text(&format!("To test it, interleave: {}", rounds(comparison)));
    }
    comparison.cautions.iter().take(MOST_CAUTIONS).for_each(|caution| page.bullet(caution));
    let more = comparison.cautions.len().saturating_sub(MOST_CAUTIONS);
    if more > 0 {
        page.bullet(&format!("and {more} more of this kind (--json has all)"));
    }
    sides(page, comparison);
    differences(page, comparison);
    quantities(page, comparison, gates);
    thresholds(page, comparison, gates);
    pictures::draw(page, comparison, gates, number);
}

fn rounds(comparison: &Comparison) -> &'static str {
    if comparison.measurement == "watch" { ROUNDS_OF_PROGRAM } else { ROUNDS }
}

fn sides(page: &mut Page, comparison: &Comparison) {
    for (side, heads) in [("A", &comparison.a), ("B", &comparison.b)] {
        // What is shown first says whether one is not VALID.
        let mut heads: Vec<_> = heads.iter().collect();
        heads.sort_by_key(|head| Reverse(head.verdict));
        for head in heads.iter().take(MOST_RUNS) {
            page.text(&format!("{side}  {}  {}", head.name, words::standing(head)));
        }
        let others = heads.iter().skip(MOST_RUNS).map(|head| words::standing(head));
        if heads.len() > MOST_RUNS {
            page.text(&format!("   {} more: {}", heads.len() - MOST_RUNS, words::tally(others)));
        }
    }
}

pub(crate) fn label(comparison: &Comparison, gates: &Gates) -> (Style, &'static str) {
    match () {
        () if comparison.is_refused() => (Style::Bad, "NOT COMPARED"),
        () if comparison.forced => (Style::Warning, "NOT COMPARABLE"),
        () => outcome(comparison, gates),
    }
}

fn outcome(comparison: &Comparison, gates: &Gates) -> (Style, &'static str) {
    if let Some(gate) = thresholds::worst(comparison, gates) {
        return match gate.passage {
            Passage::Beyond => (Style::Bad, "FAIL"),
            Passage::Within => (Style::Good, "PASS"),
            Passage::CannotTell => (Style::Warning, "INCONCLUSIVE"),
            Passage::NotTested => (Style::Warning, "NOT TESTED"),
        };
    }
    match words::overall(comparison) {
        Some(Outcome::Worse) => (Style::Bad, "WORSE"),
        Some(Outcome::Better) => (Style::Good, "BETTER"),
        Some(Outcome::Same) => (Style::Good, "NO CHANGE"),
        Some(Outcome::CannotTell) if words::is_untested(comparison) => (Style::Warning, "NOT TESTED"),
        Some(Outcome::CannotTell) | None => (Style::Warning, "INCONCLUSIVE"),
    }
}

/// What else may be the reason.
fn differences(page: &mut Page, comparison: &Comparison) {
    page.main("Settings and plan");
    for (i, difference) in comparison.differences.iter().take(MOST_DIFFERENCES).enumerate() {
        if i == MOST_SHORT_DIFFERENCES {
            page.rest_as(&format!("and {} more", comparison.differences.len() - i));
        }
        page.labelled(Style::Strong, CHANGED, &words::changed(difference));
    }
    let more = comparison.differences.len().saturating_sub(MOST_DIFFERENCES);
    let are_cut = comparison.differences.iter().any(|difference| words::cut(difference).is_some());
    if more > 0 {
        page.text(&format!("and {more} more (--json has all)"));
    } else if are_cut {
        page.text("values are cut: --json has them in full");
    }
    if more > 0 || are_cut {
        page.details("all of them, in full", |page| page.table(all_differences(&comparison.differences)));
    }
    // The plans of different measurements are not compared.
    if comparison.differences.is_empty() && !comparison.kinds_differ {
        page.text(&words::nothing_changed(comparison));
    }
    page.rest();
    for missing in comparison.not_compared.iter().take(MOST_DIFFERENCES) {
        page.labelled(Style::Warning, NOT_COMPARED, &format!("{}: {}", missing.what, missing.why));
    }
}

fn all_differences(differences: &[Difference]) -> Table {
    let mut table = Table::of("<what|<A|<B|<effect");
    for d in differences {
        table.row([&d.what, &d.a, &d.b, d.effect.unwrap_or_default()]);
    }
    table
}

/// Those with a threshold stand among the main ones.
fn quantities(page: &mut Page, comparison: &Comparison, gates: &Gates) {
    let best = comparison.quantities.iter().map(|q| q.level).min().unwrap_or_default();
    let (main, others): (Vec<&Compared>, Vec<&Compared>) =
        comparison.quantities.iter().partition(|q| q.main || gates.has(&q.name));
    for (title, is_main, those) in [("Main quantities", true, main), ("Other quantities", false, others)] {
        if those.is_empty() {
            continue;
        }
        page.head(title, is_main);
        page.table(table(&those[..those.len().min(MOST_ROWS)], gates, best));
        page.rest();
        if those.len() > MOST_ROWS {
            page.note(&format!("and {} more (--json has all)", those.len() - MOST_ROWS));
            page.details("all of them", |page| page.table(table(&those, gates, best)));
        }
        notes(page, &those);
    }
    if comparison.quantities.is_empty() {
        return;
    }
    page.gap();
    words::alone(comparison).iter().for_each(|text| page.note(text));
    page.note(&words::method(comparison));
}

/// Of what has a threshold both stand there: its change as of every quantity, and what came of the threshold. A level that
/// is worse than the best of all quantities stands behind them.
fn table(those: &[&Compared], gates: &Gates, best: Level) -> Table {
    let figures = |q: &Compared| {
        let (a, b) = (values::value(q.unit, q.a_mean), values::value(q.unit, q.b_mean));
        let outcome = match gates.tested(&q.name) {
            Some(gate) if q.outcome == Outcome::CannotTell => thresholds::passage(gate.passage).to_owned(),
            Some(gate) => format!("{}; {}", q.outcome.name(), thresholds::passage(gate.passage)),
            None => q.conclusion().to_owned(),
        };
        let level = if q.level > best { format!(" ({})", q.level.name()) } else { String::new() };
        [a, b, values::change(q), values::interval(q), values::smallest(q), outcome + &level]
    };
    let mut table = Table::of("<|A|B|change|99 %, corrected|MDE|<");
    for quantity in those {
        let cells = std::iter::once(quantity.name.clone()).chain(figures(quantity));
        let stands_out = match gates.tested(&quantity.name) {
            Some(gate) => gate.passage == Passage::Beyond,
            None => matches!(quantity.outcome, Outcome::Better | Outcome::Worse),
        };
        if stands_out { table.row_strong(cells) } else { table.row(cells) }
    }
    table
}

/// Why there is no ratio or interval, once for all quantities with the same reason.
fn notes(page: &mut Page, those: &[&Compared]) {
    let notes = those.iter().take(MOST_ROWS).filter_map(|q| Some((q.note.as_deref()?, q.name.as_str())));
    let coarse = those.iter().take(MOST_ROWS).filter_map(|q| Some((values::coarse(q)?, q.name.as_str())));
    for (note, names) in by_key(notes.chain(coarse)) {
        page.note(&format!("{}: {note}", names.join(", ")));
    }
}

fn thresholds(page: &mut Page, comparison: &Comparison, gates: &Gates) {
    if gates.gates.is_empty() {
        return;
    }
    page.main("Thresholds");
    for gate in &gates.gates {
        let (passage, reason) = (thresholds::passage(gate.passage), thresholds::reason(comparison, gate));
        page.bullet(&format!("{}: {passage}{reason}", gate.threshold));
    }
    thresholds::gates_method(gates).iter().for_each(|method| page.note(method));
}
