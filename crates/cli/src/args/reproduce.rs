//! Arguments of `netfathom reproduce`.

use clap::{Args as ClapArgs, ValueEnum};
use netfathom_model::path::Tap;
use netfathom_model::plan::TapChoice;

use super::{OutputArgs, parse_whole};

pub const EXAMPLES: &str = "\
Examples:
  netfathom reproduce
      the experiments that there are, and how long they take
  netfathom reproduce borodin-tx --quick
      one of them, within two minutes
  netfathom reproduce borodin-rx --tap pcap
      one of them in the paper's size, with the paper's own method";

/// The taps by name.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum ReproduceTapArg {
    /// The best that works here
    Auto,
    /// Tracepoint programs in the kernel: every stage; needs root
    Bpf,
    /// SO_TIMESTAMPING: fewer stages, no privilege
    Timestamping,
    /// A capture at the device, joined with the application's log: the papers' way; needs root
    Pcap,
}

impl ReproduceTapArg {
    /// As a plan has it.
    pub fn choice(self) -> TapChoice {
        match self {
            Self::Auto => TapChoice::Auto,
            Self::Bpf => TapChoice::Only(Tap::Bpf),
            Self::Timestamping => TapChoice::Only(Tap::Timestamping),
            Self::Pcap => TapChoice::Only(Tap::Pcap),
        }
    }
}

/// `netfathom reproduce`.
#[derive(Debug, ClapArgs)]
pub struct ReproduceArgs {
    /// The experiment; without a name those that there are are listed
    pub name: Option<String>,
    /// Smaller than the paper's, and done within two minutes
    #[arg(long)]
    pub quick: bool,
    /// How link-layer times are taken
    #[arg(long, value_enum, default_value = "auto")]
    pub tap: ReproduceTapArg,
    /// Makes a run repeat its choices [default: drawn anew]
    #[arg(long, value_name = "N", value_parser = parse_whole::<u64>)]
    pub seed: Option<u64>,
    #[command(flatten)]
    pub output: OutputArgs,
}
