//! Arguments as typed. Each command turns its own into a plan.

use std::path::PathBuf;

use clap::builder::styling::Styles;
use clap::{Args as ClapArgs, Parser, Subcommand, ValueEnum};
use netfathom_model::path::Direction;
use netfathom_model::plan::InsertedDelay;
use netfathom_model::profile::Profile;
use netfathom_model::units::parse_duration_ns;

const EXIT_STATUS: &str = "\
Exit status:
  0  done        1  failed       2  wrong usage
  3  the result is VOID";

const STACK_EXAMPLES: &str = "\
Examples:
  netfathom stack both
      both directions in the built-in lab, 1,000 to 200,000 messages a second
  netfathom stack tx --profile triangle:1k..50k/20s --trials 5
      the way out, up and down again
  netfathom stack rx --loopback --tap timestamping
      the way in, without any privilege
  netfathom stack both --samples 10000 --json | jq .verdict
      keep 10,000 messages with all their times as Parquet, look at the verdict";

/// Measures what a host's network stack costs, and proves its own numbers.
#[derive(Debug, Parser)]
#[command(version, styles = Styles::plain(), after_help = EXIT_STATUS, max_term_width = 100)]
pub struct Args {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// What can be measured on this machine, and what is missing for the rest
    Host(HostArgs),
    /// Time in the stack, message by message and stage by stage, as the rate rises
    // So that --trials -1 is told as a bad number, not as an option that there is not.
    #[command(allow_negative_numbers = true)]
    #[command(after_help = format!("{STACK_EXAMPLES}\n\n{EXIT_STATUS}"))]
    Stack(Box<StackArgs>),
    /// Draws the report of a run from its record
    Report(ReportArgs),
}

/// `tx`, `rx` or `both`.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum Directions {
    /// Out: application to link layer
    Tx,
    /// In: link layer to application
    Rx,
    /// Out and in
    Both,
}

impl Directions {
    /// As the plan has them.
    pub fn list(self) -> Vec<Direction> {
        match self {
            Self::Tx => vec![Direction::Tx],
            Self::Rx => vec![Direction::Rx],
            Self::Both => vec![Direction::Tx, Direction::Rx],
        }
    }
}

/// The taps by name.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum TapArg {
    /// The best that works here
    Auto,
    /// Tracepoint programs in the kernel: every stage; needs root
    Bpf,
    /// SO_TIMESTAMPING: fewer stages, no privilege
    Timestamping,
}

/// `netfathom stack`.
#[derive(Debug, ClapArgs)]
pub struct StackArgs {
    /// Which way to measure
    #[arg(value_enum, default_value = "both")]
    pub directions: Directions,
    /// Between two network namespaces that netfathom makes and removes (default as root)
    #[arg(long, conflicts_with = "loopback")]
    pub lab: bool,
    /// Over this host's loopback device (default without root)
    #[arg(long)]
    pub loopback: bool,
    /// Messages a second over one trial: constant:RATE/TIME, ramp:FROM..TO/TIME,
    /// triangle:FROM..TO/TIME or steps:RATE,RATE,.../TIME
    #[arg(long, default_value = "ramp:1k..200k/10s")]
    pub profile: Profile,
    /// Trials with the tap
    #[arg(long, default_value_t = 10, value_name = "N", value_parser = parse_whole::<u32>)]
    pub trials: u32,
    /// Trials without the tap, interleaved with the others, for the tap's own cost
    /// [default: half of the trials]
    #[arg(long, value_name = "N", value_parser = parse_whole::<u32>)]
    pub controls: Option<u32>,
    /// Trials with the other tap, interleaved with the others, as a second opinion
    /// [default: 2 of 10]
    #[arg(long, value_name = "N", value_parser = parse_whole::<u32>)]
    pub witnesses: Option<u32>,
    /// How link-layer times are taken
    #[arg(long, value_enum, default_value = "auto")]
    pub tap: TapArg,
    /// UDP payload in bytes
    #[arg(long, default_value_t = 64, value_name = "BYTES", value_parser = parse_whole::<usize>)]
    pub size: usize,
    /// IPv6 instead of IPv4
    #[arg(long)]
    pub ipv6: bool,
    /// Keep the raw times of up to N messages, spread evenly, in samples.parquet
    #[arg(long, default_value_t = 0, value_name = "N", value_parser = parse_whole::<u32>)]
    pub samples: u32,
    /// Processors of the sender and of the reader [default: the last two]
    #[arg(long, value_name = "SENDER,READER", value_parser = parse_cpus)]
    pub cpu: Option<(usize, usize)>,
    /// UDP port of the reader; 0 takes a free one
    #[arg(long, default_value_t = 0, value_parser = parse_whole::<u16>)]
    pub port: u16,
    /// Makes a run repeat its choices [default: drawn anew]
    #[arg(long, value_name = "N", value_parser = parse_whole::<u64>)]
    pub seed: Option<u64>,
    /// The reader polls its socket instead of sleeping until a message comes: no wake-ups,
    /// at the price of a processor
    #[arg(long)]
    pub poll: bool,
    /// Prove the stages: the reader idles so long after each message, such as 50us
    #[arg(long, value_name = "TIME", value_parser = parse_reader_delay, default_value = "0ns", hide_default_value = true)]
    pub reader_delay: u64,
    /// Prove the stages: a kernel program idles on each message, such as tx:20us or rx:20us
    #[arg(long, value_name = "WAY:TIME", value_parser = parse_delay)]
    pub insert_delay: Option<InsertedDelay>,
    #[command(flatten)]
    pub output: OutputArgs,
}

/// What every measurement has.
#[derive(Debug, ClapArgs)]
pub struct OutputArgs {
    /// Directory that the run's own directory is made in
    #[arg(long, default_value = "runs", value_name = "DIR")]
    pub out: PathBuf,
    /// Write the record to standard output, and nothing else
    #[arg(long)]
    pub json: bool,
    /// No progress, no tables: files only
    #[arg(long)]
    pub quiet: bool,
}

/// `netfathom host`.
#[derive(Debug, ClapArgs)]
pub struct HostArgs {
    /// Write the findings as JSON
    #[arg(long)]
    pub json: bool,
}

/// `netfathom report`.
#[derive(Debug, ClapArgs)]
pub struct ReportArgs {
    /// The run's directory or its record.json; - reads a record from standard input
    pub run: PathBuf,
    /// html writes report.html beside the record, txt prints the tables
    #[arg(long, value_enum, default_value = "html")]
    pub format: Format,
    /// Write to this file instead; - is standard output
    #[arg(long, short, value_name = "FILE")]
    pub output: Option<PathBuf>,
}

/// How a report is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// One interactive file
    Html,
    /// Tables for a terminal
    Txt,
}

fn parse_whole<T: TryFrom<u64>>(text: &str) -> Result<T, String> {
    let most = u64::MAX >> (u64::BITS - 8 * size_of::<T>() as u32);
    let number = text.parse().ok().and_then(|n: u64| T::try_from(n).ok());
    number.ok_or_else(|| format!("write a whole number from 0 to {most}"))
}

fn parse_cpus(text: &str) -> Result<(usize, usize), String> {
    let number = |t: &str| t.parse().ok();
    text.split_once(',')
        .and_then(|(a, b)| Some((number(a)?, number(b)?)))
        .ok_or_else(|| "write two processors such as 2,3: the sender's and the reader's".into())
}

// In the unit that was typed; the plan checks the same in nanoseconds.
fn parse_reader_delay(text: &str) -> Result<u64, String> {
    let delay_ns = parse_duration_ns(text)?;
    if delay_ns <= 100_000_000 { Ok(delay_ns) } else { Err("choose from 0ns to 100ms".into()) }
}

fn parse_delay(text: &str) -> Result<InsertedDelay, String> {
    let form = "write tx:TIME or rx:TIME, such as tx:20us";
    let (way, time) = text.split_once(':').ok_or(form)?;
    let direction = match way {
        "tx" => Direction::Tx,
        "rx" => Direction::Rx,
        _ => return Err(form.into()),
    };
    match u32::try_from(parse_duration_ns(time)?) {
        Ok(delay_ns @ 1_000..=1_000_000) => Ok(InsertedDelay { direction, delay_ns }),
        _ => Err("choose a time from 1us to 1ms".into()),
    }
}
