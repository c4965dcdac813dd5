//! What readers of others, in Python, find in an export.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;

/// Python with those readers; says so for the test if there is none.
pub fn python(test: &str) -> Option<PathBuf> {
    netfathom_testkit::python(test, env!("CARGO_TARGET_TMPDIR"))
}

/// Runs a program; fails with its output.
pub fn run(command: &mut Command) -> String {
    let Output { status, stdout, stderr } = command.output().expect("it starts");
    assert!(status.success(), "{}{}", String::from_utf8_lossy(&stdout), String::from_utf8_lossy(&stderr));
    String::from_utf8(stdout).expect("UTF-8")
}

/// What a script prints as JSON of a file.
pub fn read(python: &Path, script: &str, file: &Path) -> Value {
    read_all(python, script, &[file.to_owned()]).remove(0)
}

/// What it prints of several, a line each: starting Python takes longer than reading.
pub fn read_all(python: &Path, script: &str, files: &[PathBuf]) -> Vec<Value> {
    let shown = run(Command::new(python).args(["-c", script]).args(files));
    let values: Vec<Value> = shown
        .lines()
        .map(|line| serde_json::from_str(line).unwrap_or_else(|e| panic!("{e}: {line}")))
        .collect();
    assert_eq!(values.len(), files.len(), "{script}");
    values
}
