//! Arguments of `netfathom reproduce`.

use std::path::PathBuf;

use clap::Args as ClapArgs;
use netfathom_model::plan::TapChoice;

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
      one of them in the paper's size, with link-layer times from a capture";

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
    /// Random seed, to repeat a run [default: random]
    #[arg(long, value_name = "N", value_parser = parse_whole::<u64>)]
    pub seed: Option<u64>,
    #[command(flatten)]
    pub output: OutputArgs,
}
