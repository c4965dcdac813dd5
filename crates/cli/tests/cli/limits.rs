//! Few descriptors and little memory: a sentence that names the limit, whatever was tried when it was reached.

use std::process::Command;

use crate::child::{Ended, LOOPBACK, netfathom, out, run, runs, shell};

/// Commands of every kind that make a run, each in a few moments.
const MEASUREMENTS: [&str; 5] = [
    LOOPBACK,
    "load send --loopback --profile constant:1k/50ms --trials 1",
    "message pingpong --loopback --sizes 64 --layers write --trials 1 --messages 100",
    "reverse --trials 1 --time 400ms",
    "cost --nothing --phases cpu --time 1s",
];

fn with_open_files(most: u32, args: &str) -> Ended {
    let dir = out();
    run(shell(&format!("ulimit -n {most}; exec \"$0\" {args}")).current_dir(dir.path()))
}

#[test]
fn too_few_descriptors_are_named_whatever_fails_first() {
    for args in MEASUREMENTS.iter().chain(&["host"]) {
        for most in [4, 6, 8, 12, 16, 24, 32, 40, 48, 64, 100, 127] {
            let ended = with_open_files(most, args);
            assert_eq!(ended.status, 1, "{args}, {most}: {ended}");
            let end = format!("raise ulimit -n (now {most})\n");
            assert!(ended.err.starts_with("netfathom: ") && ended.err.ends_with(&end), "{args}: {ended}");
            assert_eq!(ended.err.lines().count(), 1, "{args}, {most}: {ended}");
        }
    }
    // With enough of them nothing is left out for the want of one.
    with_open_files(128, &format!("{LOOPBACK} --trials 1")).measured();
    // What takes no measurement needs less, and names the limit where it needs more.
    let ended = with_open_files(4, "runs --out /usr");
    assert!(ended.status == 1 && ended.err.ends_with("raise ulimit -n (now 4)\n"), "{ended}");
}

fn with_memory(kib: u64, args: &str) -> Command {
    let program = netfathom("");
    let mut command = Command::new("prlimit");
    command.arg(format!("--as={}", kib << 10)).arg(program.get_program()).args(args.split_whitespace());
    command.env_remove("RUST_BACKTRACE");
    command
}

#[test]
fn too_little_memory_is_an_error_and_no_abort() {
    // Less, and the system cannot even load the program.
    let loads = |kib: &u64| run(&mut with_memory(*kib, "--version")).status == 0;
    let mib = (16..).map(|mib| mib << 10).find(loads).unwrap();
    let least = (mib - 1024..=mib).step_by(64).find(loads).unwrap();
    let dir = out();
    run(netfathom(LOOPBACK).args(["--trials", "1", "--out"]).arg(dir.path())).measured();
    let made = runs(dir.path()).remove(0).display().to_string();
    let at = dir.path().display().to_string();
    let others = [
        format!("report {made}"),
        format!("report --format txt {made}"),
        format!("export --to csv {made}"),
        format!("runs --out {at}"),
        format!("compare {made} {made}"),
    ];
    let mut exhausted = 0;
    // Fine enough that a report runs out of memory where it allocates, wherever that is.
    let steps = (0..4096).step_by(64);
    let measurements = MEASUREMENTS.iter().map(|args| format!("{args} --out {at}"));
    for args in measurements.chain(others) {
        let fine = steps.clone().filter(|_| args.starts_with("report "));
        for more in [0, 1, 2, 4, 8, 16, 32, 64, 128, 256].map(|mib| mib << 10).into_iter().chain(fine) {
            let ended = run(&mut with_memory(least + more, &args));
            let reply = format!("{args}, {} KiB: exit status {}: {}", least + more, ended.status, ended.err);
            assert!(matches!(ended.status, 0..=3), "{reply}");
            let starts = |with: &str| ended.err.starts_with(with);
            let is_explained = match ended.status {
                1 => starts("netfathom: "),
                2 => starts("error: "),
                _ => true,
            };
            assert!(is_explained, "{reply}");
            exhausted += usize::from(ended.err.contains("bytes could not be allocated"));
            assert!(!["panic", "abort", "backtrace"].iter().any(|word| ended.err.contains(word)), "{reply}");
            // More memory is enough for it, too.
            if ended.status != 1 && !args.starts_with("report ") {
                break;
            }
        }
    }
    assert!(exhausted > 0, "no limit was low enough");
    let ended = run(&mut with_memory(1023 << 10, &format!("{LOOPBACK} --out {at}")));
    assert!(ended.status == 1 && ended.err.ends_with("raise ulimit -v (now 1047552 KiB)\n"), "{ended}");
}
