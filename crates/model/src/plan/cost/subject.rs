//! What is done to the machine while the benchmark runs.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

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

/// What is under test: its cost is measured.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", tag = "what")]
pub enum Subject {
    /// No program: any effect is chance, or that of the load.
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

named! { Interception:
    Tracepoints = "netfathom, tracepoints", Notification = "netfathom, notification",
    Strace = "strace -f, opens and execs", StraceAll = "strace -f", PerfTrace = "perf trace",
    Bpftrace = "bpftrace"
}

impl Subject {
    /// How its user has it run on these CPUs alone; `None` for what netfathom starts, or does, itself.
    pub fn pinned_to(&self, cpus: &[usize]) -> Option<String> {
        let cpus = cpus.iter().map(usize::to_string).collect::<Vec<_>>().join(",");
        match self {
            Self::Nothing | Self::Command { .. } | Self::Interception { .. } => None,
            Self::Process { pid } => Some(format!("first taskset -acp {cpus} {pid}")),
            Self::Service { name } => {
                Some(format!("first systemctl set-property --runtime {name} AllowedCPUs={cpus}"))
            }
            Self::Toggle { .. } => Some(format!("start it under taskset -c {cpus} in --toggle")),
        }
    }

    /// What was typed, in one line.
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
