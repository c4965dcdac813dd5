//! Arguments of `netfathom light`.

use clap::Args as ClapArgs;
use netfathom_measure::kind::cost::light::{self, Phase, Sizes};

use super::{parse_time, parse_whole};

pub const EXAMPLES: &str = "\
Examples:
  netfathom light
      finds out how much work takes 200 ms per phase, and does it
  netfathom light --calibrate
      only finds out, and prints it the way --sizes reads it
  netfathom light --sizes cpu=200000,calls=1500000 --runs 10
      the same work ten times, on an idle machine or beside another program

Phases: cpu (arithmetic), memory (its bandwidth), calls (system calls), switches
(two threads on one CPU), metadata (making, renaming and removing names),
data (files in the page cache), loopback (TCP within the machine), timers (short
sleeps, which may become shorter beside a load that keeps CPUs awake).
Files are made in TMPDIR, or /tmp, and removed.";

/// `netfathom light`.
#[derive(Debug, ClapArgs)]
pub struct LightArgs {
    /// Only print how much work makes each phase take --target
    #[arg(long)]
    pub calibrate: bool,
    /// Only these phases, in this order [default: all]
    #[arg(long, value_delimiter = ',', value_name = "PHASE,...", value_parser = parse_phase)]
    pub phases: Vec<&'static Phase>,
    /// How much work each phase is, as --calibrate prints it; the phases are those named here
    #[arg(long, value_name = "PHASE=N,...", conflicts_with_all = ["calibrate", "phases", "target_ns"])]
    pub sizes: Option<Sizes>,
    /// How long each phase is to take
    #[arg(long = "target", default_value = "200ms", value_name = "TIME", value_parser = parse_target)]
    pub target_ns: u64,
    /// Number of runs
    #[arg(long, default_value_t = 1, value_name = "N", value_parser = parse_runs)]
    pub runs: u32,
    /// Write phases, sizes and times as JSON
    #[arg(long)]
    pub json: bool,
}

fn parse_phase(name: &str) -> Result<&'static Phase, String> {
    light::phase(name).ok_or_else(|| light::unknown(name))
}

fn parse_target(text: &str) -> Result<u64, String> {
    let target_ns = parse_time(text)?;
    let fits = (1_000_000..=10_000_000_000).contains(&target_ns);
    fits.then_some(target_ns).ok_or_else(|| "a phase takes 1ms to 10s".into())
}

fn parse_runs(text: &str) -> Result<u32, String> {
    let runs = parse_whole(text)?;
    (1..=100_000).contains(&runs).then_some(runs).ok_or_else(|| "write 1 to 100000".into())
}
