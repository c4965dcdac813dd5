//! Times of marks that were taken elsewhere.

use std::path::{Path, PathBuf};

use netfathom_model::record::Outcome;
use netfathom_model::verdict::Level;

use super::{Short, measured};
use crate::child::{netfathom, run};

fn paper(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../papers/src/reference").join(name)
}

/// Slowdown and PCost in percent, to a hundredth, by condition.
fn figures(name: &str) -> Vec<(String, f64, f64)> {
    let short = Short::new();
    let mut command = netfathom("cost --json --sequences");
    let (record, result) = measured(command.arg(paper(name)).arg("--out").arg(short.runs()));
    // Single runs.
    assert_eq!(record.verdict.level, Level::Degraded);
    let percent = |part: f64| (part * 1e4).round() / 1e2;
    let shown = result.benchmarks[0].comparisons.iter().map(|c| {
        // One run tells nothing from chance.
        assert_eq!((c.outcome, c.blocks, c.smallest), (Outcome::CannotTell, 1, None));
        let name = result.conditions[c.condition].name.clone();
        (name, percent(c.ratio.value - 1.0), percent(c.pcost.value))
    });
    shown.collect()
}

#[test]
fn the_papers_tables_give_the_papers_figures() {
    let shown = |all: &[(&str, f64, f64)]| -> Vec<_> {
        all.iter().map(|&(name, slowdown, pcost)| (name.to_owned(), slowdown, pcost)).collect()
    };
    let tcpdump = [
        ("800kbps", 0.65, 5.91),
        ("8Mbps", 7.1, 22.44),
        ("24Mbps", 8.39, 32.08),
        ("40Mbps", 12.26, 47.4),
        ("80Mbps", 18.06, 63.16),
    ];
    assert_eq!(figures("qian_tcpdump_sequences.csv"), shown(&tcpdump));
    let make = [
        ("hbench-OS", 1.94, 10.34),
        ("httperf-0.8", 2.58, 13.33),
        ("ltp-full", 29.03, 54.8),
        ("OS kernel", 27.74, 58.24),
    ];
    assert_eq!(figures("qian_make_sequences.csv"), shown(&make));
}

#[test]
fn the_headline_is_the_slowdown_and_never_pcost_alone() {
    let short = Short::new();
    let mut command = netfathom("cost --sequences");
    let command = command.arg(paper("qian_tcpdump_sequences.csv")).arg("--out").arg(short.runs());
    let ended = run(command).quietly();
    let headline = ended.out.split("\n\n").next().unwrap();
    let words = headline.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        words.contains("qian_tcpdump_sequences: 18.1 % longer with “80Mbps”, one run each: inconclusive"),
        "{words}"
    );
    assert!(words.contains("a single block: chance cannot be excluded"), "{words}");
}

#[test]
fn tables_of_different_conditions_and_what_is_no_table_are_named() {
    let short = Short::new();
    let both = ["qian_tcpdump_sequences.csv", "qian_make_sequences.csv"]
        .map(|name| paper(name).display().to_string());
    let mut command = netfathom("cost --sequences");
    let other = [&*both[1], "conditions are not those of the first table"];
    short.refused(command.arg(both.join(",")).arg("--out").arg(short.runs()), 2, &other);
    let table = short.file("table.csv");
    std::fs::write(&table, "condition,t0_s,t1_s\nbaseline,0,1\nx,0,soon\n").unwrap();
    let no_time = format!("{table}: line 3: \"soon\" is no time");
    for (path, why) in
        [(&*table, &*no_time), ("/nonexistent.csv", "cannot read /nonexistent.csv"), ("/", "it is no file")]
    {
        short.refused(netfathom("cost --sequences").arg(path).arg("--out").arg(short.runs()), 2, &[why]);
    }
}
