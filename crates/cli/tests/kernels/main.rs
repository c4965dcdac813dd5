//! Every command on kernels that people have, in emulated machines. Only right and wrong are judged: all times there
//! are those of the emulator, so that a run may well be VOID. What is planted is found where it was put.

mod checks;
mod commands;
mod judge;
mod pauses;
mod seen;
mod table;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;
use std::thread;
use std::time::Duration;

use netfathom_testkit::emulator::{Guest, Kernel, Machine, Wanted, boot, missing_program};
use netfathom_testkit::{beside_others, skip, skipped};
use tempfile::TempDir;

use commands::Extent;
use seen::Seen;

/// Far beyond what the commands take: a machine that is still on hangs.
const LIMIT: Duration = Duration::from_secs(1500);
/// What the tests of crates/bpf start: they count the system calls of these programs, and busybox's make others.
const TOOLS: [&str; 7] = ["cat", "dd", "head", "sh", "sleep", "tail", "tar"];
/// Debian 12's.
const MADE_FOR: (u32, u32) = (6, 1);
/// The first Linux that has what all those tests use.
const TESTED_FROM: (u32, u32) = (5, 18);

/// A machine has one thread and waits for part of the time, so that one more keeps the CPUs busy.
fn side_by_side() -> usize {
    thread::available_parallelism().map_or(2, |cpus| cpus.get() + 1)
}

/// What make test-kernels hands over: another list of kernels, a binary for each machine, the kernel tests of crates/bpf,
/// and where the table is to be written.
fn given(variable: &str) -> Option<PathBuf> {
    std::env::var_os(variable).map(PathBuf::from)
}

fn binary(machine: Machine) -> Result<PathBuf, String> {
    let own = || machine.is_own().then(|| env!("CARGO_BIN_EXE_netfathom").into());
    let handed = given(&format!("NETFATHOM_{}", machine.debian().to_uppercase()));
    handed
        .or_else(own)
        .ok_or_else(|| format!("no netfathom for {}: make test-kernels builds it", machine.debian()))
}

/// A kernel of a list.
fn unpacked(wanted: &Wanted) -> Result<Kernel, String> {
    if let Some(package) = missing_program(wanted.machine) {
        return Err(format!("needs the Debian package {package}"));
    }
    wanted.unpacked(&Path::new(env!("CARGO_TARGET_TMPDIR")).join("kernels"))
}

/// One for this machine's architecture, by its name in the list.
fn own_kernel(name: &str) -> Result<Kernel, String> {
    let list = Wanted::of_list(include_str!("list.txt")).unwrap();
    let is_it = |wanted: &&Wanted| wanted.name == name && wanted.machine.is_own();
    let wanted = list.iter().find(is_it).ok_or_else(|| format!("no {name} for this machine in the list"))?;
    unpacked(wanted)
}

/// What is run on a kernel of a list, which is in the order of versions: every command on the newest of a machine. Where the
/// table is written, also on the first and on the oldest that netfathom is made for, and those of this machine show what
/// users begin with.
fn extent(kernel: &Wanted, list: &[Wanted]) -> Extent {
    let mut same = list.iter().filter(|other| other.machine == kernel.machine);
    let (first, oldest) =
        (same.clone().next(), same.clone().find(|other| seen::version(&other.name) >= MADE_FOR));
    let is_written = given("NETFATHOM_KERNELS_TABLE").is_some();
    let is_first = is_written && [first, oldest].contains(&Some(kernel));
    if is_first && kernel.machine.is_own() {
        Extent::Whole
    } else if is_first || same.next_back() == Some(kernel) {
        Extent::Every
    } else {
        Extent::Short
    }
}

/// The tests of crates/bpf, where make test-kernels hands them over.
fn tests_for(machine: Machine) -> Option<PathBuf> {
    given(&format!("NETFATHOM_BPF_TESTS_{}", machine.debian().to_uppercase()))
}

/// What one machine runs. A kernel that runs every command or the tests has several machines, so that none takes much
/// longer than the others.
#[derive(Clone, Copy)]
enum Job {
    /// A part of the commands: its number, from 0, and how many parts there are.
    Commands(usize, usize),
    /// The kernel tests that these arguments choose.
    Tests(&'static str),
}

/// What takes longest begins first, so that the machines end together.
fn jobs(list: &[Wanted]) -> Vec<(&Wanted, Job)> {
    let tested = list.iter().filter(|kernel| tests_for(kernel.machine).is_some());
    let tests =
        tested.flat_map(|kernel| ["watch::", "--skip watch::"].map(|which| (kernel, Job::Tests(which))));
    let (whole, other): (Vec<_>, Vec<_>) =
        list.iter().partition(|kernel| extent(kernel, list) > Extent::Short);
    let parts = whole.into_iter().flat_map(|kernel| [0, 1].map(|part| (kernel, Job::Commands(part, 2))));
    tests.chain(parts).chain(other.into_iter().map(|kernel| (kernel, Job::Commands(0, 1)))).collect()
}

/// The kernel's release, and the folder with what a machine with it left.
fn run(wanted: &Wanted, extent: Extent, job: Job) -> Result<(String, TempDir), String> {
    let netfathom = binary(wanted.machine)?;
    let kernel = unpacked(wanted)?;
    let folder = tempfile::tempdir().unwrap();
    let (programs, script) = match job {
        Job::Commands(part, of) => {
            let all = commands::runs(extent);
            let length = all.len().div_ceil(of);
            let some = all.chunks(length).nth(part).unwrap_or_default();
            (vec![netfathom], commands::script(some, extent > Extent::Short && part == 0))
        }
        Job::Tests(_) if seen::version(&kernel.release) < TESTED_FROM => return Ok((kernel.release, folder)),
        Job::Tests(which) => {
            let tests = tests_for(wanted.machine).expect("only where they are");
            let name = tests.file_name().unwrap().to_string_lossy().into_owned();
            let tools = TOOLS.map(|tool| Path::new("/bin").join(tool));
            ([vec![tests], tools.to_vec()].concat(), commands::script_of_tests(&name, which))
        }
    };
    let paths: Vec<&Path> = programs.iter().map(PathBuf::as_path).collect();
    let console = boot(&kernel, &paths, &script, folder.path(), LIMIT)
        .and_then(Guest::end)
        .unwrap_or_else(|why| panic!("{}: {why}", wanted.name));
    println!("{} {}\n{console}", kernel.release, wanted.machine.debian());
    Ok((kernel.release, folder))
}

#[test]
fn every_kernel_does_what_it_can() {
    let _beside = beside_others();
    let list = given("NETFATHOM_KERNELS")
        .unwrap_or_else(|| concat!(env!("CARGO_MANIFEST_DIR"), "/tests/kernels/list.txt").into());
    let wanted = Wanted::of_list(&std::fs::read_to_string(list).unwrap()).unwrap();
    let waiting = Mutex::new(jobs(&wanted).into_iter());
    let next = || waiting.lock().unwrap().next();
    let left = Mutex::new(Vec::new());
    thread::scope(|scope| {
        for _ in 0..side_by_side() {
            scope.spawn(|| {
                while let Some((kernel, job)) = next() {
                    let ended = run(kernel, extent(kernel, &wanted), job);
                    left.lock().unwrap().push((kernel, ended));
                }
            });
        }
    });
    let mut left = left.into_inner().unwrap();
    let mut seen = Vec::new();
    for kernel in &wanted {
        let of_kernel = left.extract_if(.., |(other, _)| *other == kernel).map(|(_, ended)| ended);
        match of_kernel.collect::<Result<Vec<_>, _>>() {
            Ok(parts) => seen.push(Seen::new(kernel.clone(), extent(kernel, &wanted), parts)),
            Err(why) => skipped(&format!("kernels::{} {}", kernel.name, kernel.machine.debian()), &why),
        }
    }
    let judged: Vec<judge::Judged> = seen.iter().map(judge::judge).collect();
    if let Some(file) = given("NETFATHOM_KERNELS_TABLE") {
        std::fs::write(file, table::table(&seen, &judged)).unwrap();
    }
    let wrong: Vec<String> = judged.iter().flat_map(|judged| judged.wrong.clone()).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn two_kernels_are_compared_by_what_one_of_them_lacks() {
    let _beside = beside_others();
    let image = |name: &str| {
        let Kernel { binary, modules, .. } = own_kernel(name)?;
        Ok::<_, String>(format!("{},{}", binary.display(), modules.unwrap().display()))
    };
    let (old, new) = match (image("5.10"), image("6.12")) {
        (Ok(old), Ok(new)) => (old, new),
        (Err(why), _) | (_, Err(why)) => skip!("{why}"),
    };
    let runs = tempfile::tempdir().unwrap();
    let mut compare = Command::new(env!("CARGO_BIN_EXE_netfathom"));
    compare.args(["compare", "--emulate", "--kernel", &new, "--kernel", &old, "--out"]).arg(runs.path());
    let stack = "-- stack tx --profile constant:100/300ms --trials 1 --baselines 0 --cross-checks 0";
    let ended = compare.args(stack.split(' ')).output().unwrap();
    let output = String::from_utf8_lossy(&ended.stdout);
    assert!(ended.status.success(), "{output}{}", String::from_utf8_lossy(&ended.stderr));
    assert!(
        output.contains("only B lacks the stage qdisc: this kernel has no tracepoint qdisc_enqueue"),
        "{output}"
    );
    assert!(!output.contains("only A") && !output.contains('%'), "{output}");
    assert_eq!(std::fs::read_dir(runs.path()).unwrap().count(), 2);
}
