//! Any bytes as a capture: unpacked, read and decoded.

use std::io::{Cursor, Read};

use netfathom_capture::decode;
use netfathom_capture::error::CaptureError;
use netfathom_capture::input::Input;
use netfathom_capture::packet::Packets;
use netfathom_capture::reader::{CaptureReader, MOST_CAPTURED_BYTES};

/// What is unpacked at most: a few packed bytes can stand for very many.
const MOST_UNPACKED_BYTES: u64 = 1 << 20;
/// What a packet takes of a file at least: a simple packet of pcapng, of no bytes.
const LEAST_PACKET_BYTES: u64 = 16;

pub fn run(data: &[u8]) {
    let Ok(input) = Input::new(Cursor::new(data.to_vec())) else { return };
    let _ = input.content();
    let mut reader = match CaptureReader::new(input.take(MOST_UNPACKED_BYTES)) {
        Ok(reader) => reader,
        Err(error) => return check(&error),
    };
    let mut packets = 0;
    loop {
        let packet = match reader.next_packet() {
            Ok(Some(packet)) => packet,
            Ok(None) => break,
            Err(error) => {
                check(&error);
                break;
            }
        };
        packets += 1;
        assert!(packet.data.len() <= packet.original_bytes as usize, "more captured than there was");
        assert!(packet.data.len() <= MOST_CAPTURED_BYTES as usize);
        if let Ok(datagram) = decode::udp(packet.link, packet.data) {
            super::is_part(datagram.payload, packet.data);
        }
    }
    assert!(packets * LEAST_PACKET_BYTES <= reader.offset(), "packets out of nothing");
    assert!(matches!(reader.next_packet(), Ok(None)), "something after the end");
}

fn check(error: &CaptureError) {
    assert!(!error.to_string().is_empty());
    if let CaptureError::Damaged { offset, .. } | CaptureError::Io { offset, .. } = error {
        assert!(*offset <= MOST_UNPACKED_BYTES, "damage behind the end");
    }
}
