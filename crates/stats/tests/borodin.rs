//! Borodin 2014: the summary tables follow from the trial tables: means to the printed digits, errors to 0.15 %.

use netfathom_stats::between_trials;

type Row = Vec<String>;

fn rows(name: &str) -> Vec<Row> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../papers/src/reference");
    let path = format!("{folder}/{name}");
    let text = std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{path}: {e}"));
    text.lines().skip(1).map(|l| l.split(',').map(String::from).collect()).collect()
}

/// Half a unit of the last printed digit, and a hair for the binary fraction.
fn printed_to(text: &str) -> f64 {
    let digits = text.split_once('.').map_or(0, |(_, d)| d.len());
    0.5000001 * 10f64.powi(-(digits as i32))
}

fn check(trials: &str, summary: &[Row], mean_column: usize) {
    let trials = rows(trials);
    for row in summary {
        let platform = &row[mean_column - 2];
        let means: Vec<f64> =
            trials.iter().filter(|t| &t[0] == platform).map(|t| t[3].parse().unwrap()).collect();
        assert_eq!(means.len(), 10);
        let ours = between_trials(&means).unwrap();
        let [mean, error]: [f64; 2] =
            [mean_column, mean_column + 3].map(|column| row[column].parse().unwrap());
        // The trial means are printed to two digits themselves, and the printed errors follow from
        // t(0.975, 9) = 2.26, where the text has 2.262: 0.1 % of the interval.
        let room = printed_to(&row[mean_column]).max(0.0051);
        assert!((mean - ours.value).abs() <= room, "platform {platform}: paper {mean}, ours {ours:?}");
        assert!(
            (error / ours.half_width - 1.0).abs() < 1.5e-3,
            "platform {platform}: paper {error}, ours {ours:?}"
        );
    }
}

#[test]
fn outgoing() {
    let summary = rows("borodin_tx_summary.csv");
    let overall: Vec<Row> = summary.into_iter().filter(|r| r[0] == "overall").collect();
    check("borodin_tx_trials.csv", &overall, 3);
}

#[test]
fn incoming() {
    check("borodin_rx_trials.csv", &rows("borodin_rx_summary.csv"), 2);
}
