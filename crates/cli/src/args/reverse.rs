//! Arguments of `netfathom reverse`.

use clap::Args as ClapArgs;
use netfathom_model::plan::Variant;

use super::stack::parse_cpus;
use super::words::{Word, one_of};
use super::{OutputArgs, parse_rates, parse_time, parse_whole};

pub const EXAMPLES: &str = "\
Examples:
  netfathom reverse
      all four variants in the built-in lab
  netfathom reverse --variant echo --inbound 1k..50k --trials 5
      the answers are echoes of the load";

const VARIANTS: &[Word<Variant>] = &[
    ("ignored", Variant::Ignored, "No one reads what comes in"),
    ("other-thread", Variant::OtherThread, "Another thread reads it"),
    ("same-thread", Variant::SameThread, "The sending thread reads it between its messages"),
    ("echo", Variant::Echo, "It is the load itself, sent back"),
];

/// `netfathom reverse`.
#[derive(Debug, ClapArgs)]
pub struct ReverseArgs {
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
    #[arg(long, default_value_t = 64, value_name = "BYTES", value_parser = parse_whole::<usize>)]
    pub size: usize,
    /// IPv6 instead of IPv4
    #[arg(long)]
    pub ipv6: bool,
    /// CPUs of the sender, which also handles incoming packets, and of the far end [default: the last two]
    #[arg(long, value_name = "SENDER,FAR", value_parser = parse_cpus)]
    pub cpu: Option<(usize, usize)>,
    #[command(flatten)]
    pub output: OutputArgs,
}
