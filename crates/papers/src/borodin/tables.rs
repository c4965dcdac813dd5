//! The papers' tables with rows of this machine.

use netfathom_model::path::Direction;
use netfathom_model::print::Scale;
use netfathom_model::record::{BesideTable, Cell, Indicator, PathTimes, StackResult};
use netfathom_stats::Estimate;

use super::originals::{self, SummaryRow, who};
use super::ours::{self, Slope};
use crate::beside::{HERE, beside_table, estimate, mean, own, plain, source};

pub fn way(direction: Direction) -> &'static str {
    match direction {
        Direction::Tx => "outgoing",
        Direction::Rx => "incoming",
    }
}

pub fn overall(direction: Direction, ours: Option<&StackResult>) -> BesideTable {
    let here = ours.and_then(|o| ours::summary(o, direction)).map(|s| s.overall);
    summary(format!("Time of {} messages (table 1)", way(direction)), originals::overall(direction), here)
}

/// The same at the highest intensity, which only outgoing messages have in the paper.
pub fn peak(ours: Option<&StackResult>) -> BesideTable {
    let here = ours.and_then(|o| ours::summary(o, Direction::Tx)).and_then(|s| s.peak);
    let mut table = summary("Time of outgoing messages at peak (table 1)".into(), originals::peak(), here);
    table.note = Some(
        "Peak: the part of a trial with the highest intensity; here the windows in which the plan wants at \
         least 90 % of its highest rate."
            .into(),
    );
    table
}

fn summary(title: String, originals: Vec<SummaryRow>, here: Option<Indicator>) -> BesideTable {
    let original = |row: SummaryRow| source(who(row.platform), row.cells.into_iter().map(Some).collect());
    let rows = originals.into_iter().map(original).chain(here.map(|i| own(HERE, indicator(i))));
    beside_table(
        title,
        "trials|mean, µs|min, µs|max, µs|between-trial error, µs",
        rows,
        "Mean of the trial means; between-trial error: half the 95 % interval, Student's t. The papers' text \
         takes 2.262 for it; their errors follow from 2.26.",
    )
}

fn indicator(i: Indicator) -> Vec<Option<Cell>> {
    cells(f64::from(i.trials), i.mean_ns, i.min_ns, i.max_ns, i.between_trials_ns)
}

/// Number, mean, smallest, largest and error, as tables 1 and 2 have them.
fn cells(n: f64, mean_ns: f64, min_ns: i64, max_ns: i64, error_ns: Option<f64>) -> Vec<Option<Cell>> {
    let [mean, max] = [mean_ns, max_ns as f64].map(|ns| Some(plain(ns / 1e3)));
    // Below zero as the paper prints it.
    let min = Cell { printed: (min_ns < 0).then(|| "<0".into()), ..plain(min_ns as f64 / 1e3) };
    vec![Some(plain(n)), mean, Some(min), max, error_ns.map(|ns| plain(ns / 1e3))]
}

/// Every trial, platform by platform, and those made here.
pub fn trials(direction: Direction, ours: Option<&StackResult>) -> BesideTable {
    let original = |row: originals::TrialRow| {
        let who = format!("platform {}, trial {}", row.platform, row.trial);
        source(who, row.cells.into_iter().map(Some).collect())
    };
    let paths = ours.map(|o| ours::paths(o, direction)).unwrap_or_default();
    let here = paths.iter().enumerate().map(|(i, p)| own(format!("{HERE}, trial {}", i + 1), trial(p)));
    beside_table(
        format!("Time of {} messages, trial by trial (table 2)", way(direction)),
        "packets|mean, µs|min, µs|max, µs|error of the mean S, µs",
        originals::trials(direction).into_iter().map(original).chain(here),
        "S assumes that the messages of a trial do not depend on each other. Those in one queue do: what \
         trials differ by is more than their S.",
    )
}

fn trial(path: &PathTimes) -> Vec<Option<Cell>> {
    let total = &path.total;
    cells(total.n as f64, total.mean_ns, total.min_ns, total.max_ns, total.mean_error_ns)
}

/// The load that follows from the time at peak, beside the load that was really made.
pub fn capability(ours: Option<&StackResult>) -> BesideTable {
    let original = |row: SummaryRow| {
        let [printed, practical, _] = originals::in_text(row.platform);
        let inferred = estimate(originals::capability_per_s(row.mean_us));
        source(who(row.platform), vec![Some(estimate(row.mean_us)), printed, Some(inferred), practical])
    };
    let here = ours.and_then(here_capability).map(|cells| own(HERE, cells));
    beside_table(
        "Theoretical load capability",
        "mean at peak, µs|as printed, messages/s|1 / mean at peak, messages/s|really reached, messages/s",
        originals::peak().into_iter().map(original).chain(here),
        "As printed: the outgoing paper, before its conclusion; it cuts decimals off and prints no formula. Really reached: the highest \
         rate without loss was about 90,000 messages/s, named with platform 1. Of platform 3 it prints no rate, only that \
         the theoretical capability is below the practical one. Here: at the peak of the plan. The capability is no rate that was ever made: it says how many messages would pass one after the \
         other if a sender did nothing but wait for them to reach the link layer. What a profile reaches \
         is what it asks for, as long as the machine keeps up.",
    )
}

fn here_capability(ours: &StackResult) -> Option<Vec<Option<Cell>>> {
    let summary = ours::summary(ours, Direction::Tx)?;
    let peak = summary.peak?;
    let mean = mean_us(&peak);
    let inferred = |half_width| originals::capability_per_s(Estimate { value: mean.value, half_width });
    let inferred = Cell {
        half_width: mean.half_width.map(|error_us| inferred(error_us).half_width),
        ..plain(inferred(0.0).value)
    };
    let inferred = (mean.value > 0.0).then_some(inferred);
    Some(vec![Some(mean), None, inferred, summary.reached_per_s.map(plain)])
}

/// The mean of the trials in microseconds, with the error between them.
pub fn mean_us(i: &Indicator) -> Cell {
    Cell { half_width: i.between_trials_ns.map(|ns| ns / 1e3), ..plain(i.mean_ns / 1e3) }
}

/// Each slope of a triangle by itself; only here, for the paper has graphs of it.
pub fn slopes(direction: Direction, ours: &StackResult) -> BesideTable {
    let (low, high) = ours::thirds_per_s(&ours.plan.profile);
    let row = |(name, slope): (&str, Slope)| {
        let (low, high): (Vec<f64>, Vec<f64>) =
            ours::ends_us(ours, direction, Some(slope)).into_iter().unzip();
        own(format!("{HERE}, {name}"), vec![mean(&low), mean(&high)])
    };
    let [low, high] = [low, high].map(|rate| Scale::Multiple.text(rate));
    beside_table(
        format!("Time of {} messages on both slopes", way(direction)),
        &format!("up to {low} messages/s, µs|from {high} messages/s, µs"),
        [("rate rises", Slope::Rising), ("rate falls", Slope::Falling)].map(row),
        "The incoming paper has graphs 4 to 6 and no table: all rows are of this machine.",
    )
}

#[cfg(test)]
pub mod tests {
    use super::super::fixture::stack;
    use super::*;

    pub fn here(table: &BesideTable) -> Vec<f64> {
        let row = table.rows.iter().find(|row| row.here).unwrap();
        row.cells.iter().flatten().map(|cell| cell.value).collect()
    }

    #[test]
    fn ours_stands_below_every_row_of_the_source() {
        let ours = stack(&[(Direction::Tx, &[(9000, 3000), (9000, 3000)])]);
        let overall = overall(Direction::Tx, Some(&ours));
        let sources: Vec<(&str, bool)> = overall.rows.iter().map(|r| (&*r.who, r.here)).collect();
        let theirs = ["Borodin, platform 1", "Borodin, platform 2", "Borodin, platform 3"];
        assert_eq!(sources, [(theirs[0], false), (theirs[1], false), (theirs[2], false), ("here", true)]);
        assert_eq!(here(&overall)[..1], [2.0]);
        assert_eq!(here(&overall)[2..], [3.0, 9.0, 0.0]);
        assert_eq!(overall.rows[2].cells[2].as_ref().unwrap().printed.as_deref(), Some("<0"));
        let trials = trials(Direction::Tx, Some(&ours));
        assert_eq!(trials.rows.len(), 30 + 2);
        assert_eq!(here(&trials)[0], 550.0);
    }

    #[test]
    fn a_negative_time_is_printed_as_the_paper_does() {
        let ours = stack(&[(Direction::Tx, &[(-500, 3000)])]);
        let row = overall(Direction::Tx, Some(&ours)).rows.pop().unwrap();
        let min = row.cells[2].clone().unwrap();
        assert_eq!((min.value, min.printed.as_deref()), (-0.5, Some("<0")));
        assert_eq!(row.cells[4], None, "one trial has no error between trials");
    }

    #[test]
    fn the_capability_is_one_over_the_mean_at_peak() {
        let ours = stack(&[(Direction::Tx, &[(9000, 4000), (9000, 4000)])]);
        assert_eq!(here(&capability(Some(&ours))), [4.0, 250_000.0, 95.0]);
        let peak = peak(Some(&ours));
        assert_eq!(here(&peak)[1], 4.0);
    }

    #[test]
    fn without_a_measurement_the_source_stands_alone() {
        for table in [overall(Direction::Rx, None), peak(None), capability(None)] {
            assert_eq!(table.rows.len(), 3, "{}", table.title);
            assert!(table.rows.iter().all(|row| !row.here));
        }
    }
}
