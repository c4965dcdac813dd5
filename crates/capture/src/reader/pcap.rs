//! pcap (draft-ietf-opsawg-pcap): a header of 24 bytes, and one of 16 before each packet.

use std::io::Read;

use super::{ConsumedPacket, Order, check_lengths, damaged};
use crate::buffer::Buffer;
use crate::error::CaptureError;
use crate::packet::{LinkType, PacketDirection, Resolution};

const FILE_HEADER_BYTES: usize = 24;
const MICROSECONDS: u32 = 0xa1b2_c3d4;
pub(crate) const NANOSECONDS: u32 = 0xa1b2_3c4d;
/// Written by Kuznetzov's patched libpcap: packets say on which interface and which way.
const MODIFIED: u32 = 0xa1b2_cd34;
/// Above it in the field of the link type stands how long Ethernet's check sum is.
const LINK_TYPE_MASK: u32 = 0x03ff_ffff;
/// `PACKET_OUTGOING` of Linux.
const OUTGOING: u8 = 4;

#[derive(Debug)]
pub struct Pcap {
    order: Order,
    magic: u32,
    link: LinkType,
    /// Of the fraction.
    resolution: Resolution,
    units: u32,
    header_bytes: usize,
}

pub fn begins(first: &[u8]) -> bool {
    magic(first).is_some()
}

fn magic(first: &[u8]) -> Option<(Order, u32)> {
    let first = *first.first_chunk()?;
    [Order::Little, Order::Big]
        .map(|order| (order, order.u32(first)))
        .into_iter()
        .find(|(_, magic)| [MICROSECONDS, NANOSECONDS, MODIFIED].contains(magic))
}

impl Pcap {
    pub fn begin(buffer: &mut Buffer<impl Read>) -> Result<Self, CaptureError> {
        let header = buffer.have(FILE_HEADER_BYTES)?;
        let cut = || {
            let there = header.len();
            damaged(0, format!("the file ends within its header: {there} of {FILE_HEADER_BYTES} bytes"))
        };
        let (order, magic) = magic(header).ok_or_else(cut)?;
        if header.len() < FILE_HEADER_BYTES {
            return Err(cut());
        }
        let (major, minor) = (order.u16_at(header, 4), order.u16_at(header, 6));
        if (major, minor) != (2, 4) {
            // In older ones the lengths of a packet are the other way round, in some of them.
            return Err(CaptureError::NotThis(format!(
                "it is pcap of version {major}.{minor}, and only 2.4 can be read; \
                 `editcap -F pcap OLD NEW` may convert it"
            )));
        }
        let link = LinkType::of(order.u32_at(header, 20) & LINK_TYPE_MASK);
        let is_ns = magic == NANOSECONDS;
        let resolution = if is_ns { Resolution::NANOSECONDS } else { Resolution::MICROSECONDS };
        let units = 1_000_000_000 / resolution.step_ns();
        let header_bytes = if magic == MODIFIED { 24 } else { 16 };
        buffer.consume(FILE_HEADER_BYTES);
        Ok(Self { order, magic, link, resolution, units, header_bytes })
    }

    pub fn name(&self) -> &'static str {
        match self.magic {
            NANOSECONDS => "pcap, nanoseconds",
            MODIFIED => "pcap (modified), microseconds",
            _ => "pcap, microseconds",
        }
    }

    #[inline]
    pub fn next(&self, buffer: &mut Buffer<impl Read>) -> Result<Option<ConsumedPacket>, CaptureError> {
        let offset = buffer.offset();
        let bytes = buffer.have(self.header_bytes)?;
        if bytes.len() < self.header_bytes {
            return match bytes.len() {
                0 => Ok(None),
                there => Err(damaged(offset, cut(there, self.header_bytes, "header"))),
            };
        }
        let seconds = self.order.u32_at(bytes, 0);
        let fraction = self.order.u32_at(bytes, 4);
        let captured = self.order.u32_at(bytes, 8);
        let original_bytes = self.order.u32_at(bytes, 12);
        let way = if self.magic == MODIFIED { Some(way(bytes)) } else { None };
        check_lengths(captured, original_bytes).map_err(|why| damaged(offset, why))?;
        if fraction >= self.units {
            let units = self.units;
            let why = format!("a packet's time has {fraction} of {units} parts of a second");
            return Err(damaged(offset, why));
        }
        let captured_bytes = captured as usize;
        let whole = self.header_bytes + captured_bytes;
        let there = buffer.have(whole)?.len();
        if there < whole {
            let there = there - self.header_bytes;
            return Err(damaged(offset, cut(there, captured_bytes, "captured bytes")));
        }
        buffer.consume(whole);
        // At most 2^32 seconds, which is half of what there is room for.
        let time_ns =
            i64::from(seconds) * 1_000_000_000 + i64::from(fraction) * i64::from(self.resolution.step_ns());
        Ok(Some(ConsumedPacket {
            time_ns,
            resolution: self.resolution,
            link: self.link,
            way,
            original_bytes,
            back: captured_bytes,
            captured_bytes,
        }))
    }
}

#[cold]
fn cut(there: usize, whole: usize, what: &str) -> String {
    format!("the file ends within a packet: {there} of {whole} bytes of its {what}")
}

/// By the type that a modified file has of a packet.
fn way(header: &[u8]) -> PacketDirection {
    match header.get(22) {
        Some(&OUTGOING) => PacketDirection::Out,
        _ => PacketDirection::In,
    }
}
