//! The feature `usdt`: a probe beside each mark. Compiled by itself, as tests run without features.

use std::path::Path;
use std::process::Command;

use netfathom_testkit::{needs, needs_programs};

#[test]
fn a_mark_in_rust_can_be_a_probe() {
    needs!(cfg!(target_arch = "x86_64"), "probes are made on x86-64 only");
    needs_programs!(["readelf"], "binutils");
    let dir = tempfile::tempdir().unwrap();
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/usdt/probes.rs");
    for optimised in ["0", "3"] {
        let program = dir.path().join(optimised);
        let mut rustc = Command::new("rustc");
        rustc.args(["--edition", "2024", "-C", &format!("opt-level={optimised}"), "-o"]).arg(&program);
        assert!(rustc.arg(&source).status().unwrap().success());
        assert!(Command::new(&program).status().unwrap().success());
        let notes = Command::new("readelf").arg("-n").arg(&program).output().unwrap();
        let notes = String::from_utf8(notes.stdout).unwrap();
        let lines: Vec<&str> = notes.lines().map(str::trim).collect();
        let probes = lines.iter().filter(|&&line| line == "Provider: netfathom").count();
        assert_eq!(probes, 2, "{notes}");
        assert_eq!(lines.iter().filter(|&&line| line == "Name: mark").count(), probes, "{notes}");
        // Two registers of 64 bits.
        let operands = lines.iter().filter_map(|line| line.strip_prefix("Arguments: "));
        let registers = |words: &str| words.split(' ').all(|word| word.starts_with("8@%r"));
        assert!(operands.filter(|words| registers(words)).count() == probes, "{notes}");
        let places = lines.iter().filter(|line| line.starts_with("Location: 0x"));
        let somewhere = |line: &&&str| !line.contains("0x0000000000000000, Base: 0x0000000000000000");
        assert_eq!(places.filter(somewhere).count(), probes, "{notes}");
        assert!(!notes.contains("Base: 0x0000000000000000"), "{notes}");
    }
}
