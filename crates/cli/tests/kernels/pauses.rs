//! A machine that is paused from outside, by an emulator that reports no steal: its kernel sees time go by in which nothing
//! of it ran.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::thread::sleep;
use std::time::{Duration, Instant};

use netfathom_sys::process::{Process, SIGCONT, SIGSTOP};
use netfathom_testkit::emulator::{Guest, Machine, boot};
use netfathom_testkit::{alone, needs, skip};
use serde_json::Value;

use super::{LIMIT, binary, own_kernel};

/// Up to a tick of each is not seen: 4 ms in Debian's kernels.
const PAUSE: Duration = Duration::from_millis(30);
const BETWEEN: Duration = Duration::from_millis(70);

/// A CPU that is idle has no ticks, so the reader keeps its own busy.
const STACK: &str = "stack --json --poll --profile constant:100/3s --trials 1 --baselines 0 --cross-checks 0";
const BEGIN: &str = "pauses begin";
const END: &str = "pauses end";

/// A process that stands still until the value is dropped.
struct Paused<'a>(&'a Process);

impl<'a> Paused<'a> {
    fn new(process: &'a Process) -> Self {
        process.signal(SIGSTOP).unwrap();
        Self(process)
    }
}

impl Drop for Paused<'_> {
    fn drop(&mut self) {
        let _ = self.0.signal(SIGCONT);
    }
}

/// Twice the same. Nothing is paused before: a kernel that boots finds out how fast its clock is.
fn script() -> String {
    let stack = |name: &str| format!("netfathom {STACK} >/out/{name}.json 2>/out/{name}.err\n");
    format!("cd /tmp\n{}echo {BEGIN}\n{}echo {END}\n", stack("even"), stack("paused"))
}

/// Pauses the machine beside the second command; the part of that time that it stood still.
fn run(mut guest: Guest<'_>) -> Result<f64, String> {
    let emulator = Process::open(guest.pid()).unwrap();
    guest.until(BEGIN, || sleep(PAUSE))?;
    let (begin, mut paused) = (Instant::now(), Duration::ZERO);
    guest.until(END, || {
        let since = Instant::now();
        let pause = Paused::new(&emulator);
        sleep(PAUSE);
        drop(pause);
        paused += since.elapsed();
        sleep(BETWEEN);
    })?;
    let share = paused.as_secs_f64() / begin.elapsed().as_secs_f64();
    guest.end().map(|_| share)
}

/// What kept the reader from its CPU in the only trial.
fn reader(record: &Path) -> Value {
    let read = |path: &Path| fs::read_to_string(path).unwrap_or_default();
    let value: Value = serde_json::from_str(&read(record))
        .unwrap_or_else(|e| panic!("{}: {e}: {}", record.display(), read(&record.with_extension("err"))));
    let threads = value["measurement"]["trials"][0]["load"]["contention"].as_array();
    let mut threads = threads.into_iter().flatten();
    threads.find(|thread| thread["thread"] == "reader").expect("the reader was followed").clone()
}

/// What the hypervisor took of a thread's time, while it ran and while it waited.
fn taken(thread: &Value) -> f64 {
    let ns = |value: &Value| value.as_f64().unwrap_or(0.0);
    let holders = thread["holders"].as_array().into_iter().flatten();
    let waiting: f64 = holders.filter(|held| held["by"] == "hypervisor").map(|held| ns(&held["ns"])).sum();
    (waiting + ns(&thread["stolen_ns"])) / ns(&thread["span_ns"])
}

/// The report with all its tables, on one line.
fn report(record: &Path) -> String {
    let mut report = Command::new(env!("CARGO_BIN_EXE_netfathom"));
    let printed = report.args(["report", "-v"]).arg(record).output().unwrap();
    String::from_utf8_lossy(&printed.stdout).split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn pauses_that_no_hypervisor_reports_are_charged_to_it() {
    needs!(Machine::X86_64.is_own(), "needs x86-64: pauses were tried on no other machine");
    let _alone = alone();
    let (kernel, netfathom) = match (own_kernel("6.1"), binary(Machine::X86_64)) {
        (Ok(kernel), Ok(netfathom)) => (kernel, netfathom),
        (Err(why), _) | (_, Err(why)) => skip!("{why}"),
    };
    let folder = tempfile::tempdir().unwrap();
    let guest = boot(&kernel, &[netfathom.as_path()], &script(), folder.path(), LIMIT);
    let planted = guest.and_then(run).unwrap_or_else(|why| panic!("{why}"));
    let record = |name: &str| folder.path().join("out").join(name).with_extension("json");
    let [even, paused] = ["even", "paused"].map(|name| reader(&record(name)));
    // Both CPUs have one thread of the emulator, so that each stands still at times without a pause, too.
    let seen = taken(&paused) - taken(&even);
    println!("paused for {planted} of the time, seen {seen}: {paused}, without pauses {even}");
    assert!(seen > planted / 2.0 && seen < planted * 1.5, "{seen} of {planted}");
    let named = format!("while the reader ran on CPU {}, the hypervisor took", paused["cpu"]);
    let report = report(&record("paused"));
    assert!(report.contains(&named), "{report}");
}
