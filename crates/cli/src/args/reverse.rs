//! Arguments of `netfathom reverse`.

use std::net::SocketAddr;

use clap::{Args as ClapArgs, Subcommand};
use netfathom_measure::load::allow::Prefix;
use netfathom_model::plan::Variant;
use netfathom_model::units::parse_number;

use super::peer::{parse_listen, parse_peer};
use super::stack::parse_cpus;
use super::words::{Word, one_of};
use super::{OutputArgs, PLAIN_EXIT_STATUS, parse_message_size, parse_rates, parse_time, parse_whole};

pub const EXAMPLES: &str = "\
Examples:
  netfathom reverse
      all four variants in the built-in lab
  netfathom reverse --variant echo --inbound 1k..50k --trials 5
      the answers are echoes of the load
  netfathom reverse --to 10.0.0.2:9600,10.0.0.3:9600
      to the first of two hosts, with inbound load from both; on each runs
      netfathom reverse serve";

const SERVE_EXAMPLES: &str = "\
Examples:
  netfathom reverse serve --listen 0.0.0.0:9600
      the other end of `netfathom reverse --to THIS_HOST:9600`
  netfathom reverse serve --max-rate 200k --hosts 1
      sends at most 200,000 messages/s; ends after one host";

const VARIANTS: &[Word<Variant>] = &[
    ("ignored", Variant::Ignored, "No one reads what comes in"),
    ("other-thread", Variant::OtherThread, "Another thread reads it"),
    ("same-thread", Variant::SameThread, "The sending thread reads it between its messages"),
    ("echo", Variant::Echo, "It is the load itself, sent back"),
];

/// `netfathom reverse`.
#[derive(Debug, ClapArgs)]
#[command(args_conflicts_with_subcommands = true, disable_help_subcommand = true)]
pub struct ReverseArgs {
    #[command(subcommand)]
    pub command: Option<ReverseCommand>,
    /// What happens to the incoming messages [default: all four]
    #[arg(long, value_parser = one_of(VARIANTS), value_delimiter = ',', value_name = "VARIANT,...")]
    pub variant: Vec<Variant>,
    /// Length of a trial: a quarter each before, rising, at the peak, after
    #[arg(long, default_value = "4s", value_name = "TIME", value_parser = parse_time)]
    pub time: u64,
    /// The inbound load: where it begins to rise, and its peak
    #[arg(long, default_value = "1k..100k", value_name = "FROM..TO", value_parser = parse_rates)]
    pub inbound: (f64, f64),
    /// Trials of each variant
    #[arg(long, default_value_t = 5, value_name = "N", value_parser = parse_whole::<u32>)]
    pub trials: u32,
    /// Leaves the stack times out: measuring them lowers the rate
    #[arg(long)]
    pub no_tap: bool,
    /// UDP payload in bytes
    #[arg(long, default_value_t = 64, value_name = "BYTES", value_parser = parse_message_size)]
    pub size: usize,
    /// IPv6 instead of IPv4
    #[arg(long, conflicts_with = "to")]
    pub ipv6: bool,
    /// To another host, which sends the inbound load: `netfathom reverse serve` there. Of several hosts the first takes
    /// the load, and each sends its part of the inbound load
    #[arg(long, value_name = "HOST:PORT,...", value_delimiter = ',', value_parser = parse_peer, conflicts_with = "setup")]
    pub to: Vec<SocketAddr>,
    /// Also sends to these addresses, not only to private ones
    #[arg(long, value_name = "ADDR/LEN", requires = "to")]
    pub allow: Vec<Prefix>,
    /// CPUs of the sender, which in the lab also handles incoming packets, and of the far end; with --to the second one
    /// reads what comes in [default: the last two]
    #[arg(long, value_name = "SENDER,FAR", value_parser = parse_cpus)]
    pub cpu: Option<(usize, usize)>,
    #[command(flatten)]
    pub output: OutputArgs,
}

#[derive(Debug, Subcommand)]
pub enum ReverseCommand {
    /// The other end, for a measurement on another host: takes its load, and sends the inbound one
    #[command(after_help = format!("{SERVE_EXAMPLES}\n\n{PLAIN_EXIT_STATUS}"))]
    Serve(ReverseServeArgs),
}

/// `netfathom reverse serve`.
#[derive(Clone, Debug, ClapArgs)]
pub struct ReverseServeArgs {
    /// Where to listen, TCP and UDP; port 0 takes a free one
    #[arg(long, value_name = "ADDR:PORT", default_value = "0.0.0.0:9600", value_parser = parse_listen)]
    pub listen: SocketAddr,
    /// CPU that sends the inbound load [default: the last but one that this process may use]
    #[arg(long, value_name = "CPU", value_parser = parse_whole::<usize>)]
    pub cpu: Option<usize>,
    /// Also takes hosts at these addresses, and sends to them, not only to private ones
    #[arg(long, value_name = "ADDR/LEN")]
    pub allow: Vec<Prefix>,
    /// Maximum rate of the inbound load, messages per second; an echo sends one for each that comes
    #[arg(long, value_name = "RATE", default_value = "1M", value_parser = parse_number)]
    pub max_rate: f64,
    /// Maximum length of a trial
    #[arg(long, value_name = "TIME", default_value = "10m", value_parser = parse_time)]
    pub max_time: u64,
    /// Ends after this number of hosts [default: runs until Ctrl-C]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub hosts: Option<u32>,
}
