//! `netfathom cost` as its users run it: what it takes for a program, for a benchmark, and how it ends.

mod benchmarks;
mod interrupted;
mod killed;
mod load;
mod others;
mod own;
mod program;
mod tables;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use netfathom_model::record::{CostResult, CostTrial, Measured, Record};
use netfathom_testkit::Killed;
use tempfile::TempDir;

use crate::child::{netfathom_to, out, run, runs};
use crate::refusals::refused_for;

/// Two blocks of two conditions, and nothing else: a baseline trial and one with the program, there and back.
const SHORT: &str = "cost --quick --time 1s --min-blocks 2 --max-blocks 2 --no-baselines --json";
/// Trials of each condition in that.
const TRIALS: usize = 4;
/// The shortest benchmark that is one.
const CHEAP: &str = "b=cat /etc/hosts";

/// A short run, and a place of its own for what it and its program write.
struct Short {
    dir: TempDir,
}

impl Short {
    fn new() -> Self {
        let dir = out();
        let runs = dir.path().join("runs");
        fs::create_dir(&runs).unwrap();
        // Also of who has no privilege.
        fs::set_permissions(&runs, fs::Permissions::from_mode(0o777)).unwrap();
        Self { dir }
    }

    /// The command, to be given its subject.
    fn command(&self) -> Command {
        netfathom_to(&self.runs(), SHORT)
    }

    /// The same with a benchmark, and little time for the program to start up.
    fn quickly(&self, benchmark: &str) -> Command {
        let mut command = self.beside(benchmark);
        command.args(["--settle", "20ms"]);
        command
    }

    /// The same, with as much time as users give it.
    fn beside(&self, benchmark: &str) -> Command {
        let mut command = self.command();
        command.args(["--benchmark", benchmark]);
        command
    }

    fn runs(&self) -> PathBuf {
        self.dir.path().join("runs")
    }

    /// A file that scripts write, by its whole name.
    fn file(&self, name: &str) -> String {
        self.dir.path().join(name).display().to_string()
    }

    /// What scripts have written, line by line.
    fn lines(&self, name: &str) -> Vec<String> {
        let text = fs::read_to_string(self.dir.path().join(name)).unwrap_or_default();
        text.lines().map(str::to_owned).collect()
    }

    /// Refused with this status and for these reasons, and no run is left.
    #[track_caller]
    fn refused(&self, command: &mut Command, status: i32, reasons: &[&str]) {
        refused_for(command, status, reasons);
        assert_eq!(runs(&self.runs()).len(), 0, "a run was left");
    }
}

/// What was measured; its verdict is that of two blocks on a busy machine.
fn measured(command: &mut Command) -> (Record, CostResult) {
    let ended = run(command).measured();
    let record: Record = ended.json();
    let result = cost(&record);
    (record, result)
}

fn cost(record: &Record) -> CostResult {
    CostResult::of(&record.measurement).expect("a cost").clone()
}

/// The runs that are no trials: where kernel programs see who has the CPUs, one.
fn one_more(result: &CostResult) -> usize {
    result.benchmarks.iter().filter(|benchmark| benchmark.waits.is_some()).count()
}

/// The only benchmark's trials in a condition; all of them were made, and count.
fn trials(result: &CostResult, condition: usize) -> Vec<CostTrial> {
    let [benchmark] = result.benchmarks.as_slice() else { panic!("{:?}", result.benchmarks) };
    let of = benchmark.trials.iter().filter(|trial| trial.condition == condition);
    let trials: Vec<CostTrial> = of.cloned().collect();
    let failed: Vec<_> = trials.iter().filter_map(|trial| trial.failed.as_ref()).collect();
    assert!(trials.len() == TRIALS && failed.is_empty(), "{} trials, {failed:?}", trials.len());
    trials
}

/// A process beside the run, which is gone with the test however that ends.
fn background(command: &mut Command) -> Killed {
    Killed(command.stdin(Stdio::null()).spawn().unwrap())
}

/// Whether a process is there and not only waits to be reaped.
fn lives(pid: &str) -> bool {
    state(pid).is_some_and(|state| state != 'Z')
}

/// As /proc has it: `T` is stopped.
fn state(pid: &str) -> Option<char> {
    let stat = fs::read_to_string(Path::new("/proc").join(pid).join("stat")).ok()?;
    stat.rsplit_once(") ")?.1.chars().next()
}
