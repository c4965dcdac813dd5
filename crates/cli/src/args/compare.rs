//! `netfathom compare`.

use std::path::PathBuf;

use clap::{Args as ClapArgs, ValueEnum};
use netfathom_results::compare::MOST_PAIRS;

pub const EXAMPLES: &str = "\
Examples:
  netfathom compare runs/BEFORE runs/AFTER
      quantity by quantity: better, worse, or not significant
  netfathom compare --run 'stack tx --quick' -- 'stack tx --quick --ipv6'
      interleaved, 8 rounds: drift of both is not taken for a change
  netfathom compare --run 'gzip -1 -c F' --run 'gzip -2 -c F' \\
      --fail-if 'time>5%'
      commands of your own, for CI: is B more than 5 % slower than A?
  netfathom compare --before-b 'sysctl -w net.ipv4.tcp_sack=0' --in lab \\
      --run 'message oneway'
      one measurement before and after a change of the system
  netfathom compare runs/A runs/B --fail-if 'tx.mean>5%' --fail-if 'rx.p99>20us'
      for scripts: exit status 4 where a change is shown; runs of stack need one
      --profile, or --run, to have the same load
  netfathom compare runs/BEFORE runs/AFTER --format md
      for a pull request";

pub const EXIT_STATUS: &str = "\
Exit status:
  0  compared, also if inconclusive    1  failed    2  wrong usage
  3  the runs cannot be compared, or are too few for a threshold
  4  a change is beyond --fail-if
  6  with --strict: a threshold is inconclusive";

const AROUND: &str = "Commands before and after a run (--run)";
const KERNELS: &str = "Two kernels";

/// `netfathom compare`.
#[derive(Debug, ClapArgs)]
pub struct CompareArgs {
    /// The run to compare with (A), then each run that is compared with it (B): directories, their record.json, or
    /// names (unique prefix, tag, last)
    #[arg(value_name = "RUN")]
    pub runs: Vec<PathBuf>,
    /// The runs were interleaved and are pairs: A B A B and so on
    #[arg(long, conflicts_with = "run")]
    pub pairs: bool,
    /// Make the runs now, A and B interleaved: once for each side, or B after --. ARGS are those of netfathom, or a
    /// command of your own, which is then timed
    #[arg(long, value_name = "ARGS", conflicts_with = "runs", allow_hyphen_values = true)]
    pub run: Vec<String>,
    /// Run this command before each run of A, such as 'sysctl -w NAME=VALUE'; with it B may have the
    /// same arguments as A and be left out
    #[arg(help_heading = AROUND, long, value_name = "CMD", requires = "run", allow_hyphen_values = true)]
    pub before_a: Option<String>,
    /// The same before each run of B
    #[arg(help_heading = AROUND, long, value_name = "CMD", requires = "run", allow_hyphen_values = true)]
    pub before_b: Option<String>,
    /// Run this command after each run that had one before it, to undo that: also if the run fails,
    /// is interrupted or is killed
    #[arg(help_heading = AROUND, long, value_name = "CMD", conflicts_with_all = ["after_a", "after_b"], allow_hyphen_values = true)]
    pub after: Option<String>,
    /// Run this command after each run of A
    #[arg(help_heading = AROUND, long, value_name = "CMD", requires = "run", allow_hyphen_values = true)]
    pub after_a: Option<String>,
    /// Run this command after each run of B
    #[arg(help_heading = AROUND, long, value_name = "CMD", requires = "run", allow_hyphen_values = true)]
    pub after_b: Option<String>,
    /// Where the commands before a run are run: on this host, or in the lab, where nothing has to be undone
    #[arg(help_heading = AROUND, long = "in", value_enum, value_name = "WHERE", default_value = "host")]
    pub place: CommandPlace,
    /// Make the runs in two kernels, booted by QEMU: give it twice, A and B. An image as a boot loader takes it,
    /// and after a comma the directory of its modules unless its name (vmlinuz-RELEASE) gives it; the arguments
    /// follow --
    #[arg(help_heading = KERNELS, long, value_name = "IMAGE[,MODULES]", requires = "against", conflicts_with_all = ["runs", "run"])]
    pub kernel: Vec<String>,
    /// Emulate the kernels, also where there is /dev/kvm: then no times are compared
    #[arg(help_heading = KERNELS, long, requires = "kernel")]
    pub emulate: bool,
    /// Rounds of --run and --kernel, each of one run of A and one of B; --fail-if takes at least 4
    #[arg(long, value_name = "N", default_value_t = 8, value_parser = clap::value_parser!(u32).range(2..=MOST_PAIRS as i64))]
    pub rounds: u32,
    /// The arguments of B for --run, of both for --kernel
    #[arg(last = true, value_name = "ARGS OF B", conflicts_with = "runs")]
    pub against: Vec<String>,
    /// Exit status 4 if the change is larger than this, and significantly so: QUANTITY>CHANGE or
    /// QUANTITY<-CHANGE, the change in percent of A or in the unit (stack: tx.mean>5%, tx.p99>2us; load:
    /// lost>0.1pp; ttcp: rate<-3%; capacity: send.1.sustained<-3%); may be given again. On a machine with other work tx.undisturbed.mean is
    /// conclusive more often than tx.mean. The end of a name will do where one main quantity has it (time). `netfathom export RUN --to csv` has the quantities of a run
    #[arg(long, value_name = "CHANGE")]
    pub fail_if: Vec<String>,
    /// Exit status 6 if a --fail-if threshold is inconclusive, instead of 0
    #[arg(long, requires = "fail_if")]
    pub strict: bool,
    /// Compare despite different workloads or VOID runs
    #[arg(long)]
    pub force: bool,
    /// txt prints tables, md is for a pull request, html is one file with charts
    #[arg(long, value_enum, default_value = "txt")]
    pub format: CompareFormat,
    /// Write to this file; - is standard output
    #[arg(long, short, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Write the comparison to standard output as JSON, and nothing else
    #[arg(long, conflicts_with_all = ["format", "output"])]
    pub json: bool,
    /// Directory where --run stores runs and RUN names are looked up
    #[arg(long, default_value = "runs", value_name = "DIR")]
    pub out: PathBuf,
    /// No progress of --run
    #[arg(long)]
    pub quiet: bool,
    /// All quantities, settings and notes, not only the answer and the main table
    #[arg(long, short)]
    pub verbose: bool,
}

/// Where commands change something.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum CommandPlace {
    /// This host
    Host,
    /// Both hosts of the lab
    Lab,
    /// The sender's host of the lab
    Sender,
    /// The reader's host of the lab
    Reader,
}

/// How a comparison is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum CompareFormat {
    /// Tables for a terminal
    Txt,
    /// GitHub Markdown
    Md,
    /// One file with pictures
    Html,
}
