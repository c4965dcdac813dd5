//! Our own program, and what its record says.

use std::process::{Command, Stdio};

use netfathom_model::plan::MessageTest;
use netfathom_model::record::{Measurement, MessageResult, Record};

use super::Failure;

const NETFATHOM: &str = env!("CARGO_BIN_EXE_netfathom");

/// The library beside bare sockets, its own design of 2002 and other projects' libraries.
pub fn layers(test: MessageTest, sizes: &str, rounds: u32) -> Result<MessageResult, Failure> {
    let rounds = rounds.to_string();
    let layers = ["--layers", "adaptive,write+nodelay,thread", "--peers"];
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
    // A run whose verdict is VOID has its record all the same, and says so.
    let record: Record = serde_json::from_slice(&output.stdout)?;
    for reason in &record.verdict.reasons {
        eprintln!("{}: {}: {}", test.name(), reason.level.name(), reason.text);
    }
    match record.measurement {
        Measurement::Message(result) => Ok(*result),
        other => Err(format!("a record of {} came", other.name()).into()),
    }
}
