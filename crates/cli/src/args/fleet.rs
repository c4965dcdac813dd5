//! Arguments of `netfathom fleet` and `netfathom agent`.

mod up;

use std::net::IpAddr;
use std::path::PathBuf;

use clap::{Args as ClapArgs, Subcommand};
use netfathom_measure::load::allow::Prefix;
use netfathom_model::plan::FleetTest;
use netfathom_model::units::parse_number;

use up::{DOWN_EXAMPLES, MANIFEST_EXAMPLES, UP_EXAMPLES, parse_name};
pub use up::{DownArgs, Manifest, ManifestArgs, UpArgs, Via, parse_plain};

use super::words::{Word, one_of};
use super::{OutputArgs, PLAIN_EXIT_STATUS, parse_message_size, parse_time, parse_whole};

pub const AGENT_EXAMPLES: &str = "\
Examples:
  netfathom agent --nats tls://10.0.0.1:4222 --nats-ca ca.pem --nats-key a.nk
      takes part in the fleet of that server until Ctrl-C
  netfathom agent --nats nats://127.0.0.1:4222 --label rack=a --max-rate 100k
      with a label, and never more than 100,000 messages/s

An agent runs no command and opens no file that a plan names. It sends to
private addresses and to those of --allow.";

const MESH_EXAMPLES: &str = "\
Examples:
  netfathom fleet mesh throughput
      TCP between every two hosts, both ways, each host in one pair at a time
  netfathom fleet mesh latency --rate 2k --time 2s
      round trips of UDP messages of every pair
  netfathom fleet mesh throughput --peers 4 --bad-hosts bad.txt --slurm
      four peers of each host; the hosts that are different go to a file";

const LOAD_EXAMPLES: &str = "\
Examples:
  netfathom fleet load --to c01 --rate 10k,50k,100k,200k
      what c01 sustains from all other hosts together, step by step";

const STACK_EXAMPLES: &str = "\
Examples:
  netfathom fleet stack
      stack time on every host by itself: which host is different";

const CAPACITY_EXAMPLES: &str = "\
Examples:
  netfathom fleet capacity
      the capacity of every host by itself: which host is different";

const RESUME_EXAMPLES: &str = "\
Examples:
  netfathom fleet resume
      the last run, in a new one: measures pairs without a value, also those of
      hosts that were missing and answer now
  netfathom fleet resume 20261124T2202 --bad-hosts bad.txt
      another run";

const HOSTS_EXAMPLES: &str = "\
Examples:
  netfathom fleet hosts
      who answers, with clocks, CPUs and what an agent refuses
  netfathom fleet hosts --hosts hosts.txt
      who of a list answers";

const EXIT_STATUS: &str = "\
Exit status:
  0  done        1  failed       2  wrong usage
  3  the result is VOID
  5  PARTIAL: hosts, pairs or senders are missing";

const UP_EXIT_STATUS: &str = "\
Exit status:
  0  all agents answer, or that of the measurement after --
  1  failed, or an agent may still run       2  wrong usage
  5  an agent is missing";

/// How the NATS server of a fleet is reached.
#[derive(Clone, Debug, ClapArgs)]
#[command(next_help_heading = "NATS server")]
pub struct AccessArgs {
    /// Server address, nats://HOST:PORT or tls://HOST:PORT [default: nats://127.0.0.1:4222]
    #[arg(long, value_name = "URL")]
    pub nats: Option<String>,
    /// Certificate of the CA that signed the server's
    #[arg(long, value_name = "FILE")]
    pub nats_ca: Option<PathBuf>,
    /// File with the seed of an nkey that the server accepts
    #[arg(long, value_name = "FILE")]
    pub nats_key: Option<PathBuf>,
    /// Allows a server on another host without TLS
    #[arg(long)]
    pub plaintext: bool,
    /// Name of the fleet: agents and commands with the same one find each other
    #[arg(long, value_name = "NAME", default_value = "default", value_parser = parse_name)]
    pub fleet: String,
}

/// `netfathom agent`.
#[derive(Debug, ClapArgs)]
pub struct AgentArgs {
    /// The name of this host in the fleet [default: its host name]
    #[arg(long, value_name = "NAME", value_parser = parse_name)]
    pub name: Option<String>,
    /// A label, shown beside its results; may be repeated
    #[arg(long, value_name = "KEY=VALUE", value_parser = parse_label)]
    pub label: Vec<(String, String)>,
    /// Address that the other hosts send to [default: the one that leads to the NATS server]
    #[arg(long, value_name = "ADDR")]
    pub address: Option<IpAddr>,
    /// Sends to these addresses too, besides private ones
    #[arg(help_heading = "Limits", long, value_name = "ADDR/LEN")]
    pub allow: Vec<Prefix>,
    /// Maximum time of a load: of all trials of `fleet stack`, of each step of `fleet capacity`
    #[arg(help_heading = "Limits", long, value_name = "TIME", default_value = "60s", value_parser = parse_time)]
    pub max_time: u64,
    /// Maximum messages per second; `fleet capacity` alone, which searches, has no such limit
    #[arg(help_heading = "Limits", long, value_name = "RATE", default_value = "10M", value_parser = parse_number)]
    pub max_rate: f64,
    /// Maximum bits per second of a transfer, at least 8,000 per connection; the first ten segments of each are exempt
    /// [default: no limit]
    #[arg(help_heading = "Limits", long, value_name = "BITS", value_parser = parse_whole::<u64>)]
    pub max_bits: Option<u64>,
    /// Takes part in these measurements only; may be repeated
    #[arg(help_heading = "Limits", long, value_name = "NAME", value_parser = one_of(TESTS))]
    pub take: Vec<FleetTest>,
    /// Ends after this time [default: runs until Ctrl-C]
    #[arg(long = "for", value_name = "TIME", value_parser = parse_time)]
    pub time: Option<u64>,
    /// No lines about what the agent does
    #[arg(long)]
    pub quiet: bool,
    #[command(flatten)]
    pub access: AccessArgs,
}

const TESTS: &[Word<FleetTest>] = &[
    ("throughput", FleetTest::Throughput, "TCP between two hosts"),
    ("latency", FleetTest::Latency, "Round trips of UDP messages"),
    ("loss", FleetTest::Loss, "UDP messages that do not arrive"),
    ("load", FleetTest::Load, "Many senders to one receiver"),
    ("stack", FleetTest::Stack, "Stack time on the host by itself"),
    ("capacity", FleetTest::Capacity, "Capacity of the host by itself"),
];

const MESHES: &[Word<FleetTest>] = &[
    ("throughput", FleetTest::Throughput, "How fast TCP is, both ways"),
    ("latency", FleetTest::Latency, "Round trips of UDP messages"),
    ("loss", FleetTest::Loss, "UDP messages that do not arrive"),
];

/// `netfathom fleet`.
#[derive(Debug, Subcommand)]
pub enum FleetCommand {
    /// Who answers, with clocks, CPUs and what an agent refuses
    #[command(after_help = format!("{HOSTS_EXAMPLES}\n\n{EXIT_STATUS}"))]
    Hosts(HostsArgs),
    /// Every pair of hosts: which host is slow, and which pair
    #[command(after_help = format!("{MESH_EXAMPLES}\n\n{EXIT_STATUS}"))]
    #[command(mut_arg("setup", super::words::hidden))]
    Mesh(Box<MeshArgs>),
    /// What one host sustains from all others together
    #[command(after_help = format!("{LOAD_EXAMPLES}\n\n{EXIT_STATUS}"))]
    #[command(mut_arg("setup", super::words::hidden))]
    Load(Box<FleetLoadArgs>),
    /// Stack time on every host by itself
    #[command(after_help = format!("{STACK_EXAMPLES}\n\n{EXIT_STATUS}"))]
    #[command(mut_arg("setup", super::words::hidden))]
    Stack(Box<AloneArgs>),
    /// Capacity of every host by itself
    #[command(after_help = format!("{CAPACITY_EXAMPLES}\n\n{EXIT_STATUS}"))]
    #[command(mut_arg("setup", super::words::hidden))]
    Capacity(Box<AloneArgs>),
    /// Resumes a run that was cut short: keeps what it has, measures the rest
    #[command(after_help = format!("{RESUME_EXAMPLES}\n\n{EXIT_STATUS}"))]
    #[command(mut_arg("setup", super::words::hidden))]
    Resume(Box<ResumeArgs>),
    /// Starts a NATS server, and an agent on each host
    #[command(after_help = format!("{UP_EXAMPLES}\n\n{UP_EXIT_STATUS}"))]
    Up(UpArgs),
    /// Ends the agents and the server that `fleet up` started
    #[command(after_help = format!("{DOWN_EXAMPLES}\n\n{PLAIN_EXIT_STATUS}"))]
    Down(DownArgs),
    /// Prints a manifest that starts agents: for Kubernetes, systemd or Ansible
    #[command(after_help = format!("{MANIFEST_EXAMPLES}\n\n{PLAIN_EXIT_STATUS}"))]
    Manifest(ManifestArgs),
}

/// Which hosts are to take part.
#[derive(Debug, ClapArgs)]
pub struct WhoArgs {
    /// A file with a host on each line; those that do not answer are named [default: all that answer]
    #[arg(long, value_name = "FILE")]
    pub hosts: Option<PathBuf>,
    #[command(flatten)]
    pub access: AccessArgs,
}

/// `netfathom fleet hosts`.
#[derive(Debug, ClapArgs)]
pub struct HostsArgs {
    /// Write the hosts as JSON
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub who: WhoArgs,
}

/// `netfathom fleet mesh`.
#[derive(Debug, ClapArgs)]
pub struct MeshArgs {
    /// What to measure for each pair
    #[arg(value_parser = one_of(MESHES))]
    pub test: FleetTest,
    /// How long each pair takes
    #[arg(long, value_name = "TIME", default_value = "1s", value_parser = parse_time)]
    pub time: u64,
    /// Messages per second of a pair (latency, loss)
    #[arg(long, value_name = "RATE", default_value = "1k", value_parser = parse_number)]
    pub rate: f64,
    /// UDP payload in bytes (latency, loss)
    #[arg(long, value_name = "BYTES", default_value_t = 64, value_parser = parse_message_size)]
    pub size: usize,
    /// Connections of a pair (throughput)
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = parse_whole::<u16>)]
    pub streams: u16,
    /// Pairs each host with this many others [default: with all]
    #[arg(long, visible_alias = "k", value_name = "N", value_parser = parse_whole::<u32>)]
    pub peers: Option<u32>,
    /// Pairs at the same time [default: each host in one]
    #[arg(long, value_name = "N", value_parser = parse_whole::<u32>)]
    pub parallel: Option<u32>,
    /// Skips finding what limits a transfer
    #[arg(long)]
    pub no_explain: bool,
    #[command(flatten)]
    pub lists: ListsArgs,
    /// Random seed, to repeat a run [default: random]
    #[arg(long, value_name = "N", value_parser = parse_whole::<u64>)]
    pub seed: Option<u64>,
    #[command(flatten)]
    pub output: OutputArgs,
    #[command(flatten)]
    pub who: WhoArgs,
}

/// The hosts of a result, for whoever schedules jobs.
#[derive(Debug, ClapArgs)]
pub struct ListsArgs {
    /// Writes the hosts that are different or missing to a file, one per line
    #[arg(long, value_name = "FILE")]
    pub bad_hosts: Option<PathBuf>,
    /// Writes the hosts that were measured and are not different to a file; none if too few pairs were measured
    #[arg(long, value_name = "FILE")]
    pub good_hosts: Option<PathBuf>,
    /// Writes these files as Slurm takes them: one line, c[01-03,07]
    #[arg(long)]
    pub slurm: bool,
}

/// `netfathom fleet resume`.
#[derive(Debug, ClapArgs)]
pub struct ResumeArgs {
    /// A run's directory, record.json or name (unique prefix, tag, last)
    #[arg(default_value = "last")]
    pub run: PathBuf,
    #[command(flatten)]
    pub lists: ListsArgs,
    #[command(flatten)]
    pub output: OutputArgs,
    #[command(flatten)]
    pub access: AccessArgs,
}

/// `netfathom fleet load`.
#[derive(Debug, ClapArgs)]
pub struct FleetLoadArgs {
    /// The host that receives
    #[arg(long, value_name = "HOST")]
    pub to: String,
    /// Messages per second of all senders together, step by step
    #[arg(long, value_name = "RATE,...", default_value = "10k,20k,50k,100k,200k,500k,1M", value_delimiter = ',',
        value_parser = parse_number)]
    pub rate: Vec<f64>,
    /// How long each step takes
    #[arg(long, value_name = "TIME", default_value = "2s", value_parser = parse_time)]
    pub time: u64,
    /// Senders on each host, which share its part of the rate
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = parse_whole::<u16>)]
    pub instances: u16,
    /// UDP payload in bytes
    #[arg(long, value_name = "BYTES", default_value_t = 64, value_parser = parse_message_size)]
    pub size: usize,
    #[command(flatten)]
    pub output: OutputArgs,
    #[command(flatten)]
    pub who: WhoArgs,
}

/// `netfathom fleet stack` and `netfathom fleet capacity`.
#[derive(Debug, ClapArgs)]
pub struct AloneArgs {
    /// How long a trial takes
    #[arg(long, value_name = "TIME", default_value = "1s", value_parser = parse_time)]
    pub time: u64,
    /// Messages per second of a trial
    #[arg(long, value_name = "RATE", default_value = "10k", value_parser = parse_number)]
    pub rate: f64,
    /// UDP payload in bytes
    #[arg(long, value_name = "BYTES", default_value_t = 64, value_parser = parse_message_size)]
    pub size: usize,
    /// Hosts at the same time [default: all]
    #[arg(long, value_name = "N", value_parser = parse_whole::<u32>)]
    pub parallel: Option<u32>,
    #[command(flatten)]
    pub output: OutputArgs,
    #[command(flatten)]
    pub who: WhoArgs,
}

fn parse_label(text: &str) -> Result<(String, String), String> {
    let plain = |part: &str| !part.is_empty() && part.len() <= 64 && !part.chars().any(char::is_control);
    let parts = text.split_once('=').filter(|(key, value)| plain(key) && plain(value));
    parts.map(|(k, v)| (k.into(), v.into())).ok_or_else(|| format!("`{text}` is no label: write rack=a"))
}
