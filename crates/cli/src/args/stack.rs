//! Arguments of `netfathom stack`.

use std::net::SocketAddr;

use clap::{Args as ClapArgs, ValueEnum};
use netfathom_measure::load::allow::Prefix;
use netfathom_model::path::{Direction, Stage, Tap};
use netfathom_model::plan::{InsertedDelay, StageSet, TapChoice, Transport};

use super::peer::{parse_listen, parse_peer};
use super::words::{self, Word, one_of};
use super::{OutputArgs, parse_message_size, parse_percent, parse_profile, parse_time, parse_whole};

pub const EXAMPLES: &str = "\
Examples:
  netfathom stack both
      both directions in the built-in lab, from 1,000 messages per second up
  netfathom stack --quick
      a first look, in about 10 seconds
  netfathom stack tx --profile triangle:1k..50k/20s --trials 5
      sending, as the rate rises and falls
  netfathom stack rx --loopback --tap timestamping
      receiving, without any privilege
  netfathom stack tx --to 10.0.0.2:9000
      sending to another host, where this runs:
      netfathom load sink --listen 0.0.0.0:9000
  netfathom stack both --samples 10000 --json | jq .verdict
      keep 10,000 messages with all their times as Parquet, look at the verdict";

pub fn stages() -> String {
    let whole = |direction: Direction| direction.stages().iter().filter(|stage| stage.whole().is_none());
    let stages = words::stages(|direction| {
        whole(direction).map(|stage| (stage.name(), stage.meaning(Transport::Udp)))
    });
    let divided = [Direction::Tx, Direction::Rx].into_iter().flat_map(whole).filter_map(parts);
    format!("{stages}\n\n--tap fentry divides:\n  {}", divided.collect::<Vec<_>>().join("\n  "))
}

/// Such as `socket     send, output`, of a stage that the fentry tap divides.
fn parts(stage: &Stage) -> Option<String> {
    let parts = stage.direction().stages().iter().filter(|part| part.whole() == Some(*stage));
    let parts: Vec<&str> = parts.map(|part| part.name()).collect();
    (!parts.is_empty()).then(|| format!("{:<11}{}", stage.name(), parts.join(", ")))
}

const TRIALS: &str = "Trials";
const LOAD: &str = "Load and stages";
const KEPT: &str = "Captures and samples";
const ENDS: &str = "Addresses";
const PROOFS: &str = "Injected delays";

pub const DIRECTIONS: &[Word<&[Direction]>] = &[
    ("tx", &[Direction::Tx], "Send: application to link layer"),
    ("rx", &[Direction::Rx], "Receive: link layer to application"),
    ("both", &[Direction::Tx, Direction::Rx], "Send and receive"),
];

pub const TRANSPORTS: &[Word<Transport>] = &[
    ("udp", Transport::Udp, "One datagram per message"),
    ("tcp", Transport::Tcp, "One connection per sender, with TCP_NODELAY"),
];

/// The last two are for `stack` alone.
pub const TAPS: &[Word<TapChoice>] = &[
    ("auto", TapChoice::Auto, "The best that works here"),
    ("bpf", TapChoice::Only(Tap::Bpf), "Tracepoint programs in the kernel: every stage; needs root"),
    ("timestamping", TapChoice::Only(Tap::Timestamping), "SO_TIMESTAMPING: fewer stages, no privilege"),
    (
        "pcap",
        TapChoice::Only(Tap::Pcap),
        "A capture at the device, joined with the application's log; needs root",
    ),
    (
        "fentry",
        TapChoice::Only(Tap::Fentry),
        "The bpf tap with programs at kernel functions, which divide its stages; where the kernel allows it",
    ),
    ("all", TapChoice::All, "The best, and every other that works here beside it on the same load"),
];

const STAGES: &[Word<StageSet>] = &[
    ("total", StageSet::Total, "Total only: two link-layer programs"),
    ("path", StageSet::Path, "All but wakeup and runqueue: no program at context switches"),
    ("all", StageSet::All, "Every stage"),
];

/// The formats of exported samples.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum ExportArg {
    /// A capture that Wireshark and tshark read
    Pcapng,
}

/// `netfathom stack`.
#[derive(Debug, ClapArgs)]
pub struct StackArgs {
    /// Direction to measure [default: both; tx with --to, rx with --listen]
    #[arg(value_parser = one_of(DIRECTIONS))]
    pub directions: Option<&'static [Direction]>,
    /// Measure sending to another host, where `netfathom load sink` runs
    #[arg(long, value_name = "HOST:PORT", value_parser = parse_peer, conflicts_with_all = ["lab", "loopback", "listen", "port", "ipv6"])]
    pub to: Option<SocketAddr>,
    /// Measure receiving from another host, where `netfathom load send --to THIS_HOST:PORT` runs
    #[arg(long, value_name = "ADDR:PORT", value_parser = parse_listen, conflicts_with_all = ["lab", "loopback", "port", "ipv6"])]
    pub listen: Option<SocketAddr>,
    /// Also sends to these addresses, not only to private ones
    #[arg(help_heading = ENDS, long, value_name = "ADDR/LEN", requires = "to")]
    pub allow: Vec<Prefix>,
    /// Between two network namespaces that netfathom makes and removes (default as root)
    #[arg(long, conflicts_with = "loopback")]
    pub lab: bool,
    /// Over the loopback device (default without root)
    #[arg(long)]
    pub loopback: bool,
    /// Messages per second over one trial, such as constant:RATE/TIME or ramp:FROM..TO/TIME
    /// [default: ramp:1k..200k/500ms (10s with --trials), with --quick ramp:1k..10k/500ms; the peak is at most what this host sends on schedule]
    ///
    /// Others: triangle:FROM..TO[,cap=RATE]/TIME, steps:RATE,RATE,.../TIME, poisson:RATE/TIME and csv:FILE. poisson
    /// randomizes the times; the count is RATE x TIME.
    #[arg(long, value_parser = parse_profile)]
    pub profile: Option<String>,
    /// Trials with the tap [default: as many as it takes for --precision; --listen: 10]
    #[arg(long, value_name = "N", value_parser = parse_whole::<u32>)]
    pub trials: Option<u32>,
    /// Stop when the 95 % interval of each mean and p99 is within ± this percentage
    #[arg(long, value_name = "PERCENT", default_value = "5%", default_value_if("quick", "true", "10%"), conflicts_with_all = ["trials", "listen"], value_parser = parse_percent)]
    pub precision: f64,
    /// Stop by this time, whatever the precision
    #[arg(long, value_name = "TIME", default_value = "35s", default_value_if("quick", "true", "10s"), conflicts_with_all = ["trials", "listen"], value_parser = parse_time)]
    pub time_limit: u64,
    /// Trials without the tap, interleaved with the others, for its overhead [default: half of the trials; without
    /// --trials 2 per 12 with the tap, with --quick 2 per 6]
    #[arg(help_heading = TRIALS, long, value_name = "N", value_parser = parse_whole::<u32>)]
    pub baselines: Option<u32>,
    /// Trials with the other tap, interleaved with the others; with --tap all of each other tap [default: a third
    /// of the trials (--tap all: half), at least 3; without --trials as --baselines]
    #[arg(help_heading = TRIALS, long, value_name = "N", value_parser = parse_whole::<u32>)]
    pub cross_checks: Option<u32>,
    /// How link-layer times are taken
    #[arg(long, value_parser = one_of(TAPS), default_value = "auto")]
    pub tap: TapChoice,
    /// Stages of the bpf tap: fewer cost less overhead
    #[arg(help_heading = LOAD, long, value_parser = one_of(STAGES), default_value = "all")]
    pub stages: StageSet,
    /// The pcap tap captures by tcpdump instead of netfathom's own reader of the packet ring
    #[arg(help_heading = KEPT, long)]
    pub tcpdump: bool,
    /// The pcap tap leaves its captures and logs in the run's directory, for netfathom join
    #[arg(help_heading = KEPT, long)]
    pub keep_captures: bool,
    /// Protocol that carries the messages
    #[arg(long, value_parser = one_of(TRANSPORTS), default_value = "udp")]
    pub transport: Transport,
    /// Bytes of a message
    ///
    /// Over UDP its payload, over TCP bytes in the stream.
    #[arg(long, default_value_t = 64, value_name = "BYTES", value_parser = parse_message_size)]
    pub size: usize,
    /// IPv6 instead of IPv4
    #[arg(help_heading = ENDS, long)]
    pub ipv6: bool,
    /// Keep the raw times of up to N messages, spread evenly, in samples.parquet
    #[arg(help_heading = KEPT, long, value_name = "N", value_parser = parse_whole::<u32>)]
    pub samples: Option<u32>,
    /// Write the sampled messages for other programs too: pcapng is a capture for Wireshark, each
    /// packet with its stages as a comment [samples 10,000 messages unless --samples sets another number]
    #[arg(help_heading = KEPT, long, value_enum, value_name = "FORMAT")]
    pub export: Option<ExportArg>,
    /// Senders at the same time
    ///
    /// Each on its own CPU where available.
    #[arg(help_heading = LOAD, long, default_value_t = 1, value_name = "N", value_parser = parse_whole::<u32>)]
    pub workers: u32,
    /// CPUs of the sender and of the reader [default: the last two]
    #[arg(long, value_name = "SENDER,READER", value_parser = parse_cpus)]
    pub cpu: Option<(usize, usize)>,
    /// Port of the reader; 0 takes a free one
    #[arg(help_heading = ENDS, long, default_value_t = 0, value_parser = parse_whole::<u16>)]
    pub port: u16,
    /// As --precision 10% --time-limit 10s, rates up to 10k/s and half as many trials at least, where not set otherwise
    #[arg(long)]
    pub quick: bool,
    /// Random seed, to repeat a run [default: random]
    #[arg(help_heading = TRIALS, long, value_name = "N", value_parser = parse_whole::<u64>)]
    pub seed: Option<u64>,
    /// The reader polls its socket instead of sleeping: no wake-ups, but a busy CPU
    #[arg(long)]
    pub poll: bool,
    /// The reader idles for this time after each message, such as 50us
    #[arg(help_heading = PROOFS, long, value_name = "TIME", value_parser = parse_time, default_value = "0ns", hide_default_value = true)]
    pub reader_delay: u64,
    /// Delay each message in a BPF program, such as tx:20us or rx:20us
    #[arg(help_heading = PROOFS, long, value_name = "DIRECTION:TIME", value_parser = parse_delay)]
    pub insert_delay: Option<InsertedDelay>,
    #[command(flatten)]
    pub output: OutputArgs,
}

pub fn parse_cpus(text: &str) -> Result<(usize, usize), String> {
    let number = |t: &str| t.parse().ok();
    text.split_once(',')
        .and_then(|(a, b)| Some((number(a)?, number(b)?)))
        .ok_or_else(|| "write two CPUs such as 2,3: the sender's and the reader's".into())
}

fn parse_delay(text: &str) -> Result<InsertedDelay, String> {
    let form = "write tx:TIME or rx:TIME, such as tx:20us";
    let (way, time) = text.split_once(':').ok_or(form)?;
    let direction = match way {
        "tx" => Direction::Tx,
        "rx" => Direction::Rx,
        _ => return Err(form.into()),
    };
    // The plan has the bounds.
    let delay_ns = u32::try_from(parse_time(time)?).map_err(|_| format!("{time} is too long"))?;
    Ok(InsertedDelay { direction, delay_ns })
}
