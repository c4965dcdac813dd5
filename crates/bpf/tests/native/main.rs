//! Arithmetic of the kernel programs, compiled for user space and held against a truth that it did not produce.

use std::io::Write;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

mod contention;
mod histogram;
mod holders;
mod layout;
mod reader;

const FOLDER: &str = env!("CARGO_MANIFEST_DIR");

/// The lines that a C file of this folder prints for an input.
fn printed(name: &str, input: &str) -> Vec<Vec<u64>> {
    static RUNS: AtomicU32 = AtomicU32::new(0);
    let unique = format!("netfathom-{name}-{}-{}", std::process::id(), RUNS.fetch_add(1, Relaxed));
    let program = std::env::temp_dir().join(unique);
    let compiled = Command::new("cc")
        .args(["-Wall", "-Werror", "-O1", "-I", &format!("{FOLDER}/src/include"), "-o"])
        .arg(&program)
        .arg(format!("{FOLDER}/tests/native/{name}.c"))
        .status()
        .expect("a C compiler, which Rust links with");
    assert!(compiled.success());
    let mut child = Command::new(&program)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("what was just compiled");
    let mut stdin = child.stdin.take().expect("a pipe");
    let output = std::thread::scope(|s| {
        s.spawn(move || stdin.write_all(input.as_bytes()).expect("it reads"));
        child.wait_with_output().expect("it ends")
    });
    std::fs::remove_file(&program).expect("it is ours");
    let text = std::str::from_utf8(&output.stdout).expect("digits");
    let numbers = |line: &str| line.split(' ').map(|n| n.parse().expect("a number")).collect();
    text.lines().map(numbers).collect()
}
