//! Arguments of `netfathom capacity`.

use std::net::SocketAddr;

use clap::Args as ClapArgs;
use netfathom_measure::load::allow::Prefix;
use netfathom_model::engine::Engine;
use netfathom_model::plan::Transport;

use super::load::ENGINES;
use super::peer::parse_peer;
use super::stack::TRANSPORTS;
use super::words::one_of;
use super::{OutputArgs, parse_message_size, parse_time, parse_whole};

pub const EXAMPLES: &str = "\
Examples:
  netfathom capacity
      every engine in the built-in lab, one worker
  netfathom capacity --quick
      a first look: half a minute, or more on a busy machine
  netfathom capacity --engine send,sendmmsg --workers 1,2,4 --hold 2s
      what more senders add";

/// `netfathom capacity`.
#[derive(Debug, ClapArgs)]
pub struct CapacityArgs {
    /// To a sink on another host: `netfathom load sink` there
    #[arg(long, value_name = "HOST:PORT", value_parser = parse_peer, conflicts_with_all = ["lab", "loopback"])]
    pub to: Option<SocketAddr>,
    /// Between two network namespaces that netfathom makes and removes (default as root)
    #[arg(long, conflicts_with = "loopback")]
    pub lab: bool,
    /// Over this host's loopback device (default without root)
    #[arg(long)]
    pub loopback: bool,
    /// Engines to search with [default: all that work here; with --quick send]
    #[arg(long, value_parser = one_of(ENGINES), value_delimiter = ',', value_name = "ENGINE,...")]
    pub engine: Vec<Engine>,
    /// Numbers of senders to search with, for each engine
    #[arg(long, value_delimiter = ',', default_value = "1", value_name = "N,...", value_parser = parse_whole::<u32>)]
    pub workers: Vec<u32>,
    /// How long each rate is held; longer is stricter
    #[arg(long, default_value = "200ms", default_value_if("quick", "true", "100ms"), value_name = "TIME", value_parser = parse_time)]
    pub hold: u64,
    /// Number of rate searches
    #[arg(long, default_value_t = 3, value_name = "N", value_parser = parse_whole::<u32>)]
    pub trials: u32,
    /// Protocol that carries the messages
    #[arg(long, value_parser = one_of(TRANSPORTS), default_value = "udp")]
    pub transport: Transport,
    /// Bytes of a message: UDP payload, or bytes in the stream of TCP
    #[arg(long, default_value_t = 64, value_name = "BYTES", value_parser = parse_message_size)]
    pub size: usize,
    /// IPv6 instead of IPv4
    #[arg(long, conflicts_with = "to")]
    pub ipv6: bool,
    /// Also sends to these addresses, not only to private ones
    #[arg(long, value_name = "ADDR/LEN", requires = "to")]
    pub allow: Vec<Prefix>,
    /// CPUs of the workers, then of the receiver [default: from the last one down]
    #[arg(long, value_name = "N,N,...", value_delimiter = ',', value_parser = parse_whole::<usize>)]
    pub cpu: Vec<usize>,
    /// As --engine send --hold 100ms, where not set otherwise: half a minute, or more on a busy machine
    #[arg(long)]
    pub quick: bool,
    #[command(flatten)]
    pub output: OutputArgs,
}
