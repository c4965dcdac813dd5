//! Arguments of `netfathom load`.

use std::iter;
use std::net::SocketAddr;
use std::path::PathBuf;

use clap::{Args as ClapArgs, Subcommand};
use netfathom_measure::load::allow::Prefix;
use netfathom_model::engine::{Engine, Receive};
use netfathom_model::plan::{EngineChoice, ReceiveChoice, Spin};

use super::peer::{parse_listen, parse_peer};
use super::words::{Word, one_of};
use super::{
    EXIT_STATUS, OutputArgs, PLAIN_EXIT_STATUS, parse_message_size, parse_profile, parse_time, parse_whole,
};

const SEND_EXAMPLES: &str = "\
Examples:
  netfathom load send --profile constant:100k/10s
      in the built-in lab, one send call per message
  netfathom load send --to 10.0.0.2:9000 --engine auto --profile ramp:1k..1M/9s
      to a host where `netfathom load sink --listen 10.0.0.2:9000` runs
  netfathom load send --echo
      how long an answer takes, idle and loaded";

const SINK_EXAMPLES: &str = "\
Examples:
  netfathom load sink --listen 0.0.0.0:9000
      takes what `netfathom load send --to THIS_HOST:9000` sends, and counts
      all else
  netfathom load sink --listen 10.0.0.2:9000 --receive xdp
      counts in the driver, before the stack";

/// `netfathom load`.
#[derive(Debug, Subcommand)]
pub enum LoadCommand {
    /// Sends numbered messages, each at its scheduled time, and accounts for each
    #[command(allow_negative_numbers = true)]
    #[command(after_help = format!("{SEND_EXAMPLES}\n\n{EXIT_STATUS}"))]
    Send(Box<SendArgs>),
    /// Receives messages, reports arrivals to their sender, and echoes them on request
    #[command(after_help = format!("{SINK_EXAMPLES}\n\n{PLAIN_EXIT_STATUS}"))]
    Sink(SinkArgs),
    /// One sender of several that are processes; whoever starts it gives it a socket and an order
    #[command(hide = true)]
    Instance {
        #[arg(long)]
        size: usize,
    },
}

/// One of them, or the one that a rate takes.
fn engines() -> Vec<Word<EngineChoice>> {
    let auto = "The first of the others that reaches the profile's peak rate on schedule";
    let only = |&(word, engine, help): &Word<Engine>| (word, EngineChoice::Only(engine), help);
    iter::once(("auto", EngineChoice::Auto, auto)).chain(ENGINES.iter().map(only)).collect()
}

pub const ENGINES: &[Word<Engine>] = &[
    ("send", Engine::Send, "One send call per message, as most programs do"),
    ("sendmmsg", Engine::Sendmmsg, "One system call for what is due"),
    ("gso", Engine::Gso, "One buffer for what is due, which the kernel splits (UDP_SEGMENT)"),
    ("af_xdp", Engine::AfXdp, "Frames that bypass the stack; needs root"),
    ("af-xdp", Engine::AfXdp, ""),
    ("xdp", Engine::Xdp, "Frames written by a kernel program; needs root, and XDP at the receiving device"),
];

const RECEIVERS: &[Word<ReceiveChoice>] = &[
    ("auto", ReceiveChoice::Auto, "The one that matches the engine"),
    ("recv", ReceiveChoice::Only(Receive::Recv), "One receive call per message"),
    ("recvmmsg", ReceiveChoice::Only(Receive::Recvmmsg), "One system call for what is there"),
    ("gro", ReceiveChoice::Only(Receive::Gro), "What the kernel has joined, in one buffer (UDP_GRO)"),
    ("af_xdp", ReceiveChoice::Only(Receive::AfXdp), "Whole frames, before the stack; needs root"),
    ("af-xdp", ReceiveChoice::Only(Receive::AfXdp), ""),
    ("xdp", ReceiveChoice::Only(Receive::Xdp), "Counted and dropped in the driver; needs root"),
];

const SPINS: &[Word<Spin>] = &[
    ("auto", Spin::Auto, "Sleeps while the next message is far, and spins the last 200 us"),
    ("never", Spin::Never, "Only sleeps: late by some 50 us, and leaves the CPU to others"),
];

/// An answer takes a receive and a send call, and the far end shares this machine.
const ECHO_PROFILE: &str = "constant:5k/5s";

const ENDS: &str = "Addresses and log";

/// `netfathom load send`.
#[derive(Debug, ClapArgs)]
pub struct SendArgs {
    /// To a sink on another host: `netfathom load sink` there
    #[arg(long, value_name = "HOST:PORT", value_parser = parse_peer, conflicts_with_all = ["lab", "loopback", "port"])]
    pub to: Option<SocketAddr>,
    /// Between two network namespaces that netfathom makes and removes (default as root)
    #[arg(long, conflicts_with = "loopback")]
    pub lab: bool,
    /// Over this host's loopback device (default without root)
    #[arg(long)]
    pub loopback: bool,
    /// Messages per second over one trial, such as constant:RATE/TIME or ramp:FROM..TO/TIME; with --echo by default
    /// constant:5k/5s, as one thread answers
    ///
    /// Others: triangle:FROM..TO[,cap=RATE]/TIME, steps:RATE,RATE,.../TIME, poisson:RATE/TIME and csv:FILE (two columns:
    /// seconds, rate). poisson randomizes times; the count is RATE x TIME.
    #[arg(long, default_value = "constant:50k/5s", default_value_if("echo", "true", ECHO_PROFILE), value_parser = parse_profile)]
    pub profile: String,
    /// How messages reach the device
    #[arg(long, value_parser = one_of(engines()), default_value = "send")]
    pub engine: EngineChoice,
    /// How the receiver takes messages, in the lab and over loopback
    #[arg(long, value_parser = one_of(RECEIVERS), default_value = "auto")]
    pub receive: ReceiveChoice,
    /// Senders at the same time, each on its own CPU where available; they share
    /// the profile message by message
    #[arg(long, default_value_t = 1, value_name = "N", value_parser = parse_whole::<u32>)]
    pub workers: u32,
    /// Number of trials; each sends the whole profile
    #[arg(long, default_value_t = 1, value_name = "N", value_parser = parse_whole::<u32>)]
    pub trials: u32,
    /// UDP payload in bytes
    #[arg(long, default_value_t = 64, value_name = "BYTES", value_parser = parse_message_size)]
    pub size: usize,
    /// IPv6 instead of IPv4
    #[arg(help_heading = ENDS, long, conflicts_with = "to")]
    pub ipv6: bool,
    /// How a sender waits for the next message's time
    #[arg(long, value_parser = one_of(SPINS), default_value = "auto")]
    pub spin: Spin,
    /// The far end sends each message back; times the answers, idle and loaded
    #[arg(long)]
    pub echo: bool,
    /// Sends without a report of what arrives; --allow must include the address
    #[arg(help_heading = ENDS, long, requires = "to")]
    pub one_way: bool,
    /// Also sends to these addresses, not only to private ones
    #[arg(help_heading = ENDS, long, value_name = "ADDR/LEN", requires = "to")]
    pub allow: Vec<Prefix>,
    /// Write a message log of what was sent, for netfathom join
    #[arg(help_heading = ENDS, long, value_name = "FILE")]
    pub log: Option<PathBuf>,
    /// CPUs of the workers, then of the receiver [default: from the last one down]
    #[arg(long, value_name = "N,N,...", value_delimiter = ',', value_parser = parse_whole::<usize>)]
    pub cpu: Vec<usize>,
    /// UDP port of the receiver; 0 takes a free one
    #[arg(help_heading = ENDS, long, default_value_t = 0, value_parser = parse_whole::<u16>)]
    pub port: u16,
    /// Random seed, to repeat a run [default: random]
    #[arg(long, value_name = "N", value_parser = parse_whole::<u64>)]
    pub seed: Option<u64>,
    #[command(flatten)]
    pub output: OutputArgs,
}

/// `netfathom load sink`.
#[derive(Debug, ClapArgs)]
pub struct SinkArgs {
    /// Where to listen, UDP and TCP; port 0 takes a free one
    #[arg(long, value_name = "ADDR:PORT", default_value = "0.0.0.0:9000", value_parser = parse_listen)]
    pub listen: SocketAddr,
    /// How messages are taken; auto is recvmmsg
    #[arg(long, value_parser = one_of(RECEIVERS), default_value = "recvmmsg")]
    pub receive: ReceiveChoice,
    /// Also takes loads from these addresses, not only from private ones
    #[arg(long, value_name = "ADDR/LEN")]
    pub allow: Vec<Prefix>,
    /// Senders that are served at the same time, each with its own account; others are refused
    #[arg(long, value_name = "N", default_value_t = 64, value_parser = clap::value_parser!(u32).range(1..=256))]
    pub senders: u32,
    /// Maximum duration of a load
    #[arg(long, value_name = "TIME", default_value = "10m", value_parser = parse_time)]
    pub max_time: u64,
    /// Ends after N loads: one a trial, two with --echo [default: runs until Ctrl-C]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub loads: Option<u32>,
    /// Write a message log of what was received, for netfathom join
    #[arg(long, value_name = "FILE")]
    pub log: Option<PathBuf>,
    /// One JSON object per line instead of text
    #[arg(long)]
    pub json: bool,
}
