//! The plan of `netfathom cost`.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{PlanError, range};

/// What stands for a level in a command.
pub const LEVEL_WORD: &str = "{level}";
/// The paper's packets: bytes of a frame (Qian & Wang 2006).
pub const PAPER_FRAME_BYTES: u32 = 1064;
/// The smallest frame that carries a message of ours, and the largest of the lab.
const FRAME_BYTES: (u64, u64) = (90, 1514);
/// Kernel programs look names up among so many.
const MOST_FILES: usize = 64;
/// Each is a run of the benchmark in every block.
const MOST_LEVELS: u64 = 32;

/// The plan of `netfathom cost`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CostPlan {
    /// Whose cost is measured.
    pub subject: Subject,
    /// From whom it takes.
    pub benchmarks: Vec<Benchmark>,
    /// What the program under test has to do, besides being there.
    pub load: Option<CostLoad>,
    /// How much of it, a condition each; none if there is but one.
    pub levels: Vec<CostLevel>,
    /// How marks are taken; `None` for the best way that works.
    pub means: Option<MarkMeans>,
    /// Whether the benchmark's own system calls are timed and ranked as well.
    pub own: bool,
    /// Ends once half the width of the slowdown's 95 % interval is at most this; 0.01 is 1 %.
    pub precision: f64,
    /// Blocks that there are at least,
    pub least_blocks: u32,
    /// and at most.
    pub most_blocks: u32,
    /// No block begins after this time, except the least.
    pub most_ns: u64,
    /// What the program gets to start up before a trial.
    pub settle_ns: u64,
    /// What the program gets to end by itself after SIGTERM.
    pub grace_ns: u64,
    /// Processors of the benchmarks; all if empty.
    pub cpu: Vec<usize>,
    /// Processors of the program under test; all if empty.
    pub program_cpu: Vec<usize>,
    /// Whether the program gets a terminal.
    pub terminal: bool,
    /// What it means if the program ends by itself.
    pub when_ended: WhenEnded,
    /// Whether trials without observation points are made too, to tell what these cost.
    pub controls: bool,
    /// Decides the order of trials and where files are planted.
    pub seed: u64,
}

/// What it means if the program under test ends by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum WhenEnded {
    /// It should have gone on: the trial does not count.
    Trouble,
    /// It is started again, if it ended well.
    Again,
    /// It has done its job: what the job takes is measured.
    Fine,
}

/// Whose cost is measured.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", tag = "what")]
pub enum Subject {
    /// Nobody: what is found then is chance, or what the load takes.
    Nothing,
    /// A program that is started for each trial and ended after it.
    Command {
        /// Program and arguments.
        argv: Vec<String>,
    },
    /// A process that runs already, with its descendants: stopped (SIGSTOP) for the baseline.
    Process {
        /// Its number.
        pid: u32,
    },
    /// A service, started and stopped by the system's manager.
    Service {
        /// Its name.
        name: String,
    },
    /// Whatever a shell command starts and another stops.
    Toggle {
        /// Starts it.
        start: String,
        /// Stops it.
        stop: String,
    },
    /// Observers of system calls, around the benchmark itself.
    Interception {
        /// Which.
        ways: Vec<Interception>,
    },
}

/// A way to see a benchmark's system calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Interception {
    /// Our tracepoint programs.
    Tracepoints,
    /// Our seccomp notification.
    Notification,
    /// `strace -f` of the calls that open files and start programs.
    Strace,
    /// `strace -f` of all calls.
    StraceAll,
    /// `perf trace` of all calls.
    PerfTrace,
    /// `bpftrace` counting the calls that open files.
    Bpftrace,
}

/// A benchmark: a program that is run again and again, and whose times are compared.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Benchmark {
    /// Its name in tables.
    pub name: String,
    /// What it does.
    pub kind: BenchmarkKind,
}

/// What a benchmark does.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", tag = "kind")]
pub enum BenchmarkKind {
    /// tar reads a tree that is made for it.
    Tar {
        /// Whether gzip compresses what it reads.
        gzip: bool,
        /// Files and directories.
        entries: u32,
        /// Bytes of all files.
        bytes: u64,
        /// Whether the files are dropped from the page cache before each trial; they are read beforehand otherwise.
        cold: bool,
        /// Where the tree is made; `None` for the directory of temporary files.
        directory: Option<PathBuf>,
    },
    /// Short phases, one a resource.
    Light {
        /// Which phases, by name; all if empty.
        phases: Vec<String>,
        /// How long a phase takes on the machine at rest.
        phase_ns: u64,
    },
    /// A command for the shell.
    Command {
        /// The command.
        command: String,
        /// What is seen of it.
        marks: MarkSource,
    },
    /// A program that runs already and marks itself; it is watched for a while.
    Marking {
        /// Its process number.
        pid: u32,
        /// How long a trial watches it.
        window_ns: u64,
    },
}

/// Where the marks of a command come from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum MarkSource {
    /// It marks itself, by the marks API; its start and its end alone if it does not.
    Emitted,
    /// It opens these files.
    Files(Vec<PathBuf>),
    /// Characteristic system calls, chosen from two runs.
    Auto,
}

/// How marks are taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum MarkMeans {
    /// Programs at tracepoints, filtered in the kernel to the benchmark's processes.
    Tracepoints,
    /// seccomp notification: each call that opens a file waits for us.
    Notification,
    /// The benchmark's start and end alone.
    Ends,
}

/// What the program under test has to do.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", tag = "load")]
pub enum CostLoad {
    /// UDP from the lab's one host to the other, where the program runs.
    Udp {
        /// Bytes of a frame.
        frame_bytes: u32,
    },
    /// A shell command, in which `{level}` stands for the level.
    Command {
        /// The command.
        command: String,
    },
}

/// How much of a load.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CostLevel {
    /// As it was typed.
    pub text: String,
    /// Bits a second, where it is a rate.
    pub bits_per_s: Option<f64>,
}

impl Interception {
    /// As it is written in tables.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Tracepoints => "netfathom, tracepoints",
            Self::Notification => "netfathom, notification",
            Self::Strace => "strace -f, opens and execs",
            Self::StraceAll => "strace -f",
            Self::PerfTrace => "perf trace",
            Self::Bpftrace => "bpftrace",
        }
    }
}

impl MarkMeans {
    /// As it is written in flags and tables.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Tracepoints => "tracepoints",
            Self::Notification => "notification",
            Self::Ends => "ends",
        }
    }
}

impl Subject {
    /// What was typed, in one line.
    #[must_use]
    pub fn in_words(&self) -> String {
        match self {
            Self::Nothing => "nothing".into(),
            Self::Command { argv } => argv.join(" "),
            Self::Process { pid } => format!("process {pid}"),
            Self::Service { name } => format!("service {name}"),
            Self::Toggle { start, .. } => start.clone(),
            Self::Interception { .. } => "observers of system calls".into(),
        }
    }
}

impl CostPlan {
    /// Checks what the types do not.
    ///
    /// # Errors
    /// The first thing that is wrong, with what would be right.
    pub fn validated(self) -> Result<Self, PlanError> {
        self.levels_go_together()?;
        if !(0.0001..=1.0).contains(&self.precision) {
            return Err(conflict("--precision: choose from 0.01% to 100%"));
        }
        range("blocks", self.most_blocks.into(), 2, 10_000)?;
        range("least-blocks", self.least_blocks.into(), 2, self.most_blocks.into())?;
        range("time (s)", self.most_ns / 1_000_000_000, 1, 86_400)?;
        range("settle (ms)", self.settle_ns / 1_000_000, 0, 600_000)?;
        range("grace (ms)", self.grace_ns / 1_000_000, 0, 600_000)?;
        if let Subject::Command { argv } = &self.subject
            && argv.first().is_none_or(String::is_empty)
        {
            return Err(conflict("there is no COMMAND: name the program under test after --"));
        }
        for (index, benchmark) in self.benchmarks.iter().enumerate() {
            if self.benchmarks[..index].iter().any(|b| b.name == benchmark.name) {
                return Err(conflict(&format!("--benchmark: {} is there twice", benchmark.name)));
            }
            benchmark.kind.check()?;
            if let (BenchmarkKind::Marking { pid, .. }, Subject::Process { pid: stopped }) =
                (&benchmark.kind, &self.subject)
                && pid == stopped
            {
                return Err(conflict(
                    "--pid and --marks-from are the same process: it cannot be watched while it is stopped",
                ));
            }
        }
        Ok(self)
    }

    fn levels_go_together(&self) -> Result<(), PlanError> {
        range("levels: their number", self.levels.len() as u64, 0, MOST_LEVELS)?;
        for (index, level) in self.levels.iter().enumerate() {
            if self.levels[..index].iter().any(|l| l.text == level.text) {
                return Err(conflict(&format!("level {} is there twice", level.text)));
            }
        }
        let names_level = |text: &String| text.contains(LEVEL_WORD);
        let argv_has = matches!(&self.subject, Subject::Command { argv } if argv.iter().any(names_level));
        match &self.load {
            Some(CostLoad::Udp { frame_bytes }) => {
                range("frame", u64::from(*frame_bytes), FRAME_BYTES.0, FRAME_BYTES.1)?;
                // A frame a second; less is nothing that anybody could count.
                let least = 8.0 * f64::from(*frame_bytes);
                let may_be = |bits: f64| bits == 0.0 || (least..=100e9).contains(&bits);
                if !self.levels.iter().all(|l| l.bits_per_s.is_some_and(may_be)) {
                    return Err(conflict(&format!(
                        "--load udp: levels are bits a second, such as udp:0,800k,8M: 0, or {least:.0} (a frame a second) \
                         to 100G"
                    )));
                }
            }
            Some(CostLoad::Command { command }) if !names_level(command) => {
                return Err(conflict("--load: the command has no {level} in it; say where the level goes"));
            }
            Some(CostLoad::Command { .. }) if self.levels.is_empty() => {
                return Err(conflict(
                    "--load: {level} stands for nothing; add --levels, such as --levels 1,2,4",
                ));
            }
            Some(CostLoad::Command { .. }) => {}
            None if argv_has && self.levels.is_empty() => {
                return Err(conflict(
                    "COMMAND: {level} stands for nothing; add --levels, such as --levels 1,2,4",
                ));
            }
            None if !argv_has && !self.levels.is_empty() => {
                return Err(conflict("--levels: neither COMMAND nor --load has {level} in it"));
            }
            None => {}
        }
        Ok(())
    }
}

impl BenchmarkKind {
    fn check(&self) -> Result<(), PlanError> {
        match self {
            Self::Tar { entries, bytes, .. } => {
                range("entries", u64::from(*entries), 50, 1_000_000)?;
                range("bytes", *bytes, 100_000, 1 << 40)
            }
            Self::Light { phase_ns, .. } => range("phase (ms)", phase_ns / 1_000_000, 5, 60_000),
            Self::Command { command, .. } if command.trim().is_empty() => {
                Err(conflict("--benchmark: give NAME=COMMAND"))
            }
            Self::Command { marks: MarkSource::Files(files), .. } => files_check(files),
            Self::Command { .. } => Ok(()),
            Self::Marking { window_ns, .. } => range("window (ms)", window_ns / 1_000_000, 10, 600_000),
        }
    }
}

fn files_check(files: &[PathBuf]) -> Result<(), PlanError> {
    range("marks: their number", files.len() as u64, 1, MOST_FILES as u64)?;
    match files.iter().find(|file| file.file_name().is_none()) {
        Some(file) => Err(conflict(&format!("--marks: {} names no file", file.display()))),
        None => Ok(()),
    }
}

fn conflict(text: &str) -> PlanError {
    PlanError::Conflict(text.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan() -> CostPlan {
        CostPlan {
            subject: Subject::Command { argv: vec!["true".into()] },
            benchmarks: vec![Benchmark {
                name: "light".into(),
                kind: BenchmarkKind::Light { phases: Vec::new(), phase_ns: 200_000_000 },
            }],
            load: None,
            levels: Vec::new(),
            means: None,
            own: false,
            precision: 0.01,
            least_blocks: 3,
            most_blocks: 50,
            most_ns: 60_000_000_000,
            settle_ns: 0,
            grace_ns: 0,
            cpu: Vec::new(),
            program_cpu: Vec::new(),
            terminal: false,
            when_ended: WhenEnded::Trouble,
            controls: true,
            seed: 0,
        }
    }

    fn level(text: &str, bits_per_s: Option<f64>) -> CostLevel {
        CostLevel { text: text.into(), bits_per_s }
    }

    fn refusal(plan: CostPlan) -> String {
        plan.validated().unwrap_err().to_string()
    }

    #[test]
    fn what_goes_together_is_accepted() {
        assert!(plan().validated().is_ok());
        let load = Some(CostLoad::Udp { frame_bytes: PAPER_FRAME_BYTES });
        let levels = vec![level("0", Some(0.0)), level("8M", Some(8e6))];
        assert!(CostPlan { load, levels, ..plan() }.validated().is_ok());
        let subject = Subject::Command { argv: vec!["make".into(), "-C".into(), "{level}".into()] };
        assert!(CostPlan { subject, levels: vec![level("small", None)], ..plan() }.validated().is_ok());
    }

    #[test]
    fn a_level_goes_somewhere_and_each_has_its_place() {
        let levels = vec![level("1", None)];
        assert!(
            refusal(CostPlan { levels: levels.clone(), ..plan() }).contains("neither COMMAND nor --load")
        );
        let command = |text: &str| Some(CostLoad::Command { command: text.into() });
        assert!(
            refusal(CostPlan { load: command("sleep 1"), levels, ..plan() }).contains("no {level} in it")
        );
        assert!(refusal(CostPlan { load: command("sleep {level}"), ..plan() }).contains("add --levels"));
        let twice = vec![level("1", None), level("1", None)];
        assert!(
            refusal(CostPlan { load: command("sleep {level}"), levels: twice, ..plan() }).contains("twice")
        );
        let load = Some(CostLoad::Udp { frame_bytes: PAPER_FRAME_BYTES });
        assert!(
            refusal(CostPlan { load, levels: vec![level("x", None)], ..plan() }).contains("bits a second")
        );
    }

    #[test]
    fn what_cannot_be_is_refused() {
        let subject = Subject::Command { argv: Vec::new() };
        assert!(refusal(CostPlan { subject, ..plan() }).contains("no COMMAND"));
        assert!(refusal(CostPlan { precision: 0.0, ..plan() }).contains("--precision"));
        assert!(refusal(CostPlan { least_blocks: 60, ..plan() }).contains("--least-blocks 60"));
        let marks = MarkSource::Files(vec!["/".into()]);
        let kind = BenchmarkKind::Command { command: "ls".into(), marks };
        let benchmarks = vec![Benchmark { name: "ls".into(), kind }];
        assert!(refusal(CostPlan { benchmarks, ..plan() }).contains("names no file"));
    }
}
