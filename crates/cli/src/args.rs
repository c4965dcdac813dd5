//! Arguments as typed. Each command turns its own into a plan.

use std::path::PathBuf;

use clap::builder::styling::Styles;
use clap::{Args as ClapArgs, Parser, Subcommand};
use netfathom_model::message::HEADER_BYTES;
use netfathom_model::profile::{Profile, ProfileError};
use netfathom_model::units::{parse_duration_ns as parse_time, parse_number};
use netfathom_results::store::{self, ResolveError};

mod brief;
mod burn;
mod capacity;
mod compare;
mod cost;
#[cfg(test)]
mod documented;
mod export;
mod fleet;
mod join;
mod light;
mod load;
mod marks;
mod message;
mod peer;
mod report;
mod reproduce;
mod reverse;
mod runs;
mod shell;
mod stack;
mod sweep;
mod ttcp;
mod unknown;
mod view;
mod watch;
mod words;

pub use burn::BurnArgs;
pub use capacity::CapacityArgs;
pub use compare::{CommandPlace, CompareArgs, CompareFormat};
pub use cost::{CostArgs, LoadArg};
pub use export::ExportArgs;
pub use fleet::{
    AccessArgs, AgentArgs, AloneArgs, DownArgs, FleetCommand, FleetLoadArgs, HostsArgs, ListsArgs, Manifest,
    ManifestArgs, MeshArgs, ResumeArgs, UpArgs, Via, WhoArgs, parse_plain,
};
pub use join::JoinArgs;
pub use light::LightArgs;
pub use load::{LoadCommand, SendArgs, SinkArgs};
pub use marks::MarksArgs;
pub use message::{MessageArgs, MessageCommand, ServeArgs};
pub use report::{Format, ReportArgs};
pub use reproduce::ReproduceArgs;
pub use reverse::{ReverseArgs, ReverseCommand, ReverseServeArgs};
pub use runs::{ListArgs, PruneArgs, RemoveArgs, RunsArgs, RunsCommand, ShowArgs, TagArgs};
pub use shell::{CompletionsArgs, ManArgs, Shell};
pub use stack::StackArgs;
pub use sweep::SweepArgs;
pub use ttcp::{RateFormat, TtcpArgs, TtcpCommand, as_called};
pub use unknown::{is_ours, parsed};
pub use view::ViewArgs;
pub use watch::{First, WatchArgs};

const EXIT_STATUS: &str = "\
Exit status:
  0  done        1  failed       2  wrong usage
  3  the result is VOID";

/// Of all commands.
const ALL_EXIT_STATUS: &str = "\
Exit status:
  0  done        1  failed       2  wrong usage
  3  the result is VOID, or runs cannot be compared
  4  beyond a threshold (compare --fail-if)    6  inconclusive (--strict)
  5  PARTIAL: hosts or pairs are missing (fleet)";

/// Of commands that judge nothing.
const PLAIN_EXIT_STATUS: &str = "\
Exit status:
  0  done        1  failed       2  wrong usage";

/// What holds of all commands.
const ALL: &str = "\
Examples:
  netfathom host
      what can be measured on this machine: begin here
  netfathom stack
      time in the stack; as root between two network namespaces
  netfathom COMMAND --help
      the options of a command, and examples

A TIME is written 500us, 20ms, 10s or 2m; a RATE 500, 20k or 1.5M a second;
BYTES, where letters are taken, 1448, 64k or 1m (times 1024).";

const HOST_EXAMPLES: &str = "\
Examples:
  netfathom host
      what works here, and what to do about the rest
  netfathom host --json | jq .
      the same for another program";

/// Measures a host's network stack, stage by stage, and checks its own numbers.
#[derive(Debug, Parser)]
#[command(version, styles = Styles::plain(), after_help = format!("{ALL}\n\n{ALL_EXIT_STATUS}"), max_term_width = 100)]
pub struct Args {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// What can be measured on this machine, and what is missing for the rest
    #[command(after_help = format!("{HOST_EXAMPLES}\n\n{PLAIN_EXIT_STATUS}"))]
    Host(HostArgs),
    /// How long the kernel takes to send and receive a message, stage by stage
    // So that --trials -1 is refused as a bad number, not as an unknown option.
    #[command(allow_negative_numbers = true)]
    #[command(after_help = format!("{}\n\n{}\n\n{EXIT_STATUS}", stack::EXAMPLES, stack::stages()))]
    Stack(Box<StackArgs>),
    /// The load generator alone, or its sink on another host
    #[command(subcommand)]
    Load(LoadCommand),
    /// How many messages per second this host sends, by engine and workers
    #[command(allow_negative_numbers = true)]
    #[command(after_help = format!("{}\n\n{EXIT_STATUS}", capacity::EXAMPLES))]
    Capacity(Box<CapacityArgs>),
    /// How much receiving lowers the send rate
    #[command(allow_negative_numbers = true)]
    #[command(after_help = format!("{}\n\n{EXIT_STATUS}", reverse::EXAMPLES))]
    Reverse(Box<ReverseArgs>),
    /// Stack time from captures and message logs, offline
    #[command(after_help = format!("{}\n\n{EXIT_STATUS}", join::EXAMPLES))]
    #[command(mut_arg("setup", words::hidden))]
    Join(Box<JoinArgs>),
    /// Repeats an experiment from published papers and shows its table beside the original
    #[command(allow_negative_numbers = true)]
    #[command(after_help = format!("{}\n\n{EXIT_STATUS}", reproduce::EXAMPLES))]
    Reproduce(Box<ReproduceArgs>),
    /// How fast a transfer is, with the options of the classic ttcp; --explain shows what limits it
    #[command(allow_negative_numbers = true)]
    #[command(after_help = format!("{}\n\n{}", ttcp::NOTES, ttcp::EXIT_STATUS))]
    Ttcp(Box<TtcpArgs>),
    /// A message library compared with bare sockets: one way, round trips, bulk replies
    #[command(subcommand)]
    Message(MessageCommand),
    /// How much a program slows other work on this machine
    #[command(allow_negative_numbers = true)]
    #[command(after_help = format!("{}\n\n{EXIT_STATUS}", cost::EXAMPLES))]
    #[command(mut_arg("setup", words::hidden))]
    Cost(Box<CostArgs>),
    /// Where a running application's messages, received and sent, spend their time, stage by stage
    #[command(after_help = format!("{}\n\n{}\n\n{EXIT_STATUS}", watch::EXAMPLES, watch::stages()))]
    #[command(mut_arg("setup", words::hidden))]
    Watch(WatchArgs),
    /// Many hosts, one measurement: which host is slow, and what load one sustains from all others
    #[command(subcommand)]
    Fleet(FleetCommand),
    /// Takes part in the measurements of a fleet
    #[command(after_help = format!("{}\n\n{PLAIN_EXIT_STATUS}", fleet::AGENT_EXAMPLES))]
    Agent(Box<AgentArgs>),
    /// The default benchmark of cost: a few seconds of work, one resource after the other
    #[command(after_help = format!("{}\n\n{PLAIN_EXIT_STATUS}", light::EXAMPLES))]
    Light(Box<LightArgs>),
    /// Takes so much of a machine and no more: what measures the cost of others is proved with it
    #[command(hide = true)]
    Burn(BurnArgs),
    /// Live view of a program's marks
    #[command(after_help = format!("{}\n\n{PLAIN_EXIT_STATUS}", marks::EXAMPLES))]
    Marks(MarksArgs),
    /// Writes the report of a run from its record: HTML, Markdown or text
    #[command(after_help = format!("{}\n\n{PLAIN_EXIT_STATUS}", report::EXAMPLES))]
    Report(ReportArgs),
    /// Whether B is better or worse than A: two runs, or interleaved rounds; --fail-if for CI
    #[command(after_help = format!("{}\n\n{}", compare::EXAMPLES, compare::EXIT_STATUS))]
    Compare(Box<CompareArgs>),
    /// A run in a format that other programs read
    #[command(after_help = format!("{}\n\n{PLAIN_EXIT_STATUS}", export::EXAMPLES))]
    Export(ExportArgs),
    /// Lists, shows, tags and removes runs
    #[command(after_help = format!("{}\n\n{PLAIN_EXIT_STATUS}", runs::EXAMPLES))]
    Runs(Box<RunsArgs>),
    /// The runs as a page in a browser on this machine, until Ctrl-C
    #[command(after_help = format!("{}\n\n{PLAIN_EXIT_STATUS}", view::EXAMPLES))]
    View(ViewArgs),
    /// Prints what bash, zsh or fish needs to complete commands and options
    #[command(after_help = format!("{}\n\n{PLAIN_EXIT_STATUS}", shell::EXAMPLES))]
    Completions(CompletionsArgs),
    /// Writes the manual pages, for whoever makes a package
    #[command(hide = true)]
    Man(ManArgs),
}

/// What every measurement has.
#[derive(Clone, Debug, ClapArgs)]
pub struct OutputArgs {
    /// Parent of the run's directory
    #[arg(long, default_value = "runs", value_name = "DIR")]
    pub out: PathBuf,
    /// Print only the record (JSON); the run is kept as well
    #[arg(long)]
    pub json: bool,
    /// No progress, no tables: files only
    #[arg(long)]
    pub quiet: bool,
    /// All tables of the report, not only the answer and the main one
    #[arg(long, short)]
    pub verbose: bool,
    /// Run this command in both lab namespaces before measuring; ROLE (sender,
    /// reader), DEVICE, ADDRESS and PEER are set for it; may be repeated
    #[arg(help_heading = "Lab", long, value_name = "CMD", allow_hyphen_values = true)]
    pub setup: Vec<String>,
}

/// A run that is there, by whatever name.
#[derive(Debug, ClapArgs)]
pub struct RunArg {
    /// A run's directory, record.json or name (unique prefix, tag, last); - reads a record from
    /// standard input
    pub run: PathBuf,
    /// Directory to search for run names
    #[arg(long, default_value = "runs", value_name = "DIR")]
    pub out: PathBuf,
}

impl RunArg {
    /// Where it is.
    pub fn path(&self) -> Result<PathBuf, ResolveError> {
        store::resolve(&self.out, &self.run)
    }
}

/// `netfathom host`.
#[derive(Debug, ClapArgs)]
pub struct HostArgs {
    /// Write the findings as JSON
    #[arg(long)]
    pub json: bool,
    /// Also list what works
    #[arg(long, short)]
    pub verbose: bool,
}

fn parse_whole<T: TryFrom<u64>>(text: &str) -> Result<T, String> {
    let most = u64::MAX >> (u64::BITS - 8 * size_of::<T>() as u32);
    // Beyond that a number such as 1.5M is not exact.
    let exact = |n: &f64| n.fract() == 0.0 && *n < 2_f64.powi(53);
    let multiple = || parse_number(text).ok().filter(exact).map(|n| n as u64);
    let number = text.parse().ok().or_else(multiple).and_then(|n: u64| T::try_from(n).ok());
    number.ok_or_else(|| format!("write a whole number from 0 to {most}"))
}

/// A plan knows the path, and refuses what does not fit.
fn parse_message_size(text: &str) -> Result<usize, String> {
    parse_whole(text).map_err(|_| format!("write a whole number of bytes, at least {HEADER_BYTES}"))
}

/// Checked here, so that the error names its flag; a file is read later.
fn parse_profile(text: &str) -> Result<String, ProfileError> {
    match Profile::csv_path(text) {
        Some(_) => Ok(text.to_owned()),
        None => text.parse::<Profile>().map(|_| text.to_owned()),
    }
}

/// `1%`, `0.5%`, or a fraction.
fn parse_percent(text: &str) -> Result<f64, String> {
    let (number, unit) = text.strip_suffix('%').map_or((text, 1.0), |number| (number, 100.0));
    let value: Option<f64> = number.trim().parse().ok().filter(|value: &f64| value.is_finite());
    value.map(|value| value / unit).ok_or_else(|| format!("`{text}` is no part: write 1% or 0.5%"))
}

/// `FROM..TO`, both rates.
fn parse_rates(text: &str) -> Result<(f64, f64), String> {
    let form = || format!("`{text}` is no range of rates: write FROM..TO, such as 1k..100k");
    let (from, to) = text.split_once("..").ok_or_else(form)?;
    Ok((parse_number(from)?, parse_number(to)?))
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn parts_are_percent_or_fractions() {
        assert_eq!((parse_percent("1%"), parse_percent("0.005")), (Ok(0.01), Ok(0.005)));
        assert!(parse_percent("x%").is_err() && parse_percent("nan").is_err());
    }

    /// Of what `clap` knows: what a plan is made of besides stands there in words.
    #[test]
    fn the_help_of_quick_names_what_it_sets() {
        let mut named = 0;
        for line in
            ["stack", "capacity", "cost", "ttcp sweep", "message oneway", "message pingpong", "message post"]
        {
            let mut command = Args::command();
            let mut matches = ["", " --quick"].map(|quick| {
                let typed = format!("netfathom {line}{quick}");
                command.try_get_matches_from_mut(typed.split(' ')).unwrap()
            });
            for word in line.split(' ') {
                command = command.find_subcommand(word).unwrap().clone();
                matches = matches.map(|of| of.subcommand_matches(word).unwrap().clone());
            }
            let quick = command.get_arguments().find(|arg| arg.get_id() == "quick").unwrap();
            let help = quick.get_help().unwrap().to_string();
            let words: Vec<&str> = help.split(' ').map(|word| word.trim_end_matches(',')).collect();
            for (arg, long) in command.get_arguments().filter_map(|arg| Some((arg.get_id(), arg.get_long()?)))
            {
                let values = matches.each_ref().map(|of| {
                    let raw = of.get_raw(arg.as_str()).into_iter().flatten();
                    raw.map(|value| value.to_str().unwrap()).collect::<Vec<_>>().join(",")
                });
                if long != "quick" && values[0] != values[1] {
                    let set = [&*format!("--{long}"), &*values[1]];
                    assert!(words.windows(2).any(|pair| pair == set), "{line}: {long}: {help}");
                    named += 1;
                }
            }
        }
        assert!(named > 15, "{named}");
    }

    #[test]
    fn a_whole_number_may_have_a_multiple() {
        assert_eq!(["10k", "1.5M", "7"].map(parse_whole::<u32>), [Ok(10_000), Ok(1_500_000), Ok(7)]);
        for wrong in ["1.5", "0.0001k", "-1", "5G", "1..2", ""] {
            assert!(parse_whole::<u32>(wrong).is_err(), "{wrong}");
        }
        assert_eq!(parse_whole::<u64>("18446744073709551615"), Ok(u64::MAX));
    }
}
