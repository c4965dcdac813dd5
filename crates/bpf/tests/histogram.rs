//! The kernel programs put a value into the bucket that `netfathom_stats` has for it, and
//! square it without losing a bit.

use std::io::Write;
use std::process::{Command, Stdio};

use netfathom_bpf::stack::GRAIN;
use netfathom_stats::bucket_index;

const FOLDER: &str = env!("CARGO_MANIFEST_DIR");

/// Around every power of two, where buckets begin and words overflow.
fn values() -> Vec<i64> {
    let around = |bit: u32| [-3i64, -1, 0, 1, 7].map(|d| (1i64 << bit).wrapping_add(d));
    let positive: Vec<i64> = (0..63).flat_map(around).collect();
    let negative: Vec<i64> = positive.iter().map(|v| v.wrapping_neg()).collect();
    [positive, negative].concat()
}

#[test]
fn the_kernels_arithmetic_is_that_of_stats() {
    let program = std::env::temp_dir().join(format!("netfathom-histogram-{}", std::process::id()));
    let compiled = Command::new("cc")
        .args(["-Wall", "-Werror", "-O1", "-I", &format!("{FOLDER}/src/include"), "-o"])
        .arg(&program)
        .arg(format!("{FOLDER}/tests/histogram.c"))
        .status()
        .expect("a C compiler, which Rust links with");
    assert!(compiled.success());
    let mut child = Command::new(&program)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("what was just compiled");
    let text: String = values().iter().map(|v| format!("{v}\n")).collect();
    child.stdin.take().expect("a pipe").write_all(text.as_bytes()).expect("it reads");
    let output = child.wait_with_output().expect("it ends");
    std::fs::remove_file(&program).expect("it is ours");
    let lines: Vec<&str> = std::str::from_utf8(&output.stdout).expect("digits").lines().collect();
    assert_eq!(lines.len(), values().len());
    // Values beyond 2^40 ns share the last bucket there.
    let last = bucket_index((1 << 40) - 1, GRAIN);
    for (value, line) in values().into_iter().zip(lines) {
        let numbers: Vec<u64> = line.split(' ').map(|n| n.parse().expect("a number")).collect();
        let want = bucket_index(value.max(0) as u64, GRAIN).min(last);
        assert_eq!(numbers[0] as usize, want, "{value}");
        let square = u128::from(numbers[1]) << 64 | u128::from(numbers[2]);
        assert_eq!(square, u128::from(value.unsigned_abs()).pow(2), "{value}");
    }
}
