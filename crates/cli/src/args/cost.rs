//! Arguments of `netfathom cost`.

use std::path::PathBuf;

use clap::{Args as ClapArgs, ValueEnum};
use netfathom_model::plan::{CostLevel, CostLoad, MarkMeans, PAPER_FRAME_BYTES};
use netfathom_model::units::parse_number;

use super::words::{Word, one_of};
use super::{OutputArgs, parse_percent, parse_time, parse_whole, ttcp::parse_size};

pub const EXAMPLES: &str = "\
Examples:
  netfathom cost --phases loopback -- tcpdump -i lo -w /dev/null
      how much a capture slows the traffic that it captures
  netfathom cost -- my-agent
      how much my-agent slows others, by resource: eight short phases
  netfathom cost --benchmark tar --load udp:0,8M,80M -- tcpdump -eX -s0 -i veth0
      how much it slows reading files, under rising network load
  netfathom cost --benchmark build='make -C /src/app clean all' -- my-agent
      how much my-agent slows a build of yours
  netfathom cost --pid $(pidof my-agent)
      the same for one that runs already: it is paused and resumed
  netfathom cost --self -- make -C /src/app
      the program's own system calls, by their time
  netfathom cost --sequences times.csv
      slowdown and PCost from times of marks that were taken elsewhere

Benchmarks: light (short phases, each about one resource; the default), tar and
tar-gzip (over a tree that is made for it), or NAME=COMMAND of your own.
COMMAND gets no input; its standard output is discarded, its standard error
read. It runs during the trials with it; after each, it and its children are
killed.";

const INSTEAD: &str = "Instead of COMMAND";
const LOAD: &str = "Load on COMMAND";
const LIFE: &str = "Start and end of COMMAND";
const TRIALS: &str = "Trials";
const MARKS: &str = "Observation points";
const SIZES: &str = "Sizes of light and tar";

/// `netfathom cost`.
#[derive(Debug, ClapArgs)]
pub struct CostArgs {
    /// Program under test: started before each trial with it, ended after
    #[arg(last = true, value_name = "COMMAND")]
    pub command: Vec<String>,
    /// What COMMAND may slow: light, tar, tar-gzip, or NAME=COMMAND for the shell; repeatable [default: light]
    #[arg(long, value_name = "WHAT")]
    pub benchmark: Vec<String>,
    /// Phases of light, which is measured then: cpu, memory, calls, switches, timers, loopback, metadata,
    /// data [default: all]
    #[arg(long, value_delimiter = ',', value_name = "PHASE,...", conflicts_with_all = ["own", "marks_from"])]
    pub phases: Vec<String>,
    /// Load on COMMAND: udp:BITS,... per second in the lab, where COMMAND then runs, or a shell command,
    /// maybe with {level} in it
    #[arg(long, value_name = "LOAD", value_parser = parse_load)]
    pub load: Option<LoadArg>,
    /// Instead of COMMAND: a running process, paused for the baseline (SIGSTOP)
    #[arg(long, value_name = "PID", group = "subject", value_parser = parse_whole::<u32>)]
    pub pid: Option<u32>,
    /// Rank COMMAND's own system calls by their time, and by what --load adds to them
    #[arg(long = "self", conflicts_with_all = ["benchmark", "marks_from", "pid", "service", "toggle"])]
    pub own: bool,
    /// End after this time, once --min-blocks are done
    #[arg(long, value_name = "TIME", default_value = "2m", default_value_if("quick", "true", "30s"), value_parser = parse_time)]
    pub time: u64,
    /// Half of the 99 % interval of the slowdown to aim at: sets the number of blocks
    #[arg(long, value_name = "PERCENT", default_value = "1%", default_value_if("quick", "true", "10%"), value_parser = parse_percent)]
    pub precision: f64,
    /// As --time 30s --precision 10% --min-blocks 4 --phase 60ms --entries 3000, where not set otherwise
    #[arg(long)]
    pub quick: bool,
    /// CPUs of the benchmarks [default: all]
    #[arg(long, value_delimiter = ',', value_name = "CPU,...", value_parser = parse_whole::<usize>)]
    pub cpu: Vec<usize>,
    /// CPUs of COMMAND [default: all]
    #[arg(long, value_delimiter = ',', value_name = "CPU,...", value_parser = parse_whole::<usize>)]
    pub program_cpu: Vec<usize>,
    /// A service; left as it was
    #[arg(help_heading = INSTEAD, long, value_name = "NAME", group = "subject")]
    pub service: Option<String>,
    /// What one shell command starts and another stops; off before and after
    #[arg(help_heading = INSTEAD, long, num_args = 2, value_names = ["START", "STOP"], group = "subject")]
    pub toggle: Vec<String>,
    /// Nothing: an A/A test, or the slowdown by the load alone
    #[arg(help_heading = INSTEAD, long, group = "subject")]
    pub nothing: bool,
    /// No measurement: tables of mark times taken elsewhere, the baseline in the first row
    #[arg(help_heading = INSTEAD, long, value_delimiter = ',', value_name = "FILE.csv,...", conflicts_with_all = ["subject", "command", "load", "benchmark"])]
    pub sequences: Vec<PathBuf>,
    /// No program of yours: check this command against known costs
    #[arg(help_heading = INSTEAD, long, conflicts_with_all = ["subject", "command", "load", "benchmark", "sequences"])]
    pub prove: bool,
    /// Values of {level}, in COMMAND or in the command of --load
    #[arg(help_heading = LOAD, long, value_delimiter = ',', value_name = "LEVEL,...")]
    pub levels: Vec<String>,
    /// Bytes of a frame of --load udp; the default is the paper's
    #[arg(help_heading = LOAD, long, value_name = "BYTES", default_value_t = PAPER_FRAME_BYTES, value_parser = parse_whole::<u32>)]
    pub frame: u32,
    /// Time for COMMAND to start before each trial [default: 300ms; with --job none]
    #[arg(help_heading = LIFE, long, value_name = "TIME", value_parser = parse_time)]
    pub settle: Option<u64>,
    /// Time for COMMAND to end after SIGTERM, before SIGKILL
    #[arg(help_heading = LIFE, long, value_name = "TIME", default_value = "3s", value_parser = parse_time)]
    pub grace: u64,
    /// Restart COMMAND whenever it exits with status 0
    #[arg(help_heading = LIFE, long, conflicts_with = "job")]
    pub again: bool,
    /// COMMAND does a job and exits, maybe before the benchmark: measure what the job takes
    #[arg(help_heading = LIFE, long)]
    pub job: bool,
    /// Give COMMAND a terminal
    #[arg(help_heading = LIFE, long)]
    pub terminal: bool,
    /// Minimum number of blocks; a block runs each condition twice, in order and back: A B B A
    #[arg(help_heading = TRIALS, long, value_name = "N", default_value_t = 5, default_value_if("quick", "true", "4"), value_parser = parse_whole::<u32>)]
    pub min_blocks: u32,
    /// Maximum number of blocks
    #[arg(help_heading = TRIALS, long, value_name = "N", default_value_t = 1000, value_parser = parse_whole::<u32>)]
    pub max_blocks: u32,
    /// Repeat the order and the tree of a run [default: random]
    #[arg(help_heading = TRIALS, long, value_name = "N", value_parser = parse_whole::<u64>)]
    pub seed: Option<u64>,
    /// Files: NAME=COMMAND passes an observation point when it opens one
    #[arg(help_heading = MARKS, long, value_delimiter = ',', value_name = "FILE,...")]
    pub marks: Vec<PathBuf>,
    /// Choose characteristic system calls of NAME=COMMAND as observation points
    #[arg(help_heading = MARKS, long, value_enum, value_name = "HOW", conflicts_with = "marks")]
    pub sequence: Option<SequenceArg>,
    /// Benchmark: a running program that marks itself (see netfathom marks)
    #[arg(help_heading = MARKS, long, value_name = "PID|NAME", conflicts_with_all = ["benchmark", "marks", "sequence"])]
    pub marks_from: Option<String>,
    /// How long a trial watches the program of --marks-from
    #[arg(help_heading = MARKS, long, value_name = "TIME", default_value = "1s", value_parser = parse_time)]
    pub window: u64,
    /// How passing an observation point is recorded [default: the best that works]
    #[arg(help_heading = MARKS, long, value_parser = one_of(MEANS), value_name = "HOW")]
    pub marks_by: Option<MarkMeans>,
    /// Skip the trials that measure the overhead of the observation points
    #[arg(help_heading = MARKS, long)]
    pub no_baselines: bool,
    /// Length of a phase of light on an idle machine
    #[arg(help_heading = SIZES, long, value_name = "TIME", default_value = "150ms", default_value_if("quick", "true", "60ms"), value_parser = parse_time)]
    pub phase: u64,
    /// Files and directories in the tree of tar
    #[arg(help_heading = SIZES, long, value_name = "N", default_value_t = 12_700, default_value_if("quick", "true", "3000"), value_parser = parse_whole::<u32>)]
    pub entries: u32,
    /// Bytes of the tree of tar [default: in proportion to --entries, 187 MB for 12700]
    #[arg(help_heading = SIZES, long, value_name = "BYTES", value_parser = parse_size)]
    pub bytes: Option<u64>,
    /// Where to make the tree of tar [default: the temporary directory]
    #[arg(help_heading = SIZES, long, value_name = "DIR")]
    pub tree: Option<PathBuf>,
    /// Drop the tree's files from the page cache before each trial, instead of reading them
    #[arg(help_heading = SIZES, long)]
    pub cold: bool,
    /// Put the marks of tar dense at the beginning, for a COMMAND that exits early
    #[arg(help_heading = SIZES, long)]
    pub early: bool,
    #[command(flatten)]
    pub output: OutputArgs,
}

/// How a sequence is found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum SequenceArg {
    /// Characteristic system calls, chosen from two runs
    Auto,
}

const MEANS: &[Word<MarkMeans>] = &[
    ("tracepoints", MarkMeans::Tracepoints, "Tracepoint programs in the kernel; needs root"),
    ("notification", MarkMeans::Notification, "seccomp notification: no privilege, slower"),
    ("ends", MarkMeans::Ends, "Start and end alone"),
];

/// A load as typed.
#[derive(Clone, Debug, PartialEq)]
pub enum LoadArg {
    /// Bits a second, each as typed.
    Udp(Vec<CostLevel>),
    /// A command, with `{level}` where there are several.
    Command(String),
}

impl LoadArg {
    /// As a plan has it; frames of this number of bytes.
    pub fn load(&self, frame_bytes: u32) -> CostLoad {
        match self {
            Self::Udp(_) => CostLoad::Udp { frame_bytes },
            Self::Command(command) => CostLoad::Command { command: command.clone() },
        }
    }
}

fn parse_load(text: &str) -> Result<LoadArg, String> {
    let Some(levels) = text.strip_prefix("udp:") else { return Ok(LoadArg::Command(text.into())) };
    let level = |text: &str| {
        let bits_per_s = parse_number(text)?;
        Ok(CostLevel { text: text.into(), bits_per_s: Some(bits_per_s) })
    };
    let levels: Result<Vec<_>, String> = levels.split(',').map(level).collect();
    Ok(LoadArg::Udp(levels?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loads_are_levels_or_a_command() {
        let LoadArg::Udp(levels) = parse_load("udp:0,800k,80M").unwrap() else { panic!() };
        let bits: Vec<_> = levels.iter().map(|level| level.bits_per_s.unwrap()).collect();
        assert_eq!((bits, levels[1].text.as_str()), (vec![0.0, 800e3, 80e6], "800k"));
        assert!(parse_load("udp:0,x").is_err());
        assert_eq!(parse_load("ab {level}").unwrap(), LoadArg::Command("ab {level}".into()));
    }
}
