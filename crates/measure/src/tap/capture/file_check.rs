//! What a pcap file really holds.

use std::fs::File;
use std::io::{self, BufReader, ErrorKind, Read, Seek};

const FILE_HEADER_BYTES: usize = 24;
const PACKET_HEADER_BYTES: usize = 16;
/// Where the length of what was kept is in a packet's header.
const LENGTH_AT: usize = 8;

/// Counts the whole packets in a pcap file that was written on this machine.
pub(super) fn packets(mut file: &File) -> io::Result<u64> {
    file.rewind()?;
    // One may seek beyond the end: a packet counts only when all of it is before.
    let bytes = file.metadata()?.len();
    let mut from = BufReader::with_capacity(1 << 20, file);
    let (mut packets, mut at) = (0, FILE_HEADER_BYTES as u64);
    if bytes < at || !read(&mut from, &mut [0; FILE_HEADER_BYTES])? {
        return Ok(0);
    }
    let mut header = [0; PACKET_HEADER_BYTES];
    while at < bytes && read(&mut from, &mut header)? {
        let length = u32::from_ne_bytes(std::array::from_fn(|n| header[LENGTH_AT + n]));
        at += PACKET_HEADER_BYTES as u64 + u64::from(length);
        packets += u64::from(at <= bytes);
        from.seek_relative(length.into())?;
    }
    Ok(packets)
}

/// Fills the buffer. Returns whether that many bytes were there.
fn read(from: &mut impl Read, buffer: &mut [u8]) -> io::Result<bool> {
    match from.read_exact(buffer) {
        Err(e) if e.kind() == ErrorKind::UnexpectedEof => Ok(false),
        other => other.map(|()| true),
    }
}
