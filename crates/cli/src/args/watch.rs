//! Arguments of `netfathom watch`.

use clap::Args as ClapArgs;

use netfathom_model::path::Direction;

use super::stack::DIRECTIONS;
use super::words::one_of;
use super::{OutputArgs, parse_time, parse_whole};

pub const EXAMPLES: &str = "\
Examples:
  netfathom watch --port 6379 --time 10s
      the messages that come to a server, for ten seconds
  netfathom watch tx --port 6379 --time 10s
      the messages that it sends (Linux 6.16)
  netfathom watch --pid 4242
      all TCP and UDP sockets of a process, until Ctrl-C or until it ends

It needs root, or CAP_BPF and CAP_PERFMON; --pid of another user's process also
CAP_SYS_PTRACE. No payload is read.";

/// `netfathom watch`.
#[derive(Debug, ClapArgs)]
#[group(id = "target", required = true, multiple = false, args = ["pid", "port"])]
pub struct WatchArgs {
    /// Direction to watch [default: rx]
    #[arg(value_parser = one_of(DIRECTIONS))]
    pub directions: Option<&'static [Direction]>,
    /// Watches the sockets of this process, and those that they accept
    #[arg(long, value_name = "N", value_parser = parse_whole::<u32>)]
    pub pid: Option<u32>,
    /// Watches the sockets with this local port: those of a server
    #[arg(long, value_name = "N", value_parser = parse_whole::<u16>)]
    pub port: Option<u16>,
    /// How long [default: until Ctrl-C]
    #[arg(long, visible_alias = "once", value_name = "TIME", value_parser = parse_time)]
    pub time: Option<u64>,
    #[command(flatten)]
    pub output: OutputArgs,
}
