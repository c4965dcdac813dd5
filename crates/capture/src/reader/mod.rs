//! Captures read: pcap and pcapng, of any byte order and resolution.
//!
//! Written by hand: a message about a damaged file has to say where it is damaged and how,
//! which pcap-parser does not know; and of pcapng it takes half as long again a packet, and ends
//! at a block without a body. In a test it reads the same files (`tests/capture/oracle.rs`).
//!
//! What is taken for damage, beyond what contradicts the format:
//! - a packet with more captured bytes than it had: no packet is like that, and a pcap file
//!   has nothing else to show that its reader is out of step;
//! - a fraction of a second that is a second or more, for the same reason: a file with another
//!   resolution than that of its header would otherwise give wrong times;
//! - more than [`MOST_CAPTURED_BYTES`] captured of a packet, which is also tcpdump's bound;
//! - a time more than 146 years before or after 1970.
//!
//! Neither is a packet of no bytes, nor one that is older than the one before it.

pub(crate) mod pcap;
pub(crate) mod pcapng;

use std::io::Read;

use crate::buffer::Buffer;
use crate::error::CaptureError;
use crate::packet::{LinkType, Packet, PacketDirection, Packets, Resolution};

/// The most that can have been captured of one packet.
pub const MOST_CAPTURED_BYTES: u32 = 256 << 10;

#[derive(Debug)]
pub struct CaptureReader<R> {
    buffer: Buffer<R>,
    format: Format,
    /// After the end, or after an error.
    ended: bool,
}

#[derive(Debug)]
enum Format {
    Pcap(pcap::Pcap),
    Pcapng(pcapng::Pcapng),
}

/// A packet that was consumed: its bytes begin `back` bytes before what comes next.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ConsumedPacket {
    time_ns: i64,
    resolution: Resolution,
    link: LinkType,
    way: Option<PacketDirection>,
    original_bytes: u32,
    back: usize,
    captured_bytes: usize,
}

/// The byte order of a file, or of a section of one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Order {
    Little,
    Big,
}

pub fn is_capture(first: &[u8]) -> bool {
    pcap::begins(first) || pcapng::begins(first)
}

impl<R: Read> CaptureReader<R> {
    /// Begins to read; needs no buffer below it.
    pub fn new(read: R) -> Result<Self, CaptureError> {
        let mut buffer = Buffer::new(read);
        let first = buffer.have(8)?;
        let format = if pcapng::begins(first) {
            Format::Pcapng(pcapng::Pcapng::begin(&mut buffer)?)
        } else if pcap::begins(first) {
            Format::Pcap(pcap::Pcap::begin(&mut buffer)?)
        } else {
            return Err(CaptureError::NotThis(no_capture(first)));
        };
        Ok(Self { buffer, format, ended: false })
    }

    /// What it is, such as `pcap, nanoseconds` or `pcapng`.
    pub fn format(&self) -> &'static str {
        match &self.format {
            Format::Pcap(pcap) => pcap.name(),
            Format::Pcapng(_) => "pcapng",
        }
    }

    /// Where in the unpacked file the next packet, or what else comes, begins.
    pub fn offset(&self) -> u64 {
        self.buffer.offset()
    }
}

impl<R: Read> Packets for CaptureReader<R> {
    #[inline]
    fn next_packet(&mut self) -> Result<Option<Packet<'_>>, CaptureError> {
        if self.ended {
            return Ok(None);
        }
        let found = match &mut self.format {
            Format::Pcap(pcap) => pcap.next(&mut self.buffer),
            Format::Pcapng(pcapng) => pcapng.next(&mut self.buffer),
        };
        match found {
            Ok(Some(found)) => Ok(Some(Packet {
                time_ns: found.time_ns,
                resolution: found.resolution,
                link: found.link,
                way: found.way,
                original_bytes: found.original_bytes,
                data: &self.buffer.used(found.back)[..found.captured_bytes],
            })),
            end => {
                self.ended = true;
                end.map(|_| None)
            }
        }
    }

    /// Simple packets of pcapng are such.
    #[inline]
    fn without_time(&self) -> u64 {
        match &self.format {
            Format::Pcap(_) => 0,
            Format::Pcapng(pcapng) => pcapng.without_time(),
        }
    }
}

impl Order {
    #[inline]
    fn u16(self, bytes: [u8; 2]) -> u16 {
        match self {
            Self::Little => u16::from_le_bytes(bytes),
            Self::Big => u16::from_be_bytes(bytes),
        }
    }

    #[inline]
    fn u32(self, bytes: [u8; 4]) -> u32 {
        match self {
            Self::Little => u32::from_le_bytes(bytes),
            Self::Big => u32::from_be_bytes(bytes),
        }
    }

    /// The 16 bits at a place, or 0 behind the end.
    #[inline]
    fn u16_at(self, bytes: &[u8], at: usize) -> u16 {
        bytes.get(at..).and_then(<[u8]>::first_chunk).map_or(0, |chunk| self.u16(*chunk))
    }

    /// The 32 bits at a place, or 0 behind the end.
    #[inline]
    fn u32_at(self, bytes: &[u8], at: usize) -> u32 {
        bytes.get(at..).and_then(<[u8]>::first_chunk).map_or(0, |chunk| self.u32(*chunk))
    }
}

/// What is wrong with the lengths of a packet, if anything.
#[inline]
fn check_lengths(captured: u32, original: u32) -> Result<(), String> {
    if captured <= original && captured <= MOST_CAPTURED_BYTES {
        return Ok(());
    }
    Err(if captured > MOST_CAPTURED_BYTES {
        format!("a packet claims {captured} captured bytes; there can be {MOST_CAPTURED_BYTES}")
    } else {
        format!("a packet claims {captured} captured bytes of the {original} that it had")
    })
}

#[cold]
fn damaged(offset: u64, why: impl Into<String>) -> CaptureError {
    CaptureError::Damaged { offset, why: why.into() }
}

fn no_capture(first: &[u8]) -> String {
    if first.is_empty() {
        return "it is empty: not even the header of a capture is there".into();
    }
    let shown: Vec<String> = first.iter().take(4).map(|byte| format!("{byte:02x}")).collect();
    let shown = shown.join(" ");
    if first.len() < 4 {
        format!("it is no capture: it has only {} bytes, {shown}", first.len())
    } else {
        format!("it is no capture: it begins with {shown}, which is neither pcap nor pcapng")
    }
}
