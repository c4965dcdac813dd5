//! The tables of both papers.

use netfathom_model::path::Direction;
use netfathom_model::record::Cell;
use netfathom_stats::{Estimate, between_trials};

use crate::reference::{cell, rows};

const TX_SUMMARY: &str = include_str!("../reference/borodin_tx_summary.csv");
const TX_TRIALS: &str = include_str!("../reference/borodin_tx_trials.csv");
const RX_SUMMARY: &str = include_str!("../reference/borodin_rx_summary.csv");
const RX_TRIALS: &str = include_str!("../reference/borodin_rx_trials.csv");
/// The numbers that the texts of both papers print, which are in no table.
const TEXT: &str = include_str!("../reference/borodin_text.csv");

/// The machines of the papers, by the numbers that their tables give them.
pub const PLATFORMS: [&str; 3] = ["1", "2", "3"];

/// How a row of a platform is called.
pub fn who(platform: &str) -> String {
    format!("Borodin, platform {platform}")
}

pub struct TrialRow {
    pub platform: &'static str,
    /// Number of the trial, from 1.
    pub trial: &'static str,
    pub mean_us: f64,
    /// Packets, mean, min, max, error of the mean; as printed.
    pub cells: Vec<Cell>,
}

pub struct SummaryRow {
    pub platform: &'static str,
    /// Mean with the between-trial error.
    pub mean_us: Estimate,
    /// Trials, mean, min, max, between-trial error; as printed.
    pub cells: Vec<Cell>,
}

pub fn trials(direction: Direction) -> Vec<TrialRow> {
    let table = match direction {
        Direction::Tx => TX_TRIALS,
        Direction::Rx => RX_TRIALS,
    };
    let row = |fields: Vec<&'static str>| TrialRow {
        platform: fields[0],
        trial: fields[1],
        mean_us: number(fields[3]),
        cells: fields[2..].iter().map(|text| cell(text)).collect(),
    };
    rows(table).into_iter().map(row).collect()
}

pub fn overall(direction: Direction) -> Vec<SummaryRow> {
    match direction {
        Direction::Tx => outgoing("overall"),
        Direction::Rx => rows(RX_SUMMARY).iter().map(|fields| summary_row(fields)).collect(),
    }
}

/// The summary at the highest intensity; only outgoing messages have one.
pub fn peak() -> Vec<SummaryRow> {
    outgoing("peak")
}

fn outgoing(indicator: &str) -> Vec<SummaryRow> {
    let all = rows(TX_SUMMARY);
    all.iter().filter(|fields| fields[0] == indicator).map(|fields| summary_row(&fields[1..])).collect()
}

fn summary_row(fields: &[&'static str]) -> SummaryRow {
    SummaryRow {
        platform: fields[0],
        mean_us: Estimate { value: number(fields[2]), half_width: number(fields[5]) },
        cells: fields[1..].iter().map(|text| cell(text)).collect(),
    }
}

/// A number that is known to be one.
fn number(text: &str) -> f64 {
    text.parse().unwrap_or(f64::NAN)
}

/// What the text prints of a platform: 1 / mean time at peak, messages a second; the highest rate without loss, for
/// platform 1 alone; by how many percent incoming messages take longer than outgoing ones.
pub fn in_text(platform: &str) -> [Option<Cell>; 3] {
    let row = rows(TEXT).into_iter().find(|row| row.first() == Some(&platform)).unwrap_or_default();
    [1, 2, 3].map(|at| row.get(at).filter(|text| !text.is_empty()).map(|text| cell(text)))
}

/// The load that the paper infers, messages a second: 1 / mean time at the peak, by which its figures come out.
pub fn capability_per_s(mean_us: Estimate) -> Estimate {
    let value = 1e6 / mean_us.value;
    Estimate { value, half_width: value * mean_us.half_width / mean_us.value }
}

/// Mean over the trials of a platform, with the interval between them.
pub fn mean_us(direction: Direction, platform: &str) -> Option<Estimate> {
    let means: Vec<f64> =
        trials(direction).iter().filter(|row| row.platform == platform).map(|row| row.mean_us).collect();
    between_trials(&means)
}

/// Incoming time over outgoing time of a platform.
pub fn growth(platform: &str) -> Option<Estimate> {
    Some(mean_us(Direction::Rx, platform)?.over(mean_us(Direction::Tx, platform)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Half a unit of the last printed digit, and a hair for the binary fraction.
    fn printed_to(text: &str) -> f64 {
        0.500_000_1 * 10f64.powi(-(text.split_once('.').map_or(0, |(_, d)| d.len()) as i32))
    }

    #[test]
    fn the_tables_are_whole() {
        for direction in [Direction::Tx, Direction::Rx] {
            let trials = trials(direction);
            assert_eq!(trials.len(), 30);
            for platform in PLATFORMS {
                assert_eq!(trials.iter().filter(|row| row.platform == platform).count(), 10);
            }
            assert!(trials.iter().all(|row| row.cells.len() == 5 && row.mean_us.is_finite()));
            assert_eq!(overall(direction).len(), 3);
            assert!(overall(direction).iter().all(|row| row.cells.len() == 5));
        }
        assert_eq!(peak().iter().map(|row| row.platform).collect::<Vec<_>>(), PLATFORMS);
    }

    #[test]
    fn summaries_follow_from_the_trials() {
        for direction in [Direction::Tx, Direction::Rx] {
            for row in overall(direction) {
                let ours = mean_us(direction, row.platform).unwrap();
                // The trial means are printed to two digits. The text takes 2.262 for t(0.975, 9), but the
                // printed errors follow from 2.26.
                assert!((ours.value - row.mean_us.value).abs() <= 0.0051, "{ours:?} {:?}", row.mean_us);
                assert!((ours.half_width / row.mean_us.half_width - 1.0).abs() < 1.5e-3, "{ours:?}");
                extremes_are_those_of_the_trials(direction, &row);
            }
        }
    }

    /// Smallest and largest of the summary are those of its trials; of `<0` the bound.
    fn extremes_are_those_of_the_trials(direction: Direction, row: &SummaryRow) {
        let of = |column: usize| {
            let trials = trials(direction);
            let mine = trials.iter().filter(|t| t.platform == row.platform);
            mine.map(|t| t.cells[column].value).collect::<Vec<f64>>()
        };
        assert_eq!(of(2).into_iter().reduce(f64::min), Some(row.cells[2].value));
        assert_eq!(of(3).into_iter().reduce(f64::max), Some(row.cells[3].value), "{}", row.platform);
    }

    /// The paper has no trial rows of the peak, so mean and between-trial error there cannot be
    /// computed again. What can be checked: the capability is 1 / mean, the peak lies within the
    /// extremes of the whole, and below its mean.
    #[test]
    fn the_capability_is_the_inverse_of_the_mean_at_peak() {
        for (peak, overall) in peak().iter().zip(overall(Direction::Tx)) {
            let capability = capability_per_s(peak.mean_us);
            let [printed, ..] = in_text(peak.platform);
            // The text cuts decimals off: 261,096.6 is printed as 261,096.
            assert_eq!(capability.value.floor(), printed.unwrap().value, "{capability:?}");
            assert!(
                peak.cells[3].value <= overall.cells[3].value
                    && peak.cells[2].value >= overall.cells[2].value
            );
            assert!(peak.mean_us.value < overall.mean_us.value);
        }
    }

    #[test]
    fn a_practical_rate_is_printed_for_platform_1_alone() {
        let printed = PLATFORMS.map(in_text);
        assert_eq!(
            printed.map(|[_, practical, _]| practical.and_then(|c| c.printed)),
            [Some("~90000".into()), None, None]
        );
    }

    /// 24.13 / 9.05, 52.43 / 10.35 and 69.96 / 60.23, as exact as their printed digits are.
    #[test]
    fn the_growth_is_that_of_the_printed_means() {
        let printed = [("24.13", "9.05"), ("52.43", "10.35"), ("69.96", "60.23")];
        for (platform, (into, out)) in PLATFORMS.iter().zip(printed) {
            let growth = growth(platform).unwrap().value;
            let least = (number(into) - printed_to(into)) / (number(out) + printed_to(out));
            let most = (number(into) + printed_to(into)) / (number(out) - printed_to(out));
            assert!((least..=most).contains(&growth), "{platform}: {growth}, not {least} to {most}");
            let [.., percent] = in_text(platform);
            let cut = (100.0 * (number(into) / number(out) - 1.0)).floor();
            assert_eq!(percent.unwrap().value, cut, "platform {platform}");
        }
    }
}
