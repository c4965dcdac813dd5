//! Arguments of `netfathom reproduce`.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::Args as ClapArgs;
use netfathom_measure::load::allow::Prefix;
use netfathom_model::plan::TapChoice;

use super::peer::parse_peer;
use super::stack::TAPS;
use super::words::one_of;
use super::{OutputArgs, parse_whole};

pub const EXAMPLES: &str = "\
Examples:
  netfathom reproduce
      the experiments, and how long they take
  netfathom reproduce borodin-tx --quick
      one of them, within two minutes
  netfathom reproduce borodin-rx --tap pcap
      one of them in the paper's size, with link-layer times from a capture
  netfathom reproduce borodin-reverse --to 10.0.0.2:9600,10.0.0.3:9600
      with two other hosts, as in the paper; each runs netfathom reverse serve";

/// `netfathom reproduce`.
#[derive(Debug, ClapArgs)]
pub struct ReproduceArgs {
    /// The experiment; without it, all are listed
    pub name: Option<String>,
    /// Smaller than the paper's, and done within two minutes
    #[arg(long)]
    pub quick: bool,
    /// How link-layer times are taken
    #[arg(long, value_parser = one_of(&TAPS[..TAPS.len() - 2]), default_value = "auto")]
    pub tap: TapChoice,
    /// What qian-make builds: a directory with four projects, each in a directory with a Makefile [default: generated ones]
    #[arg(long, value_name = "DIR")]
    pub projects: Option<PathBuf>,
    /// With another host, where the experiment's counterpart runs (see -v); borodin-reverse takes several
    #[arg(long, value_name = "HOST:PORT,...", value_delimiter = ',', value_parser = parse_peer)]
    pub to: Vec<SocketAddr>,
    /// Also sends to these addresses, not only to private ones
    #[arg(long, value_name = "ADDR/LEN", requires = "to")]
    pub allow: Vec<Prefix>,
    /// Random seed, to repeat a run [default: random]
    #[arg(long, value_name = "N", value_parser = parse_whole::<u64>)]
    pub seed: Option<u64>,
    #[command(flatten)]
    pub output: OutputArgs,
}
