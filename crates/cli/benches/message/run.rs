//! Our own program, and what its record says.

use std::process::{Command, Stdio};

use netfathom_model::plan::MessageTest;
use netfathom_model::record::{Measurement, MessageResult, Record};
use netfathom_stats::{Median, median};

use super::Failure;

const NETFATHOM: &str = env!("CARGO_BIN_EXE_netfathom");

/// The library beside bare sockets and its own sending thread.
pub fn layers(test: MessageTest, sizes: &str, rounds: u32) -> Result<MessageResult, Failure> {
    let rounds = rounds.to_string();
    let layers = ["--layers", "adaptive,write+nodelay,thread"];
    let rest = ["--sizes", sizes, "--trials", &rounds, "--no-remedies"];
    message(test, &[&layers[..], &rest[..]].concat())
}

/// A run over loopback, where sockperf goes as well.
pub fn message(test: MessageTest, options: &[&str]) -> Result<MessageResult, Failure> {
    // The record comes on standard output: what is left beside it goes.
    let kept = tempfile::tempdir()?;
    let output = Command::new(NETFATHOM)
        .args(["message", test.name(), "--loopback", "--json", "--out"])
        .arg(kept.path())
        .args(options)
        .stderr(Stdio::inherit())
        .output()?;
    // A VOID run has a record, too.
    let record: Record = serde_json::from_slice(&output.stdout)?;
    for reason in &record.verdict.reasons {
        eprintln!("{}: {}: {}", test.name(), reason.level.name(), reason.text);
    }
    match record.measurement {
        Measurement::Message(result) => Ok(*result),
        other => Err(format!("a record of {} came", other.name()).into()),
    }
}

/// Ours as a multiple of theirs, figure by figure: whole programs, interleaved.
pub fn take_turns(
    rounds: u32,
    ours: impl Fn() -> Result<Vec<f64>, Failure>,
    theirs: impl Fn() -> Result<Vec<f64>, Failure>,
) -> Result<Vec<Median>, Failure> {
    let mut ratios: Vec<Vec<f64>> = Vec::new();
    for round in 0..rounds {
        let theirs_first = (round % 2 == 1).then(&theirs).transpose()?;
        let ours = ours()?;
        let theirs = theirs_first.map_or_else(&theirs, Ok)?;
        ratios.resize(ours.len(), Vec::new());
        let of_round = ours.iter().zip(&theirs).map(|(ours, theirs)| ours / theirs);
        ratios.iter_mut().zip(of_round).for_each(|(ratios, ratio)| ratios.push(ratio));
    }
    ratios.iter().map(|ratios| median(ratios).ok_or_else(|| "too few rounds".into())).collect()
}
