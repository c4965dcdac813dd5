//! Arguments of `netfathom message`.

use std::net::SocketAddr;

use clap::{Args as ClapArgs, Subcommand};
use netfathom_measure::load::allow::Prefix;
use netfathom_model::layer::Layer;
use netfathom_model::plan::{Carrier, Placement, ProcessorChoice};
use netfathom_model::units::parse_number;

use super::peer::{parse_listen, parse_peer};
use super::ttcp::{parse_bits, parse_size};
use super::words::{Word, one_of};
use super::{EXIT_STATUS, OutputArgs, PLAIN_EXIT_STATUS, parse_percent, parse_time, parse_whole};

const EXAMPLES: &str = "\
Examples:
  netfathom message oneway
      the message library beside bare sockets, 4 to 1024 bytes
  netfathom message pingpong --sizes 64 --layers two,two+nodelay,writev,adaptive
      two writes per message, with Nagle's algorithm and without, against one
  netfathom message pingpong --placement UU,UK,KU,KK
      round trips with either end, or both, in the kernel
  netfathom message pingpong --over udp --placement UK,KK --layers write,xdp
      with UDP: ends at the sockets (sockmap) beside ends in the driver (XDP)
  netfathom message oneway --rate 20k
      open loop: how long messages take at a fixed rate
  netfathom message pingpong --layers write+nodelay,write+nodelay+poll
      ends that sleep beside ends that poll
  netfathom message pingpong --to 10.0.0.2:9500
      to a host where `netfathom message serve --listen 10.0.0.2:9500` runs

Layers: bare sockets are write (header and body in one write), writev, two (two
writes), sendmsg (two calls of it) or sendfile, with the options +nodelay,
+cork, +more, +quickack and +poll, each also for one end (write+poll@server).
With xdp, over UDP in the lab, ends in the kernel are programs in the driver,
otherwise programs at the socket. The strategies of the library are adaptive,
inline, thread, batch and zccl (as Lichota's of 2002). headerless is bare
sockets without a header. The first layer is the reference for the rest.";

const SERVE_EXAMPLES: &str = "\
Examples:
  netfathom message serve --listen 0.0.0.0:9500
      the server of `netfathom message pingpong --to THIS_HOST:9500`
  netfathom message serve --listen 10.0.0.2:9500 --cpu 3 --clients 1
      on CPU 3; ends after one client";

/// `netfathom message`.
#[derive(Debug, Subcommand)]
pub enum MessageCommand {
    /// Messages per second, one way
    #[command(allow_negative_numbers = true, after_help = format!("{EXAMPLES}\n\n{EXIT_STATUS}"))]
    Oneway(Box<MessageArgs>),
    /// Round-trip times
    #[command(allow_negative_numbers = true, after_help = format!("{EXAMPLES}\n\n{EXIT_STATUS}"))]
    Pingpong(Box<MessageArgs>),
    /// Rate of bulk replies to small requests
    #[command(allow_negative_numbers = true, after_help = format!("{EXAMPLES}\n\n{EXIT_STATUS}"))]
    Post(Box<MessageArgs>),
    /// The server's end for a client on another host, which measures with --to
    #[command(after_help = format!("{SERVE_EXAMPLES}\n\n{PLAIN_EXIT_STATUS}"))]
    Serve(ServeArgs),
}

const TRIALS: &str = "Trials";
const ENDS: &str = "Ends and path";

/// What the three tests have in common.
#[derive(Debug, ClapArgs)]
pub struct MessageArgs {
    /// Bytes of a message or reply [default: 4 to 1024; replies 1k to 64k]
    #[arg(long, value_delimiter = ',', value_name = "BYTES,...", value_parser = parse_size)]
    pub sizes: Vec<u64>,
    /// What carries them; the first is the reference [default: write, writev and two, each +nodelay over TCP, and
    /// adaptive, inline, thread; over UDP write, writev, and xdp in the lab if an end is in the kernel]
    #[arg(long, value_delimiter = ',', value_name = "LAYER,...")]
    pub layers: Vec<Layer>,
    /// Transport below the layers
    #[arg(long, value_parser = one_of(CARRIERS), default_value = "tcp", value_name = "WHAT")]
    pub over: Carrier,
    /// Which end runs in user space (U) and which in the kernel (K), the client first
    #[arg(long, value_parser = one_of(PLACEMENTS), value_delimiter = ',', default_value = "UU", value_name = "PLACEMENT,...")]
    pub placement: Vec<Placement>,
    /// CPUs of the ends: both on one, each on its own, or every kind of pair there is
    #[arg(long, value_parser = one_of(PROCESSORS), default_value = "sweep", value_name = "WHICH")]
    pub cpu_pairs: ProcessorChoice,
    /// CPUs to choose from [default: all that this process may use]
    #[arg(help_heading = ENDS, long, value_delimiter = ',', value_name = "CPU,...", value_parser = parse_whole::<usize>)]
    pub cpu: Vec<usize>,
    /// Minimum number of messages, round trips or replies of a trial [default: 5000, 500, 100; with --trials,
    /// without --quick, 50000, 5000, 1000; with --rate those of --min-time, or 1000 if --max-time has time for them]
    #[arg(help_heading = TRIALS, long, value_name = "N", value_parser = parse_whole::<u64>)]
    pub messages: Option<u64>,
    /// Minimum time of a trial [default: 30ms; with --trials, without --quick, 100ms]
    #[arg(help_heading = TRIALS, long, value_name = "TIME", value_parser = parse_time)]
    pub min_time: Option<u64>,
    /// Maximum time of a trial, even with fewer messages [default: 2s; --quick: 500ms; with --rate 1.5 times what
    /// the messages take, if that is more]
    #[arg(help_heading = TRIALS, long, value_name = "TIME", value_parser = parse_time)]
    pub max_time: Option<u64>,
    /// Ends poll instead of sleeping (pingpong): +poll on each layer, bare sockets only
    #[arg(help_heading = ENDS, long)]
    pub poll: bool,
    /// Open loop: messages per second; times start at the intended send time
    #[arg(long, value_name = "RATE", value_parser = parse_number)]
    pub rate: Option<f64>,
    /// Trials of each combination [default: as --precision needs]
    #[arg(long, value_name = "N", value_parser = parse_whole::<u32>)]
    pub trials: Option<u32>,
    /// Stop when the figures of the answer's first sentence are known to ± this percentage
    #[arg(long, value_name = "PERCENT", default_value = "5%", default_value_if("quick", "true", "10%"), conflicts_with = "trials", value_parser = parse_percent)]
    pub precision: f64,
    /// Start no round of trials that would end after this time
    #[arg(long, value_name = "TIME", default_value = "35s", default_value_if("quick", "true", "10s"), conflicts_with = "trials", value_parser = parse_time)]
    pub time_limit: u64,
    /// Bits per second of the path between the ends, such as 10m [default: what this machine can do]
    #[arg(help_heading = ENDS, long, value_name = "RATE", value_parser = parse_bits, conflicts_with = "loopback")]
    pub bandwidth: Option<u64>,
    /// Time from one end to the other on that path; a round trip takes twice that
    #[arg(help_heading = ENDS, long, value_name = "TIME", value_parser = parse_time, conflicts_with = "loopback")]
    pub delay: Option<u64>,
    /// To a server on another host: `netfathom message serve` there
    #[arg(long, value_name = "HOST:PORT", value_parser = parse_peer, conflicts_with_all = ["lab", "loopback", "bandwidth", "delay"])]
    pub to: Option<SocketAddr>,
    /// Between two network namespaces that netfathom makes and removes; needs root (default as root)
    #[arg(long, conflicts_with = "loopback")]
    pub lab: bool,
    /// Over this host's loopback device
    #[arg(long)]
    pub loopback: bool,
    /// Skip measuring remedies where a stall is recognized
    #[arg(help_heading = TRIALS, long)]
    pub no_remedies: bool,
    /// As --precision 10% --time-limit 10s --max-time 500ms, fewer sizes
    #[arg(long)]
    pub quick: bool,
    /// Random seed, to repeat the order of a run [default: random]
    #[arg(help_heading = TRIALS, long, value_name = "N", value_parser = parse_whole::<u64>)]
    pub seed: Option<u64>,
    #[command(flatten)]
    pub output: OutputArgs,
}

/// `netfathom message serve`.
#[derive(Clone, Debug, ClapArgs)]
pub struct ServeArgs {
    /// Where to listen, TCP and UDP; port 0 takes a free one
    #[arg(long, value_name = "ADDR:PORT", default_value = "0.0.0.0:9500", value_parser = parse_listen)]
    pub listen: SocketAddr,
    /// CPU of the server [default: the last but one that this process may use]
    #[arg(long, value_name = "CPU", value_parser = parse_whole::<usize>)]
    pub cpu: Option<usize>,
    /// Also takes clients from these addresses, not only from private ones
    #[arg(long, value_name = "ADDR/LEN")]
    pub allow: Vec<Prefix>,
    /// Ends after this number of clients [default: runs until Ctrl-C]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub clients: Option<u32>,
}

const CARRIERS: &[Word<Carrier>] = &[
    ("tcp", Carrier::Tcp, "TCP"),
    ("udp", Carrier::Udp, "UDP, one datagram per message; bare sockets only"),
    ("unix", Carrier::Unix, "Unix stream sockets"),
];

const PLACEMENTS: &[Word<Placement>] = &[
    ("UU", Placement::UU, "Both in user space"),
    ("KU", Placement::KU, "The client in the kernel"),
    ("UK", Placement::UK, "The server in the kernel"),
    ("KK", Placement::KK, "Both in the kernel"),
];

const PROCESSORS: &[Word<ProcessorChoice>] = &[
    ("same", ProcessorChoice::Same, "Both on one"),
    ("cross", ProcessorChoice::Cross, "Each on its own"),
    ("sweep", ProcessorChoice::Sweep, "Every kind of pair that this machine has"),
];
