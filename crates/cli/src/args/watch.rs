//! Arguments of `netfathom watch`.

use std::convert::Infallible;
use std::net::{Ipv4Addr, SocketAddr};

use clap::Args as ClapArgs;
use netfathom_model::path::Direction;
use netfathom_model::plan::SlowBound;
use netfathom_model::record::WatchStage;

use super::peer::scoped;
use super::stack::DIRECTIONS;
use super::{OutputArgs, parse_percent, parse_time, parse_whole, words};

pub const EXAMPLES: &str = "\
Examples:
  netfathom watch redis-server --time 10s
      the messages that come to a program, for ten seconds
  netfathom watch both --port 6379
      those that a server receives and sends (Linux 6.16), until Ctrl-C
  netfathom watch --cgroup /system.slice/nginx.service
      the processes of a service
  netfathom watch postgres --unix
      what comes over Unix sockets, too
  netfathom watch --flow 10.0.0.1:5432:10.0.0.2:40312
      one connection: its own end, and the other one
  netfathom watch both --all --budget 1%
      the whole host, by process, for 1 % of a CPU

  netfathom watch both --port 6379 --json-lines | jq .receive.p99_ns
      a line per second for another program
  netfathom watch redis-server --serve :9435 --quiet --budget 1%
      until Ctrl-C, as a Prometheus target, for 1 % of a CPU
  netfathom watch both --port 6379 --slow 10ms --stop-after 1
      until a message takes 10 ms, and where it spent them

On a terminal it shows the run while it goes on; q ends it.

Not part of the total: application, from the last byte read to the first byte
sent on a socket. It includes the server's waits for a CPU and, if the server
reads all ready sockets before it answers, the whole batch.

It needs root, or CAP_BPF and CAP_PERFMON; for processes of other users also
CAP_SYS_PTRACE. No payload is read.";

pub fn stages() -> String {
    words::stages(|direction| WatchStage::of(direction).iter().map(|stage| (stage.name(), stage.meaning())))
}

/// The first word.
#[derive(Clone, Debug)]
pub enum First {
    Direction(&'static [Direction]),
    Name(String),
}

fn parse_first(text: &str) -> Result<First, Infallible> {
    let known = DIRECTIONS.iter().find(|(word, ..)| word.eq_ignore_ascii_case(text));
    Ok(known.map_or_else(|| First::Name(text.to_owned()), |&(_, directions, _)| First::Direction(directions)))
}

fn parse_port(text: &str) -> Result<u16, String> {
    let port = parse_whole(text).ok().filter(|&port| port > 0);
    port.ok_or_else(|| format!("write a whole number from 1 to {}", u16::MAX))
}

/// Two addresses with their ports, and a colon between them.
fn parse_flow(text: &str) -> Result<(SocketAddr, SocketAddr), String> {
    let halves = text.match_indices([':', ',']).map(|(at, _)| (&text[..at], &text[at + 1..]));
    let mut flows = halves.filter_map(|(local, peer)| Some((local.parse().ok()?, peer.parse().ok()?)));
    flows
        .next()
        .ok_or_else(|| "write both ends, as 10.0.0.1:80:10.0.0.2:40312 or [::1]:80:[::1]:40312".to_owned())
        .map_err(|form| scoped(text).unwrap_or(form))
}

/// A time, or `p99.9`.
fn parse_slow(text: &str) -> Result<SlowBound, String> {
    match text.strip_prefix('p').map(str::parse::<f64>) {
        Some(Ok(percent)) => Ok(SlowBound::Quantile(percent / 100.0)),
        Some(Err(_)) => Err("write a percentile as p99.9, or a time as 10ms".into()),
        None => parse_time(text).map(SlowBound::Time),
    }
}

/// `:9435` is a port of the loopback device.
fn parse_address(text: &str) -> Result<SocketAddr, String> {
    let local =
        text.strip_prefix(':').and_then(|port| Some((Ipv4Addr::LOCALHOST, port.parse().ok()?).into()));
    local
        .or_else(|| text.parse().ok())
        .ok_or_else(|| "write an address and a port, as 127.0.0.1:9435 or :9435".to_owned())
        .map_err(|form| scoped(text).unwrap_or(form))
}

/// `netfathom watch`.
#[derive(Debug, ClapArgs)]
#[group(id = "target", multiple = false, args = ["pid", "port", "cgroup", "container", "flow", "all", "name"])]
pub struct WatchArgs {
    /// Direction to watch: rx, tx or both [default: rx]; or the name of the program
    #[arg(value_name = "DIRECTION", value_parser = parse_first)]
    pub first: Option<First>,
    /// Watches the processes of this name
    #[arg(value_name = "NAME")]
    pub name: Option<String>,
    /// Watches the sockets of this process, and those that they accept
    #[arg(long, value_name = "N", value_parser = parse_whole::<u32>)]
    pub pid: Option<u32>,
    /// Watches the sockets with this local port: those of a server
    #[arg(long, value_name = "N", value_parser = parse_port)]
    pub port: Option<u16>,
    /// Watches the processes of a cgroup: of a systemd service, a pod or a session
    #[arg(long, value_name = "PATH")]
    pub cgroup: Option<String>,
    /// Watches the processes of a container, by its name or the start of its id
    #[arg(long, value_name = "NAME")]
    pub container: Option<String>,
    /// Watches one connection, by the addresses and ports of both ends, its own first
    #[arg(long, value_name = "LOCAL:PEER", value_parser = parse_flow)]
    pub flow: Option<(SocketAddr, SocketAddr)>,
    /// Watches all TCP and UDP sockets of this host, by process, and first shows what a sample of that took
    #[arg(long)]
    pub all: bool,
    /// Also watch what comes to Unix sockets of the processes (Linux 6.3)
    #[arg(long)]
    pub unix: bool,
    /// How long to watch [default: until Ctrl-C]
    #[arg(long, visible_alias = "once", value_name = "TIME", value_parser = parse_time)]
    pub time: Option<u64>,
    /// Also show single sockets (up to 255) and processes; --serve then has processes, too. The live view and
    /// --json-lines imply it
    #[arg(long)]
    pub sockets: bool,
    /// Keep each message that takes at least this long: 10ms, or p99.9 for that percentile of those before it
    #[arg(long, value_name = "TIME", value_parser = parse_slow)]
    pub slow: Option<SlowBound>,
    /// End within a second after this many slow messages
    #[arg(long, value_name = "N", requires = "slow", value_parser = parse_whole::<u64>)]
    pub stop_after: Option<u64>,
    /// Follow messages for 100 ms at a time, as often as this share of one CPU allows [default: all the time]
    #[arg(long, value_name = "PERCENT", value_parser = parse_percent)]
    pub budget: Option<f64>,
    /// Write one JSON object per second (with --budget, per sample) to standard output, and nothing else
    #[arg(long, conflicts_with = "json")]
    pub json_lines: bool,
    /// Also serve what was seen so far at http://ADDRESS/metrics, for Prometheus; :PORT binds loopback only
    ///
    /// With NAME, --cgroup or --container, the run then waits for processes, and goes on after the last of them.
    #[arg(long, value_name = "ADDRESS", value_parser = parse_address)]
    pub serve: Option<SocketAddr>,
    #[command(flatten)]
    pub output: OutputArgs,
}
