//! pcapng (draft-ietf-opsawg-pcapng): blocks, each with its length before and behind it.

mod interface;
mod options;

use std::io::Read;

use super::{ConsumedPacket, Order, check_lengths, damaged};
use crate::buffer::{Buffer, MOST_BYTES};
use crate::error::CaptureError;
use crate::packet::PacketDirection;
use interface::Interface;
use options::Options;

pub(crate) const SECTION_HEADER: u32 = 0x0a0d_0d0a;
pub(crate) const INTERFACE_DESCRIPTION: u32 = 1;
const PACKET: u32 = 2;
const SIMPLE_PACKET: u32 = 3;
pub(crate) const ENHANCED_PACKET: u32 = 6;
pub(crate) const BYTE_ORDER_MAGIC: u32 = 0x1a2b_3c4d;

/// Type and length before the body, length behind it.
const HEAD_BYTES: usize = 8;
const AROUND_BYTES: usize = 12;
/// What a section header has at least.
const SECTION_HEADER_BYTES: usize = 28;
/// Before a packet's data, in its block.
const ENHANCED_BYTES: usize = 20;
/// Flags of a packet: option 2 of enhanced packets and of packets.
const FLAGS: u16 = 2;
/// An interface takes 20 bytes of a file, which packed are less than one.
const MOST_INTERFACES: usize = 65_536;

#[derive(Debug)]
pub struct Pcapng {
    order: Order,
    interfaces: Vec<Interface>,
    without_time: u64,
}

pub fn begins(first: &[u8]) -> bool {
    first.starts_with(&SECTION_HEADER.to_le_bytes())
}

impl Pcapng {
    pub fn begin(buffer: &mut Buffer<impl Read>) -> Result<Self, CaptureError> {
        let mut pcapng = Self { order: Order::Little, interfaces: Vec::new(), without_time: 0 };
        let length = pcapng.whole_block(buffer, SECTION_HEADER)?;
        buffer.consume(length);
        Ok(pcapng)
    }

    pub fn without_time(&self) -> u64 {
        self.without_time
    }

    #[inline]
    pub fn next(&mut self, buffer: &mut Buffer<impl Read>) -> Result<Option<ConsumedPacket>, CaptureError> {
        loop {
            let offset = buffer.offset();
            let head = buffer.have(HEAD_BYTES)?;
            if head.len() < HEAD_BYTES {
                return match head.len() {
                    0 => Ok(None),
                    there => {
                        Err(damaged(offset, format!("the file ends within a block, {there} bytes into it")))
                    }
                };
            }
            let kind = self.order.u32_at(head, 0);
            if !is_read(kind) {
                self.skip_block(buffer)?;
                continue;
            }
            let length = self.whole_block(buffer, kind)?;
            let body = &buffer.bytes()[HEAD_BYTES..length - 4];
            let found = match kind {
                SECTION_HEADER => Ok(None),
                INTERFACE_DESCRIPTION => self.describe(body).map(|()| None),
                SIMPLE_PACKET => self.simple(body).map(Some),
                _ => self.enhanced(body, kind == PACKET).map(Some),
            };
            let found = found.map_err(|why| damaged(offset, why))?;
            buffer.consume(length);
            if found.is_some() {
                return Ok(found);
            }
        }
    }

    /// Waits for a block that is to be read, checks its lengths and gives its length. A section
    /// header sets the byte order and forgets the interfaces.
    #[inline]
    fn whole_block(&mut self, buffer: &mut Buffer<impl Read>, kind: u32) -> Result<usize, CaptureError> {
        let offset = buffer.offset();
        if kind == SECTION_HEADER {
            self.begin_section(buffer.have(SECTION_HEADER_BYTES)?).map_err(|why| damaged(offset, why))?;
        }
        let claimed = self.order.u32_at(buffer.bytes(), 4);
        check_block_length(claimed).map_err(|why| damaged(offset, why))?;
        let length = claimed as usize;
        if length > MOST_BYTES {
            let why = format!("a block claims {claimed} bytes; one of type {kind:#x} can have {MOST_BYTES}");
            return Err(damaged(offset, why));
        }
        let bytes = buffer.have(length)?;
        if bytes.len() < length {
            return Err(damaged(offset, cut(bytes.len() as u64, claimed)));
        }
        let behind = self.order.u32_at(bytes, length - 4);
        if behind != claimed { Err(damaged(offset, lengths_differ(claimed, behind))) } else { Ok(length) }
    }

    /// Skips an unneeded block, however long it is.
    fn skip_block(&self, buffer: &mut Buffer<impl Read>) -> Result<(), CaptureError> {
        let offset = buffer.offset();
        let claimed = self.order.u32_at(buffer.bytes(), 4);
        check_block_length(claimed).map_err(|why| damaged(offset, why))?;
        let before = u64::from(claimed) - 4;
        let skipped = buffer.skip(before)?;
        let behind = buffer.have(4)?;
        if skipped < before || behind.len() < 4 {
            return Err(damaged(offset, cut(skipped + behind.len() as u64, claimed)));
        }
        let behind = self.order.u32_at(behind, 0);
        if behind != claimed {
            return Err(damaged(offset, lengths_differ(claimed, behind)));
        }
        buffer.consume(4);
        Ok(())
    }

    fn begin_section(&mut self, header: &[u8]) -> Result<(), String> {
        let Some(magic) = header.get(HEAD_BYTES..).and_then(<[u8]>::first_chunk) else {
            return Err("the file ends within a section header".into());
        };
        self.order = [Order::Little, Order::Big]
            .into_iter()
            .find(|order| order.u32(*magic) == BYTE_ORDER_MAGIC)
            .ok_or_else(|| format!("a section header has no byte order: {magic:02x?}"))?;
        let claimed = self.order.u32_at(header, 4);
        check_block_length(claimed)?;
        if (claimed as usize) < SECTION_HEADER_BYTES {
            return Err(format!(
                "a section header claims {claimed} bytes; it has {SECTION_HEADER_BYTES} or more"
            ));
        }
        if header.len() < SECTION_HEADER_BYTES {
            return Err(cut(header.len() as u64, claimed));
        }
        // Version 1.2 is what some wrote for 1.0.
        let (major, minor) = (self.order.u16_at(header, 12), self.order.u16_at(header, 14));
        if major != 1 || !matches!(minor, 0 | 2) {
            return Err(format!("a section of pcapng {major}.{minor}; only 1.0 is known"));
        }
        self.interfaces.clear();
        Ok(())
    }

    fn describe(&mut self, body: &[u8]) -> Result<(), String> {
        if self.interfaces.len() == MOST_INTERFACES {
            return Err(format!("a section describes more than {MOST_INTERFACES} interfaces"));
        }
        self.interfaces.push(Interface::read(self.order, body)?);
        Ok(())
    }

    /// A packet with a time: an enhanced one, or an old one.
    #[inline]
    fn enhanced(&self, body: &[u8], old: bool) -> Result<ConsumedPacket, String> {
        let Some((head, rest)) = body.split_at_checked(ENHANCED_BYTES) else {
            return Err(format!(
                "a packet's block has {} bytes of the {ENHANCED_BYTES} before its data",
                body.len()
            ));
        };
        // The old one has 16 bits of drops behind its interface.
        let id = if old { u32::from(self.order.u16_at(head, 0)) } else { self.order.u32_at(head, 0) };
        let interface = self.interface(id)?;
        let ticks = u64::from(self.order.u32_at(head, 4)) << 32 | u64::from(self.order.u32_at(head, 8));
        let captured = self.order.u32_at(head, 12);
        let original_bytes = self.order.u32_at(head, 16);
        check_lengths(captured, original_bytes)?;
        let captured_bytes = captured as usize;
        let Some(options) = rest.get(captured_bytes.next_multiple_of(4)..) else {
            return Err(format!(
                "a packet claims {captured} captured bytes; its block has room for {}",
                rest.len()
            ));
        };
        Ok(ConsumedPacket {
            time_ns: interface.time_ns(ticks)?,
            resolution: interface.resolution,
            link: interface.link,
            way: if options.is_empty() { None } else { self.way(options)? },
            original_bytes,
            back: rest.len() + 4,
            captured_bytes,
        })
    }

    /// A packet without a time, of the first interface.
    fn simple(&mut self, body: &[u8]) -> Result<ConsumedPacket, String> {
        let Some((head, rest)) = body.split_at_checked(4) else {
            return Err("a simple packet's block has no length of the packet".into());
        };
        let original_bytes = self.order.u32_at(head, 0);
        let interface = self.interface(0)?;
        // The captured length is stated nowhere else.
        let captured = interface.snaplen.map_or(original_bytes, |snaplen| snaplen.min(original_bytes));
        check_lengths(captured, original_bytes)?;
        if captured as usize > rest.len() {
            return Err(format!(
                "a simple packet has {captured} captured bytes; its block has room for {}",
                rest.len()
            ));
        }
        let (link, resolution) = (interface.link, interface.resolution);
        self.without_time += 1;
        Ok(ConsumedPacket {
            time_ns: 0,
            resolution,
            link,
            way: None,
            original_bytes,
            back: rest.len() + 4,
            captured_bytes: captured as usize,
        })
    }

    #[inline]
    fn interface(&self, id: u32) -> Result<&Interface, String> {
        let described = self.interfaces.len();
        self.interfaces.get(id as usize).ok_or_else(|| {
            format!("a packet of interface {id}, which no block before describes; {described} are described")
        })
    }

    fn way(&self, options: &[u8]) -> Result<Option<PacketDirection>, String> {
        let mut way = None;
        for option in Options::new(self.order, options) {
            let (code, value) = option?;
            if code == FLAGS {
                if value.len() != 4 {
                    return Err(format!("a packet's flags have {} bytes instead of 4", value.len()));
                }
                way = match self.order.u32_at(value, 0) & 3 {
                    1 => Some(PacketDirection::In),
                    2 => Some(PacketDirection::Out),
                    _ => None,
                };
            }
        }
        Ok(way)
    }
}

fn is_read(kind: u32) -> bool {
    matches!(kind, SECTION_HEADER | INTERFACE_DESCRIPTION | PACKET | SIMPLE_PACKET | ENHANCED_PACKET)
}

#[inline]
fn check_block_length(claimed: u32) -> Result<(), String> {
    if claimed as usize >= AROUND_BYTES && claimed.is_multiple_of(4) {
        return Ok(());
    }
    Err(if claimed.is_multiple_of(4) {
        format!("a block claims {claimed} bytes; it has {AROUND_BYTES} or more")
    } else {
        format!("a block claims {claimed} bytes, which is not a multiple of 4")
    })
}

#[cold]
fn cut(there: u64, claimed: u32) -> String {
    format!("the file ends within a block: {there} of {claimed} bytes")
}

#[cold]
fn lengths_differ(before: u32, behind: u32) -> String {
    format!("a block has {before} bytes by the length before it, {behind} by the one behind it")
}
