//! Readers of others, in Python: installed once into an environment of their own below the target directory.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

/// The Python that has them, below the directory of tests' files (`CARGO_TARGET_TMPDIR`); says so for the test if there is
/// none. What they install as programs is beside it.
pub fn python(test: &str, below: &str) -> Option<PathBuf> {
    static MADE: OnceLock<Result<PathBuf, String>> = OnceLock::new();
    let made = MADE.get_or_init(|| made(&Path::new(below).join("readers")));
    made.as_ref().map_err(|why| crate::skipped(test, why)).ok().cloned()
}

fn made(at: &Path) -> Result<PathBuf, String> {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scripts/readers");
    let ended = Command::new(script).arg(at).output().map_err(|e| format!("scripts/readers: {e}"))?;
    let why = String::from_utf8_lossy(&ended.stderr);
    let last = why.lines().next_back().unwrap_or("scripts/readers failed");
    if ended.status.success() { Ok(at.join("venv/bin/python")) } else { Err(last.to_owned()) }
}
