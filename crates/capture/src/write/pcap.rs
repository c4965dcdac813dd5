//! pcap with nanoseconds, for what the packet ring of a trial holds.

use std::io::{self, Write};

use crate::packet::LinkType;
use crate::reader::pcap::NANOSECONDS;

#[derive(Debug)]
pub struct PcapWriter<W: Write> {
    out: W,
}

impl<W: Write> PcapWriter<W> {
    /// Begins a file of packets of one link type; at most `snaplen` bytes of each are kept.
    /// The writer should be a buffered one.
    pub fn new(mut out: W, link: LinkType, snaplen: u32) -> io::Result<Self> {
        let mut header = Vec::with_capacity(24);
        header.extend(NANOSECONDS.to_le_bytes());
        header.extend(2u16.to_le_bytes());
        header.extend(4u16.to_le_bytes());
        header.extend([0; 8]);
        header.extend(snaplen.to_le_bytes());
        header.extend(link.number().to_le_bytes());
        out.write_all(&header)?;
        Ok(Self { out })
    }

    /// Adds a packet, captured so long after 1970-01-01 UTC.
    #[inline]
    pub fn packet(&mut self, time_ns: u64, original_bytes: u32, data: &[u8]) -> io::Result<()> {
        let seconds = u32::try_from(time_ns / 1_000_000_000).map_err(|_| io::ErrorKind::InvalidInput)?;
        let length = u32::try_from(data.len()).map_err(|_| io::ErrorKind::InvalidInput)?;
        let mut header = [0; 16];
        for (at, field) in
            [seconds, (time_ns % 1_000_000_000) as u32, length, original_bytes].iter().enumerate()
        {
            header[4 * at..4 * at + 4].copy_from_slice(&field.to_le_bytes());
        }
        self.out.write_all(&header)?;
        self.out.write_all(data)
    }

    pub fn finish(mut self) -> io::Result<W> {
        self.out.flush()?;
        Ok(self.out)
    }
}
