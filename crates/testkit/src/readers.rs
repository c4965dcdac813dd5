//! Readers of others, in Python: installed once into an environment of their own below the target directory.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

const REQUIREMENTS: &str = include_str!("requirements.txt");

/// The Python that has them, below the directory of tests' files (`CARGO_TARGET_TMPDIR`); says so for the test if there is
/// none. What they install as programs is beside it.
pub fn python(test: &str, below: &str) -> Option<PathBuf> {
    static MADE: OnceLock<Result<PathBuf, String>> = OnceLock::new();
    let made = MADE.get_or_init(|| made(&Path::new(below).join("readers")));
    made.as_ref().map_err(|why| crate::skipped(test, why)).ok().cloned()
}

fn made(at: &Path) -> Result<PathBuf, String> {
    fs::create_dir_all(at).map_err(|e| e.to_string())?;
    // Others may test in the same directory.
    let lock = File::create(at.join("lock")).map_err(|e| e.to_string())?;
    lock.lock().map_err(|e| e.to_string())?;
    let (python, installed) = (at.join("venv/bin/python"), at.join("installed"));
    if fs::read_to_string(&installed).is_ok_and(|these| these == REQUIREMENTS) && python.exists() {
        return Ok(python);
    }
    let _ = fs::remove_dir_all(at.join("venv"));
    let mut venv = Command::new("python3");
    venv.args(["-m", "venv"]).arg(at.join("venv"));
    succeeded(&mut venv, "needs python3 with venv: apt-get install python3-venv")?;
    let wanted = at.join("requirements.txt");
    fs::write(&wanted, REQUIREMENTS).map_err(|e| e.to_string())?;
    let mut pip = Command::new(&python);
    pip.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "-r"]).arg(&wanted);
    succeeded(&mut pip, "pip cannot install the readers; needs a package index in reach")?;
    fs::write(installed, REQUIREMENTS).map_err(|e| e.to_string())?;
    Ok(python)
}

fn succeeded(command: &mut Command, what: &str) -> Result<(), String> {
    let output = command.output().map_err(|e| format!("{what} ({e})"))?;
    let errors = String::from_utf8_lossy(&output.stderr);
    let last = errors.lines().rfind(|line| !line.trim().is_empty()).unwrap_or_default();
    if output.status.success() { Ok(()) } else { Err(format!("{what} ({last})")) }
}
