//! Arguments of `netfathom ttcp sweep`.

use clap::Args as ClapArgs;
use netfathom_model::plan::{DEFAULT_BUFFER_BYTES, DEFAULT_PORT, DEFAULT_QUEUE_BYTES, Place};

use super::ttcp::{parse_bits, parse_size, parse_socket_buffer};
use super::words::{Word, one_of};
use super::{OutputArgs, parse_time, parse_whole};

pub const EXAMPLES: &str = "\
Examples:
  netfathom ttcp sweep --delay 10ms
      what a send buffer does to a transfer with a round trip of 20 ms
  netfathom ttcp sweep --sndbuf 1448,16k,auto --write 512,8192 --no-delay both
      small writes too, with and without Nagle's algorithm, between two hosts
      that netfathom makes (as root), or over loopback
  netfathom ttcp sweep --delay 10ms --rate 100m --loss 0.1% --trials 6
      over a path that loses packets; six trials give an interval
  netfathom ttcp sweep --time 2s bsd
      to the host bsd, where this runs: netfathom ttcp -rs --serve

Each point is a transfer, watched to show what limits it. Its rate counts until
the receiver had everything.";

/// `netfathom ttcp sweep`.
#[derive(Debug, ClapArgs)]
pub struct SweepArgs {
    /// Send to this host, where a receiver serves; otherwise both ends are here
    #[arg(value_name = "HOST", conflicts_with_all = ["here", "delay", "rate", "loss", "queue"])]
    pub host: Option<String>,
    /// Send buffers to try, in bytes; auto leaves it to the kernel
    #[arg(short = 'b', long, value_delimiter = ',', value_name = "BYTES,...", value_parser = parse_buffer,
        default_value = "1448,4096,16k,64k,256k,1m,auto", default_value_if("quick", "true", "1448,16k,256k,auto"))]
    pub sndbuf: Vec<SendBuffer>,
    /// Receive buffer of the other end, one for all send buffers [default: left to the kernel]
    #[arg(long, value_name = "BYTES", conflicts_with = "host", value_parser = parse_socket_buffer)]
    pub rcvbuf: Option<u32>,
    /// Bytes of a write to try
    #[arg(short = 'l', long, value_delimiter = ',', value_name = "BYTES,...", value_parser = parse_size,
        default_values_t = [DEFAULT_BUFFER_BYTES])]
    pub write: Vec<u64>,
    /// TCP_NODELAY: a write goes at once, without Nagle's algorithm
    #[arg(short = 'D', long, value_parser = one_of(NO_DELAY), default_value = "off", value_name = "WHETHER")]
    pub no_delay: &'static [bool],
    /// Time from one end to the other, on a path that netfathom makes; a round trip takes twice that
    #[arg(long, value_name = "TIME", value_parser = parse_time)]
    pub delay: Option<u64>,
    /// Bits per second of that path
    #[arg(long, value_name = "RATE", value_parser = parse_bits)]
    pub rate: Option<u64>,
    /// Share of packets that it loses at random
    #[arg(long, value_name = "PERCENT", value_parser = parse_loss)]
    pub loss: Option<u32>,
    /// Queue of that path in bytes; packets beyond it are dropped
    #[arg(long, value_name = "BYTES", default_value_t = DEFAULT_QUEUE_BYTES, value_parser = parse_size, requires = "rate")]
    pub queue: u64,
    /// How long each trial sends
    #[arg(long, value_name = "TIME", default_value = "500ms", default_value_if("quick", "true", "200ms"), value_parser = parse_time)]
    pub time: u64,
    /// Trials of each point
    #[arg(long, value_name = "N", default_value_t = 3, default_value_if("quick", "true", "2"), value_parser = parse_whole::<u32>)]
    pub trials: u32,
    /// Where both ends are [default: lab as root, otherwise loopback]
    #[arg(long, value_parser = one_of(HERE), value_name = "WHERE")]
    pub here: Option<Place>,
    /// Port of the receiver on another host
    #[arg(short, long, default_value_t = DEFAULT_PORT, value_name = "PORT", requires = "host", value_parser = parse_whole::<u16>)]
    pub port: u16,
    /// As --sndbuf 1448,16k,256k,auto --time 200ms --trials 2, where not set otherwise
    #[arg(long)]
    pub quick: bool,
    /// Random seed, to repeat the order of a run [default: random]
    #[arg(long, value_name = "N", value_parser = parse_whole::<u64>)]
    pub seed: Option<u64>,
    #[command(flatten)]
    pub output: OutputArgs,
}

/// A send buffer to ask for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SendBuffer(pub Option<u32>);

const NO_DELAY: &[Word<&[bool]>] = &[
    ("off", &[false], "Without it, as the classic"),
    ("on", &[true], "With it"),
    ("both", &[false, true], "Each point once without and once with it"),
];

const HERE: &[Word<Place>] = &[
    ("lab", Place::Lab, "Between two network namespaces that netfathom makes and removes; needs root"),
    ("loopback", Place::Loopback, "Over this host's loopback device"),
];

fn parse_buffer(text: &str) -> Result<SendBuffer, String> {
    if text == "auto" {
        return Ok(SendBuffer(None));
    }
    let bytes = parse_size(text).ok().and_then(|bytes| u32::try_from(bytes).ok());
    bytes
        .map(|bytes| SendBuffer(Some(bytes)))
        .ok_or_else(|| "write a number of bytes such as 1448, 64k or 1m, or auto".into())
}

/// Percent of the packets, in parts per million.
fn parse_loss(text: &str) -> Result<u32, String> {
    let percent: Option<f64> = text.trim_end_matches('%').trim_end().parse().ok();
    let fits = percent.filter(|p| (0.0..100.0).contains(p));
    fits.map(|p| (p * 1e4).round() as u32).ok_or_else(|| "write a percentage below 100 such as 0.1%".into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_loss_is_a_percentage() {
        assert_eq!(parse_loss("0.1%"), Ok(1000));
        assert_eq!(parse_loss("1"), Ok(10_000));
        assert_eq!(parse_loss("0.0001 %"), Ok(1));
        for wrong in ["100%", "-1", "much", "%", "nan"] {
            assert!(parse_loss(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_buffer_may_be_left_to_the_kernel() {
        assert_eq!(parse_buffer("auto"), Ok(SendBuffer(None)));
        assert_eq!(parse_buffer("16k"), Ok(SendBuffer(Some(16_384))));
        assert!(parse_buffer("8g").is_err() && parse_buffer("automatic").is_err());
    }
}
