//! The paper's tables with our rows beside theirs.

use netfathom_model::record::{BesideRow, BesideTable, Cell, Comparison};

use super::originals::Original;
use super::ours::Ours;
use crate::beside::{beside_table, estimate, own, plain, source};
use crate::claim::{percent, percent_more};

pub fn costs(original: &Original, ours: Option<&Ours<'_>>) -> BesideTable {
    let mut rows = Vec::new();
    for level in original.levels {
        let theirs = original.cost(level.theirs);
        let cells = theirs.map_or(vec![None; 4], |cost| {
            let printed = level.printed_percent.map(plain);
            vec![Some(plain(100.0 * cost.slowdown)), Some(plain(100.0 * cost.pcost)), printed, None]
        });
        rows.push(source(format!("Qian & Wang, {}", level.theirs), cells));
        let Some(ours) = ours else { continue };
        let here = ours.effects().iter().filter_map(|&(effect, words)| {
            let found = ours.at(level.ours, effect)?;
            let words = if words.is_empty() { "with the program" } else { words };
            Some(own(format!("here, {}, {words}", level.ours), cells_of(ours, found)))
        });
        rows.extend(here);
    }
    let meaning = if ours.is_some_and(Ours::has_load) {
        " With its load: beside a machine without program or load, as the paper's. Beside its load: what the program takes \
         where the load is there anyway."
    } else {
        ""
    };
    beside_table(
        format!("What {} takes from a tar", original.who),
        "slowdown, %|PCost, %|PCost as printed, %|the program uses, % of a CPU",
        rows,
        format!(
            "PCost is the sum over the spans of (d' - d) / (d' + d): formula (1) has times in the denominator, but the \
             printed results (10, 13, 55 and 58 % for make) come out only with spans. The paper's rows are computed from \
             {}, in whole seconds. Both are over six spans, from the start to the sixth file; slowdown here is that of the \
             whole tar.{meaning}{}",
            original.table, original.misprints
        ),
    )
}

fn cells_of(ours: &Ours<'_>, found: &Comparison) -> Vec<Option<Cell>> {
    let uses = ours.result.program.iter().find(|used| used.condition == found.condition);
    let processors = uses.and_then(|used| used.processors).map(|p| plain(100.0 * p));
    let slowdown = estimate(percent_more(found.ratio));
    // Of a single block there is no interval.
    let half_width = slowdown.half_width.filter(|_| found.blocks >= 2);
    let slowdown = Cell { half_width, ..slowdown };
    vec![Some(slowdown), ours.pcost(found).map(percent).map(estimate), None, processors]
}

/// The base sequences: when each mark is reached.
pub fn sequences(original: &Original, ours: Option<&Ours<'_>>) -> BesideTable {
    let theirs = std::iter::once("baseline").chain(original.levels.iter().map(|level| level.theirs));
    let most = ours.map_or(0, |o| o.tar.marks.len()).max(original.times_s("baseline").len());
    let cells = |times_s: Vec<f64>| (1..most).map(|at| times_s.get(at).copied().map(plain)).collect();
    let mut rows: Vec<BesideRow> =
        theirs.map(|name| source(format!("Qian & Wang, {name}"), cells(original.times_s(name)))).collect();
    if let Some(ours) = ours {
        rows.extend(ours.result.conditions.iter().enumerate().filter_map(|(at, condition)| {
            let of_condition = ours.tar.trials.iter().filter(|t| t.condition == at && t.failed.is_none());
            let spans: Vec<&Vec<f64>> = of_condition.map(|trial| &trial.spans_ns).collect();
            let first = spans.first()?;
            let mut sum_s = 0.0;
            let mut times_s = vec![0.0];
            for span in 0..first.len() {
                let all = spans.iter().filter_map(|spans| spans.get(span));
                sum_s += all.sum::<f64>() / spans.len() as f64 / 1e9;
                times_s.push(sum_s);
            }
            Some(own(format!("here, {}", condition.name), cells(times_s)))
        }));
    }
    beside_table(
        format!("Base sequences ({}): when each mark is reached, in s from the start", original.table),
        &(1..most).map(|at| format!("t{at}, s")).collect::<Vec<_>>().join("|"),
        rows,
        format!(
            "Ours: means of the trials; the marks are the six planted files, as the paper's, and the end, which is not among its marks.{}",
            original.misprints
        ),
    )
}

#[cfg(test)]
mod tests {
    use super::super::originals::{MAKE, TCPDUMP};
    use super::*;

    #[test]
    fn names_that_are_corrected_are_noted() {
        let has_note = |table: BesideTable| table.note.is_some_and(|note| note.contains("ltp-ful."));
        for (original, expected) in [(&MAKE, true), (&TCPDUMP, false)] {
            let tables = [costs(original, None), sequences(original, None)];
            assert_eq!(tables.map(has_note), [expected; 2], "{}", original.who);
        }
    }
}
