//! Arguments of `netfathom join`.

use clap::Args as ClapArgs;
use netfathom_model::plan::{ClockChoice, Numbering};

use super::words::{Word, one_of};
use super::{OutputArgs, parse_whole};

pub const EXAMPLES: &str = "\
Examples:
  tcpdump -i eth0 -s 128 --time-stamp-precision nano -w sent.pcap udp port 9000
      makes a capture while the load runs; -i any also records the direction
  netfathom join sent.pcap sender.log
      send times, and receive times where the log has them
  netfathom join sender.pcapng.gz receiver.pcap.zst sender.log receiver.csv
      through both hosts, compressed files as they are
  netfathom join sent.pcap messages.csv --number u32be@4 --port 5004
      messages of another program, numbered in bytes 4 to 7 of the payload
  zcat sent.pcap.gz | netfathom join - sender.log --clock stated
      from standard input

Files may come in any order: the first bytes of each identify it. Name captures
in the order in which messages pass them. A log in CSV begins with a line of
column names: sequence, and at least one of sent_ns, received_ns,
intended_ns (or _us, _ms, _s, since 1970), and flow where there are several.";

/// `netfathom join`.
#[derive(Debug, ClapArgs)]
pub struct JoinArgs {
    /// Captures (pcap, pcapng) and message logs (netfathom's, CSV), also compressed with gzip or zstd; - is
    /// standard input
    #[arg(required = true, num_args = 2.., value_name = "FILE")]
    pub files: Vec<String>,
    /// Where the number of a message lies in its UDP payload: netfathom, or an unsigned number
    /// of 8, 16, 32 or 64 bits, little or big endian, at a byte: u32be@0, u64le@8
    #[arg(long, default_value = "netfathom", value_name = "WHERE", value_parser = parse_numbering)]
    pub number: Numbering,
    /// Only packets from or to this UDP port
    #[arg(long, value_name = "PORT", value_parser = parse_whole::<u16>)]
    pub port: Option<u16>,
    /// How to convert the clock of a log to that of a capture
    #[arg(long, value_parser = one_of(CLOCKS), default_value = "stated")]
    pub clock: ClockChoice,
    /// How far the order of log and capture may differ, in messages
    #[arg(long, default_value_t = 65_536, value_name = "N", value_parser = parse_whole::<u32>)]
    pub window: u32,
    #[command(flatten)]
    pub output: OutputArgs,
}

const CLOCKS: &[Word<ClockChoice>] = &[
    ("stated", ClockChoice::Stated, "As the log states it; without a statement its times are since 1970"),
    ("fitted", ClockChoice::Fitted, "So that the shortest time is zero, for clocks of two hosts"),
];

/// `netfathom`, or such as `u32be@0`.
fn parse_numbering(text: &str) -> Result<Numbering, String> {
    if text == "netfathom" {
        return Ok(Numbering::Netfathom);
    }
    let wrong =
        || format!("`{text}` is no place of a number: write netfathom, or such as u32be@0 or u64le@8");
    let (form, offset) = text.split_once('@').ok_or_else(wrong)?;
    let (width, little_endian) = match form {
        "u8" => (1, false),
        "u16be" => (2, false),
        "u16le" => (2, true),
        "u32be" => (4, false),
        "u32le" => (4, true),
        "u64be" => (8, false),
        "u64le" => (8, true),
        _ => return Err(wrong()),
    };
    let offset = offset.parse().map_err(|_| wrong())?;
    Ok(Numbering::Field { offset, width, little_endian })
}
