//! The paper's own tables, and what follows from them by its arithmetic.

use netfathom_stats::pcost;

use crate::reference;

/// One of the paper's two tables of base sequences.
pub struct Original {
    csv: &'static str,
    pub table: &'static str,
    /// What its conditions differ in, with the unit, for an axis.
    pub axis: &'static str,
    pub who: &'static str,
    /// The program works at the latest after so long, on all that came meanwhile.
    pub batch_s: Option<f64>,
    /// A note on names that the reference table corrects.
    pub misprints: &'static str,
    /// Its conditions in order: as the paper names them, as we do, and where they are on the axis.
    pub levels: &'static [Level],
}

/// A condition of the paper beside one of ours.
pub struct Level {
    /// As in the reference table, which corrects two names: the paper prints httpperf-0.8 and ltp-ful.
    pub theirs: &'static str,
    pub ours: &'static str,
    pub x: f64,
    /// PCost, where the text prints it.
    pub printed_percent: Option<f64>,
}

/// tcpdump under five loads; the table's row 0 is the base sequence, without tcpdump.
pub static TCPDUMP: Original = Original {
    csv: include_str!("../reference/qian_tcpdump_sequences.csv"),
    table: "table 2",
    axis: "UDP load, Mbit/s",
    who: "tcpdump -eX -s0",
    // The time limit of libpcap that tcpdump sets: 1000 ms.
    batch_s: Some(1.0),
    misprints: "",
    levels: &[
        Level { theirs: "800kbps", ours: "800k", x: 0.8, printed_percent: None },
        Level { theirs: "8Mbps", ours: "8M", x: 8.0, printed_percent: None },
        Level { theirs: "24Mbps", ours: "24M", x: 24.0, printed_percent: None },
        Level { theirs: "40Mbps", ours: "40M", x: 40.0, printed_percent: None },
        Level { theirs: "80Mbps", ours: "80M", x: 80.0, printed_percent: None },
    ],
};

/// make on four projects.
pub static MAKE: Original = Original {
    csv: include_str!("../reference/qian_make_sequences.csv"),
    table: "table 4",
    axis: "project, by size",
    who: "make",
    batch_s: None,
    misprints: " The paper prints two names as httpperf-0.8 and ltp-ful.",
    levels: &[
        Level { theirs: "hbench-OS", ours: "smallest", x: 1.0, printed_percent: Some(10.0) },
        Level { theirs: "httperf-0.8", ours: "small", x: 2.0, printed_percent: Some(13.0) },
        Level { theirs: "ltp-full", ours: "large", x: 3.0, printed_percent: Some(55.0) },
        Level { theirs: "OS kernel", ours: "largest", x: 4.0, printed_percent: Some(58.0) },
    ],
};

/// What a condition took, by the paper's table.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cost {
    /// Part by which the benchmark took longer.
    pub slowdown: f64,
    /// PCost, 1 for 100 %.
    pub pcost: f64,
}

impl Original {
    /// Times of the marks of a condition, in seconds.
    pub fn times_s(&self, condition: &str) -> Vec<f64> {
        let row = reference::rows(self.csv).into_iter().find(|row| row[0] == condition);
        row.map_or_else(Vec::new, |row| row[1..].iter().map(|cell| reference::cell(cell).value).collect())
    }

    pub fn cost(&self, condition: &str) -> Option<Cost> {
        let spans =
            |condition| self.times_s(condition).windows(2).map(|pair| pair[1] - pair[0]).collect::<Vec<_>>();
        let (before, after) = (spans("baseline"), spans(condition));
        let (sum, with): (f64, f64) = (before.iter().sum(), after.iter().sum());
        Some(Cost { slowdown: with / sum - 1.0, pcost: pcost(&before, &after)? })
    }
}

/// A row of the paper's tables 1 and 3: seconds of the tar in all, in user mode and in the kernel.
pub fn tar_times(name: &str) -> Option<[f64; 3]> {
    let rows = reference::rows(include_str!("../reference/qian_tar_times.csv"));
    let row = rows.into_iter().find(|row| row.first() == Some(&name))?;
    let times: Vec<f64> = row[1..].iter().map(|text| reference::cell(text).value).collect();
    times.try_into().ok()
}

/// Table 1: a tar that is not intercepted and one that is.
pub fn interception() -> [[f64; 3]; 2] {
    ["not intercepted", "intercepted"].map(|name| tar_times(name).unwrap_or([f64::NAN; 3]))
}

/// By how much that takes longer, in percent.
pub fn interception_percent() -> f64 {
    let [[without, ..], [with, ..]] = interception();
    100.0 * (with / without - 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_condition_of_the_paper_is_in_its_table() {
        for original in [&TCPDUMP, &MAKE] {
            let costs: Vec<Cost> =
                original.levels.iter().filter_map(|level| original.cost(level.theirs)).collect();
            assert_eq!(costs.len(), original.levels.len());
            assert!(costs.iter().all(|cost| cost.slowdown > 0.0 && cost.pcost > 0.0), "{costs:?}");
        }
        let heaviest = TCPDUMP.cost("80Mbps").unwrap();
        let printed =
            MAKE.levels.iter().map(|l| Some((l.printed_percent?, 100.0 * MAKE.cost(l.theirs)?.pcost)));
        assert!(printed.map(Option::unwrap).all(|(printed, pcost)| pcost.round() == printed));
        assert!((heaviest.slowdown - 28.0 / 155.0).abs() < 1e-12 && (heaviest.pcost - 0.6316).abs() < 1e-3);
    }

    #[test]
    fn interception_takes_what_the_paper_says() {
        assert!((interception_percent() - 0.155).abs() < 1e-2);
    }
}
