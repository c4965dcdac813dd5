//! Captures made by hand, byte by byte, and what a reader gives of them.

use std::io::Read;

use netfathom_capture::error::CaptureError;
use netfathom_capture::packet::{LinkType, PacketDirection, Packets};
use netfathom_capture::reader::CaptureReader;

pub const MICROSECONDS: u32 = 0xa1b2_c3d4;
pub const NANOSECONDS: u32 = 0xa1b2_3c4d;
pub const MODIFIED: u32 = 0xa1b2_cd34;

pub const SECTION: u32 = 0x0a0d_0d0a;
pub const INTERFACE: u32 = 1;
pub const OLD_PACKET: u32 = 2;
pub const SIMPLE_PACKET: u32 = 3;
pub const ENHANCED_PACKET: u32 = 6;

/// A packet that was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Got {
    pub time_ns: i64,
    pub link: LinkType,
    pub way: Option<PacketDirection>,
    pub original_bytes: u32,
    pub data: Vec<u8>,
}

/// All packets, and the error after them, if any. Nothing comes after it.
pub fn read(capture: impl Read) -> (Vec<Got>, Option<CaptureError>) {
    let mut reader = match CaptureReader::new(capture) {
        Ok(reader) => reader,
        Err(error) => return (Vec::new(), Some(error)),
    };
    let mut packets = Vec::new();
    loop {
        match reader.next_packet() {
            Ok(Some(packet)) => packets.push(Got {
                time_ns: packet.time_ns,
                link: packet.link,
                way: packet.way,
                original_bytes: packet.original_bytes,
                data: packet.data.to_vec(),
            }),
            end => {
                let end = end.map(|_| ());
                assert!(matches!(reader.next_packet(), Ok(None)), "nothing comes after the end");
                return (packets, end.err());
            }
        }
    }
}

/// All packets of a capture that is as it should be.
pub fn read_whole(capture: impl Read) -> Vec<Got> {
    let (packets, error) = read(capture);
    assert!(error.is_none(), "{error:?}");
    packets
}

/// Bytes in one of the two byte orders.
#[derive(Clone, Debug)]
pub struct Bytes {
    pub is_big: bool,
    pub bytes: Vec<u8>,
}

impl Bytes {
    pub fn new(is_big: bool) -> Self {
        Self { is_big, bytes: Vec::new() }
    }

    pub fn u16(mut self, value: u16) -> Self {
        self.bytes.extend(if self.is_big { value.to_be_bytes() } else { value.to_le_bytes() });
        self
    }

    pub fn u32(mut self, value: u32) -> Self {
        self.bytes.extend(if self.is_big { value.to_be_bytes() } else { value.to_le_bytes() });
        self
    }

    pub fn raw(mut self, bytes: &[u8]) -> Self {
        self.bytes.extend(bytes);
        self
    }

    pub fn padded(mut self) -> Self {
        self.bytes.resize(self.bytes.len().next_multiple_of(4), 0);
        self
    }

    pub fn pcap(self, magic: u32, link: u32) -> Self {
        self.u32(magic).u16(2).u16(4).u32(0).u32(0).u32(262_144).u32(link)
    }

    /// A packet of a pcap file, whole.
    pub fn record(self, seconds: u32, fraction: u32, data: &[u8]) -> Self {
        let length = data.len() as u32;
        self.u32(seconds).u32(fraction).u32(length).u32(length).raw(data)
    }

    pub fn block(self, kind: u32, body: impl FnOnce(Self) -> Self) -> Self {
        let body = body(Self::new(self.is_big)).padded().bytes;
        let length = body.len() as u32 + 12;
        self.u32(kind).u32(length).raw(&body).u32(length)
    }

    pub fn section(self) -> Self {
        self.block(SECTION, |body| body.u32(0x1a2b_3c4d).u16(1).u16(0).raw(&[0xff; 8]))
    }

    pub fn option(self, code: u16, value: &[u8]) -> Self {
        self.u16(code).u16(value.len() as u16).raw(value).padded()
    }

    /// An interface with times in units of `resolution`, if one is given.
    pub fn interface(self, link: u16, snaplen: u32, resolution: Option<u8>) -> Self {
        self.block(INTERFACE, |mut body| {
            body = body.u16(link).u16(0).u32(snaplen).option(2, b"eth0");
            if let Some(resolution) = resolution {
                body = body.option(9, &[resolution]);
            }
            body.option(0, b"")
        })
    }

    /// A whole packet of pcapng, without options.
    pub fn enhanced(self, interface: u32, ticks: u64, data: &[u8]) -> Self {
        self.enhanced_of(interface, ticks, data.len() as u32, data.len() as u32, data)
    }

    /// A packet of pcapng that claims what it likes.
    pub fn enhanced_of(self, interface: u32, ticks: u64, captured: u32, original: u32, data: &[u8]) -> Self {
        self.block(ENHANCED_PACKET, |body| {
            body.u32(interface)
                .u32((ticks >> 32) as u32)
                .u32(ticks as u32)
                .u32(captured)
                .u32(original)
                .raw(data)
        })
    }
}

/// An Ethernet frame with a UDP datagram to port 2000.
pub fn frame(payload: &[u8]) -> Vec<u8> {
    let mut frame = Vec::new();
    etherparse::PacketBuilder::ethernet2([2; 6], [4; 6])
        .ipv4([10, 0, 0, 1], [10, 0, 0, 2], 64)
        .udp(1000, 2000)
        .write(&mut frame, payload)
        .expect("a small packet");
    frame
}
