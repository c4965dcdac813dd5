//! Arguments of `netfathom ttcp`, also when called by the name `ttcp`.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use clap::{Args as ClapArgs, Subcommand, ValueEnum};
use netfathom_model::plan::{
    DEFAULT_ALIGN, DEFAULT_BUFFER_BYTES, DEFAULT_BUFFERS, DEFAULT_PORT, Role, Service, TransferPlan,
    Transport,
};

use super::sweep::{self, SweepArgs};
use super::{parse_time, parse_whole};

pub const NOTES: &str = "\
Examples:
  netfathom ttcp -rs
      receives at port 5001 and discards it; then on the other host:
  netfathom ttcp -tsv bsd
      sends 2048 buffers of 8192 bytes to the host bsd
  netfathom ttcp -tsvb 1448 bsd
      the same with a small send buffer
  netfathom ttcp -ts --time 5s --explain bsd
      sends for five seconds, and shows what limits it
  netfathom ttcp -ts --time 5s --explain -p 8080 bsd
      the same to your own server; it only has to read
  netfathom ttcp -rB | tar xpf -
      receives a tree of files; then on the other host:
  tar cf - DIR | netfathom ttcp -t bsd
      sends it
  netfathom ttcp -rs --serve --max-clients 10 --timeout 1m
      serves senders, ten at once, until Ctrl-C
  netfathom ttcp -ts -P 4 --time 10s bsd
      sends over four connections for ten seconds; the receiver needs -P 4 too,
      or --serve
  netfathom ttcp -ts -Z -l 64k --cost bsd
      sends without copying, and shows how much was copied after all and what
      it cost

The bytes on the wire are those of the classic ttcp, so either end may be one;
no classic one was available for tests. The classic's lines go to standard
error: their KB are 1024 bytes, Mb/sec and Mbit/sec are 2^20 bits, and msec/call
is 1024 x seconds / calls. --explain has Mb/s, which are 10^6 bits.

Any TCP server that reads will do as the receiver of --explain: name its port
(-p). What your own sender waits for: netfathom watch tx --pid N

Interrupted transfers: a killed TCP sender cuts the connection, and the
receiver fails; a truncated input (a killed tar) goes undetected. After the
last byte the sender waits until the receiver has closed, or for --idle once
all is acknowledged and nothing moves. A UDP receiver ends when no data has
come for --idle since the first, and says so; it cannot detect what UDP lost.";

pub const EXIT_STATUS: &str = "\
Exit status:
  0  done        1  failed or incomplete        2  wrong usage";

const CLASSIC: &str = "More of the classic";
const TRANSFER: &str = "Transfer";
const SERVER: &str = "Server (--serve)";

/// What there is beside the classic.
#[derive(Debug, Subcommand)]
pub enum TtcpCommand {
    /// How fast a transfer is with each send buffer, and what limits it
    #[command(allow_negative_numbers = true)]
    #[command(after_help = format!("{}\n\n{}", sweep::EXAMPLES, super::EXIT_STATUS))]
    Sweep(Box<SweepArgs>),
}

/// `netfathom ttcp`.
// Behind any option of the classic, a word is a host, so that one may be called as a command is.
#[derive(Debug, ClapArgs)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
#[command(disable_help_subcommand = true)]
pub struct TtcpArgs {
    /// Beside the classic
    #[command(subcommand)]
    pub command: Option<TtcpCommand>,
    /// Send to HOST
    #[arg(short, long, conflicts_with = "receive", requires = "host")]
    pub transmit: bool,
    /// Receive
    #[arg(short, long)]
    pub receive: bool,
    /// Host to send to; with -r, the local address to listen on
    #[arg(value_name = "HOST")]
    pub host: Option<String>,
    /// Source/sink (not server): send generated data, or discard what comes, instead of standard input and output
    #[arg(short, long)]
    pub source_sink: bool,
    /// Bytes per write or read; over UDP a datagram [default: 8192; what is available where no buffer is used]
    #[arg(short = 'l', long, value_name = "BYTES", value_parser = parse_size)]
    pub buffer_size: Option<u64>,
    /// Number of buffers to send, with -s
    #[arg(short = 'n', long, default_value_t = DEFAULT_BUFFERS, value_name = "N", value_parser = parse_whole::<u64>)]
    pub count: u64,
    /// With -s: send for this time, then wait up to --idle for the send buffer to drain
    #[arg(long, conflicts_with = "count", value_name = "TIME", value_parser = parse_time)]
    pub time: Option<u64>,
    /// UDP instead of TCP
    #[arg(short, long)]
    pub udp: bool,
    /// Port of the receiver
    #[arg(short, long, default_value_t = DEFAULT_PORT, value_name = "PORT", value_parser = parse_whole::<u16>)]
    pub port: u16,
    /// Size of the send or receive buffer of the socket; 0 leaves it to the kernel
    #[arg(short = 'b', long, default_value_t = 0, value_name = "BYTES", value_parser = parse_socket_buffer)]
    pub socket_buffer: u32,
    /// Connections at once, with -s; the receiver needs the same number, or --serve
    #[arg(short = 'P', long, default_value_t = 1, value_name = "N", value_parser = parse_whole::<u16>)]
    pub parallel: u16,
    /// Show what limited the transfer and what to do
    #[arg(long)]
    pub explain: bool,
    /// Show this many packets of the first connection, the times between all, and how many have PSH; needs CAP_NET_RAW
    #[arg(help_heading = TRANSFER, long, value_name = "N", value_parser = parse_whole::<u32>)]
    pub packets: Option<u32>,
    /// Print progress at this interval
    #[arg(short, long, value_name = "TIME", value_parser = parse_time)]
    pub interval: Option<u64>,
    /// Print CPU time and the buffer's address too
    #[arg(short, long)]
    pub verbose: bool,
    /// Unit of the rate: k, m, g for bits, K, M, G for bytes
    #[arg(help_heading = CLASSIC, short, long, value_enum, default_value = "K", value_name = "UNIT")]
    pub format: RateFormat,
    /// Set TCP_NODELAY: send each write at once
    #[arg(help_heading = CLASSIC, short = 'D', long)]
    pub no_delay: bool,
    /// Receiver: write whole buffers only, except the last; a sender ignores it
    #[arg(help_heading = CLASSIC, short = 'B', long)]
    pub full_blocks: bool,
    /// Read each byte received
    #[arg(help_heading = CLASSIC, short = 'T', long)]
    pub touch: bool,
    /// Align the buffer to this power of two; 0 leaves it where it is
    #[arg(help_heading = CLASSIC, short = 'A', long, default_value_t = DEFAULT_ALIGN, value_name = "BYTES", value_parser = parse_size)]
    pub align: u64,
    /// Start the buffer this many bytes after that
    #[arg(help_heading = CLASSIC, short = 'O', long, default_value_t = 0, value_name = "BYTES", value_parser = parse_size)]
    pub offset: u64,
    /// Set SO_DEBUG; needs CAP_NET_ADMIN
    #[arg(help_heading = CLASSIC, short, long)]
    pub debug: bool,
    /// Move the data without copying it, and show how much was copied after all: MSG_ZEROCOPY,
    /// sendfile, splice; a receiver with -s as --discard
    #[arg(help_heading = TRANSFER, short = 'Z', long)]
    pub zero_copy: bool,
    /// Receiver, with -s: drop the data in the kernel instead of copying it (MSG_TRUNC)
    #[arg(help_heading = TRANSFER, long)]
    pub discard: bool,
    /// Maximum rate of each stream in bits per second: 500k, 10m, 1g (powers of 1000)
    #[arg(help_heading = TRANSFER, long, value_name = "RATE", value_parser = parse_bits)]
    pub pace: Option<u64>,
    /// Congestion control of TCP, such as cubic or bbr [default: the system's]
    #[arg(help_heading = TRANSFER, short = 'C', long, value_name = "NAME")]
    pub congestion: Option<String>,
    /// Verify the data by its SHA-256; at both ends, over TCP
    #[arg(help_heading = TRANSFER, long)]
    pub checksum: bool,
    /// Give up when nothing moves for this time: a sender after its last byte, a receiver of UDP or
    /// with -P after the first
    #[arg(help_heading = TRANSFER, long, default_value = "5s", value_name = "TIME", value_parser = parse_time)]
    pub idle: u64,
    /// Receiver, with -s: serve senders, several at once, until Ctrl-C
    #[arg(help_heading = SERVER, long)]
    pub serve: bool,
    /// Maximum connections at once; more are cut off
    #[arg(help_heading = SERVER, long, default_value_t = 64, value_name = "N", value_parser = parse_whole::<u32>, requires = "serve")]
    pub max_clients: u32,
    /// Maximum bytes of a connection; beyond them it is cut off
    #[arg(help_heading = SERVER, long, value_name = "BYTES", value_parser = parse_size, requires = "serve")]
    pub max_bytes: Option<u64>,
    /// Cut off a sender that sends nothing for this time
    #[arg(help_heading = SERVER, long, default_value = "30s", value_name = "TIME", value_parser = parse_time, requires = "serve")]
    pub timeout: u64,
    /// Show the CPU time per KiB: of the threads and, as root, of softirqs
    /// charged to others, which include the host's other traffic
    #[arg(long)]
    pub cost: bool,
    /// Keep the record and a report in a new directory below this one
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Write the record to standard output instead of the figures
    #[arg(long)]
    pub json: bool,
    /// Errors only: no figures, no progress
    #[arg(long)]
    pub quiet: bool,
}

impl TtcpArgs {
    /// What is asked for, not yet validated.
    pub fn plan(&self) -> TransferPlan {
        TransferPlan {
            role: if self.transmit { Role::Transmit } else { Role::Receive },
            protocol: if self.udp { Transport::Udp } else { Transport::Tcp },
            host: self.host.clone(),
            port: self.port,
            buffer_bytes: self.buffer_size.unwrap_or(DEFAULT_BUFFER_BYTES),
            buffer_named: self.buffer_size.is_some(),
            buffers: self.count,
            time_ns: self.time,
            generated: self.source_sink,
            align: self.align,
            offset: self.offset,
            socket_buffer_bytes: Some(self.socket_buffer).filter(|&bytes| bytes > 0),
            no_delay: self.no_delay,
            debug: self.debug,
            full_blocks: self.full_blocks,
            touch: self.touch,
            // What is thrown away need not be copied for that.
            discard: self.discard || (self.zero_copy && self.receive && self.source_sink),
            checksum: self.checksum,
            idle_ns: self.idle,
            streams: self.parallel,
            interval_ns: self.interval,
            explain: self.explain,
            packets: self.packets,
            zero_copy: self.zero_copy,
            pace_bits_per_s: self.pace,
            congestion: self.congestion.clone(),
            cost: self.cost,
            serve: self.serve.then_some(Service {
                most_clients: self.max_clients,
                most_bytes: self.max_bytes,
                timeout_ns: self.timeout,
            }),
        }
    }
}

/// The unit of a printed rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum RateFormat {
    /// Kbit/sec
    #[value(name = "k")]
    Kbit,
    /// KB/sec
    #[value(name = "K")]
    KByte,
    /// Mbit/sec
    #[value(name = "m")]
    Mbit,
    /// MB/sec
    #[value(name = "M")]
    MByte,
    /// Gbit/sec
    #[value(name = "g")]
    Gbit,
    /// GB/sec
    #[value(name = "G")]
    GByte,
}

/// The arguments as if the command had been written out: called by the name `ttcp`, the program
/// is that command.
pub fn as_called(args: impl Iterator<Item = OsString>) -> Vec<OsString> {
    let mut args: Vec<OsString> = args.collect();
    let name = args.first().and_then(|first| Path::new(first).file_name());
    if name.is_some_and(|name| name == "ttcp") {
        args.splice(0..1, ["netfathom".into(), "ttcp".into()]);
    }
    args
}

/// Bytes, with k times 1024, with m times 1024 x 1024.
pub(super) fn parse_size(text: &str) -> Result<u64, String> {
    scaled(text, 1024).ok_or_else(|| "write a number of bytes such as 1448, 64k or 1m".into())
}

/// Bits a second, with k times 1000 and so on, as networks count.
pub(super) fn parse_bits(text: &str) -> Result<u64, String> {
    scaled(text, 1000).ok_or_else(|| "write a number of bits a second such as 500k, 10m or 1g".into())
}

/// A whole number, and perhaps a letter for the first, second or third power of `thousand`.
fn scaled(text: &str, thousand: u64) -> Option<u64> {
    let (digits, unit) = match text.char_indices().last()? {
        (at, 'k' | 'K') => (&text[..at], thousand),
        (at, 'm' | 'M') => (&text[..at], thousand.pow(2)),
        (at, 'g' | 'G') => (&text[..at], thousand.pow(3)),
        _ => (text, 1),
    };
    let number: u64 = digits.parse().ok().filter(|_| !digits.starts_with('+'))?;
    number.checked_mul(unit)
}

pub(super) fn parse_socket_buffer(text: &str) -> Result<u32, String> {
    let bytes = parse_size(text)?;
    u32::try_from(bytes)
        .ok()
        .filter(|&bytes| bytes <= 1 << 30)
        .ok_or_else(|| "no system grants more than 1g (sysctl net.core.wmem_max, rmem_max)".into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read_as_people_write_them() {
        assert_eq!(["0", "1448", "64k", "1M"].map(|t| parse_size(t).unwrap()), [0, 1448, 65_536, 1 << 20]);
        for text in ["", "k", "-1", "+1", "1.5k", "64kb", "99999999999999999999", "9999999999999g"] {
            assert!(parse_size(text).is_err(), "{text}");
        }
    }

    #[test]
    fn the_name_is_the_command() {
        let called = |name: &str| as_called([name.into(), "-rs".into()].into_iter());
        assert_eq!(called("/usr/local/bin/ttcp"), ["netfathom", "ttcp", "-rs"]);
        assert_eq!(called("netfathom"), ["netfathom", "-rs"]);
        assert!(as_called(std::iter::empty()).is_empty());
    }
}
