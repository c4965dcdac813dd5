//! pcapng (draft-ietf-opsawg-pcapng), times in nanoseconds: several interfaces in one file, and
//! comments that tshark and Wireshark show beside a packet.

use std::io::{self, Write};

use crate::packet::{LinkType, Packet, PacketDirection};
use crate::reader::pcapng::{BYTE_ORDER_MAGIC, ENHANCED_PACKET, INTERFACE_DESCRIPTION, SECTION_HEADER};

const OPT_END: u16 = 0;
const OPT_COMMENT: u16 = 1;
const SHB_USER_APPLICATION: u16 = 4;
const IF_NAME: u16 = 2;
const IF_DESCRIPTION: u16 = 3;
const IF_TIME_RESOLUTION: u16 = 9;
const EPB_FLAGS: u16 = 2;

/// An interface of a file, for the writer that gave it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InterfaceId(u32);

#[derive(Debug)]
pub struct PcapngWriter<W: Write> {
    out: W,
    links: Vec<LinkType>,
    /// The block that is being made, kept for its memory.
    block: Vec<u8>,
}

impl<W: Write> PcapngWriter<W> {
    /// Begins a file, written by `application` (such as `netfathom 0.1.0`). The writer should be
    /// a buffered one.
    pub fn new(out: W, application: &str) -> io::Result<Self> {
        let mut writer = Self { out, links: Vec::new(), block: Vec::new() };
        writer.begin(SECTION_HEADER);
        writer.u32(BYTE_ORDER_MAGIC);
        writer.u16(1);
        writer.u16(0);
        // The section's length, which is not known yet.
        writer.block.extend((-1i64).to_le_bytes());
        writer.option(SHB_USER_APPLICATION, application.as_bytes())?;
        writer.end_options();
        writer.end()?;
        Ok(writer)
    }

    /// Adds an interface; at most `snaplen` bytes of its packets are kept (0: all of them).
    pub fn interface(
        &mut self,
        name: &str,
        description: &str,
        link: LinkType,
        snaplen: u32,
    ) -> io::Result<InterfaceId> {
        let number = u16::try_from(link.number()).map_err(|_| {
            refused(format!("pcapng has no {}: link types there are below 65536", link.name()))
        })?;
        let id = u32::try_from(self.links.len()).map_err(|_| refused("too many interfaces".into()))?;
        self.begin(INTERFACE_DESCRIPTION);
        self.u16(number);
        self.u16(0);
        self.u32(snaplen);
        self.option(IF_NAME, name.as_bytes())?;
        self.option(IF_DESCRIPTION, description.as_bytes())?;
        // Tens to the minus 9: nanoseconds.
        self.option(IF_TIME_RESOLUTION, &[9])?;
        self.end_options();
        self.end()?;
        self.links.push(link);
        Ok(InterfaceId(id))
    }

    /// Adds a packet, with comments of at most 65,535 bytes each.
    ///
    /// # Errors
    /// If it cannot be written; if its time is before 1970 or its link type not that of the
    /// interface; if a comment is too long.
    pub fn packet(
        &mut self,
        interface: InterfaceId,
        packet: &Packet<'_>,
        comments: &[&str],
    ) -> io::Result<()> {
        let link = self.links.get(interface.0 as usize);
        if link != Some(&packet.link) {
            return Err(refused(format!("a packet of {} on another interface", packet.link.name())));
        }
        let time = u64::try_from(packet.time_ns)
            .map_err(|_| refused(format!("a packet's time before 1970: {} ns", packet.time_ns)))?;
        let captured = u32::try_from(packet.data.len()).map_err(|_| io::ErrorKind::InvalidInput)?;
        self.begin(ENHANCED_PACKET);
        self.u32(interface.0);
        self.u32((time >> 32) as u32);
        self.u32(time as u32);
        self.u32(captured);
        self.u32(packet.original_bytes);
        self.block.extend(packet.data);
        self.pad();
        self.packet_options(packet.way, comments)?;
        self.end()
    }

    pub fn finish(mut self) -> io::Result<W> {
        self.out.flush()?;
        Ok(self.out)
    }

    fn packet_options(&mut self, way: Option<PacketDirection>, comments: &[&str]) -> io::Result<()> {
        if let Some(way) = way {
            let flags = match way {
                PacketDirection::In => 1u32,
                PacketDirection::Out => 2,
            };
            self.option(EPB_FLAGS, &flags.to_le_bytes())?;
        }
        for comment in comments {
            self.option(OPT_COMMENT, comment.as_bytes())?;
        }
        if way.is_some() || !comments.is_empty() {
            self.end_options();
        }
        Ok(())
    }

    /// Begins a block; its length is put in at its end.
    fn begin(&mut self, kind: u32) {
        self.block.clear();
        self.u32(kind);
        self.u32(0);
    }

    fn end(&mut self) -> io::Result<()> {
        let length = u32::try_from(self.block.len() + 4).map_err(|_| io::ErrorKind::InvalidInput)?;
        self.u32(length);
        self.block[4..8].copy_from_slice(&length.to_le_bytes());
        self.out.write_all(&self.block)
    }

    fn option(&mut self, code: u16, value: &[u8]) -> io::Result<()> {
        let length = u16::try_from(value.len()).map_err(|_| {
            refused(format!("a text of {} bytes: pcapng has room for 65535 of them", value.len()))
        })?;
        self.u16(code);
        self.u16(length);
        self.block.extend(value);
        self.pad();
        Ok(())
    }

    fn end_options(&mut self) {
        self.u16(OPT_END);
        self.u16(0);
    }

    /// To the next multiple of four bytes.
    fn pad(&mut self) {
        self.block.resize(self.block.len().next_multiple_of(4), 0);
    }

    fn u16(&mut self, value: u16) {
        self.block.extend(value.to_le_bytes());
    }

    fn u32(&mut self, value: u32) {
        self.block.extend(value.to_le_bytes());
    }
}

fn refused(why: String) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, why)
}
