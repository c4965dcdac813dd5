//! Readers of others, in Python: installed once into an environment of their own below the target directory.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;

use serde_json::Value;

const REQUIREMENTS: &str = include_str!("requirements.txt");

/// Where the readers are, or why they are not there.
fn environment() -> &'static Result<PathBuf, String> {
    static ENVIRONMENT: OnceLock<Result<PathBuf, String>> = OnceLock::new();
    ENVIRONMENT.get_or_init(|| made(&Path::new(env!("CARGO_TARGET_TMPDIR")).join("readers")))
}

/// Its Python; says so for the test if there is none.
pub fn python(test: &str) -> Option<PathBuf> {
    match environment() {
        Ok(python) => Some(python.clone()),
        Err(why) => {
            crate::skip(test, why);
            None
        }
    }
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
    let told = String::from_utf8_lossy(&output.stderr);
    let last = told.lines().rfind(|line| !line.trim().is_empty()).unwrap_or_default();
    if output.status.success() { Ok(()) } else { Err(format!("{what} ({last})")) }
}

/// Runs a program and fails with what it said.
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
    let told = run(Command::new(python).args(["-c", script]).args(files));
    let values: Vec<Value> = told
        .lines()
        .map(|line| serde_json::from_str(line).unwrap_or_else(|e| panic!("{e}: {line}")))
        .collect();
    assert_eq!(values.len(), files.len(), "{script}");
    values
}
