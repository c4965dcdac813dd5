//! Many messages in one buffer: the kernel splits it on the way out (UDP_SEGMENT, since
//! Linux 4.18) and joins what arrives on the way in (UDP_GRO, since 5.0).

use std::io;
use std::net::UdpSocket;
use std::slice::Chunks;

use super::{Wait, set_option};
use crate::call::{control, receive_message};

/// The most messages that every kernel takes in one buffer; since 6.11 it is twice as many.
pub const MOST_SEGMENTS: usize = 64;

/// Lets the kernel split what is sent through this socket into messages of `bytes` each, the
/// last one perhaps shorter; 0 sends whole buffers again.
///
/// One send call then takes up to [`MOST_SEGMENTS`] messages, of 65,507 bytes in all (65,487
/// with IPv6). It is set for the socket: a control message with each call, which could say
/// the same, is not measurably faster or slower, and is one more thing to build.
///
/// Where they are split depends on the device: one that says it splits them itself
/// (tx-udp-segmentation, see [`crate::offload`]) gets the buffer whole, and a veth that says
/// so never splits it.
///
/// # Errors
/// ENOPROTOOPT before Linux 4.18. A message larger than the MTU is refused when it is sent.
pub fn set_segment_size(socket: &UdpSocket, bytes: u16) -> io::Result<()> {
    set_option(socket, libc::SOL_UDP, libc::UDP_SEGMENT, &i32::from(bytes))
}

/// Lets this socket receive several messages of one sender as one buffer; from then on read
/// it by [`receive_coalesced`] only, because a plain receive call cannot distinguish them.
///
/// # Errors
/// ENOPROTOOPT before Linux 5.0.
pub fn enable_gro(socket: &UdpSocket) -> io::Result<()> {
    set_option(socket, libc::SOL_UDP, libc::UDP_GRO, &1_i32)
}

/// What [`receive_coalesced`] left in the buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Coalesced {
    pub bytes: usize,
    /// Bytes a message; the last may be shorter.
    pub segment_bytes: usize,
    /// Whether there was more than fits: messages are missing at the end.
    pub truncated: bool,
}

impl Coalesced {
    /// The messages, from the buffer that they were received into. A message of no bytes
    /// gives none.
    ///
    /// # Panics
    /// With a buffer shorter than that.
    pub fn messages<'a>(&self, buffer: &'a [u8]) -> Chunks<'a, u8> {
        buffer[..self.bytes].chunks(self.segment_bytes.max(1))
    }
}

/// Receives one buffer of one or more messages. 65,535 bytes are always enough.
pub fn receive_coalesced(socket: &UdpSocket, buffer: &mut [u8], wait: Wait) -> io::Result<Coalesced> {
    let flags = match wait {
        Wait::ForOne => 0,
        Wait::No => libc::MSG_DONTWAIT,
    };
    receive_message(socket, buffer, flags, |bytes, message| Coalesced {
        bytes,
        // A message that came alone has no size beside it.
        segment_bytes: segment_bytes(message).unwrap_or(bytes),
        truncated: message.msg_flags & libc::MSG_TRUNC != 0,
    })
}

fn segment_bytes(message: &libc::msghdr) -> Option<usize> {
    let size: i32 = control(message, &[(libc::SOL_UDP, libc::UDP_GRO)])?;
    usize::try_from(size).ok()
}

#[cfg(test)]
mod tests {
    use super::super::tests::pair;
    use super::*;

    #[test]
    fn one_buffer_becomes_many_messages() {
        let (sender, reader) = pair();
        set_segment_size(&sender, 8).unwrap();
        let numbered: Vec<u8> = (0..MOST_SEGMENTS * 8).map(|byte| (byte / 8) as u8).collect();
        assert_eq!(sender.send(&numbered).unwrap(), numbered.len());
        for message in 0..MOST_SEGMENTS as u8 {
            let mut buffer = [0; 64];
            assert_eq!(reader.recv(&mut buffer).unwrap(), 8);
            assert_eq!(buffer[..8], [message; 8]);
        }
        set_segment_size(&sender, 0).unwrap();
        sender.send(&[0; 24]).unwrap();
        assert_eq!(reader.recv(&mut [0; 64]).unwrap(), 24);
    }

    /// Over the loopback device the kernel never splits a buffer if the reader takes it whole.
    #[test]
    fn coalesced_messages_are_separated() {
        let (sender, reader) = pair();
        enable_gro(&reader).unwrap();
        set_segment_size(&sender, 8).unwrap();
        sender.send(&[[1; 8], [2; 8], [3; 8]].as_flattened()[..20]).unwrap();
        let mut buffer = [0; 64];
        let got = receive_coalesced(&reader, &mut buffer, Wait::ForOne).unwrap();
        assert_eq!(got, Coalesced { bytes: 20, segment_bytes: 8, truncated: false });
        let messages: Vec<&[u8]> = got.messages(&buffer).collect();
        assert_eq!(messages, [&[1_u8; 8][..], &[2; 8], &[3; 4]]);
    }

    #[test]
    fn a_message_alone_is_one_and_a_short_buffer_says_so() {
        let (sender, reader) = pair();
        enable_gro(&reader).unwrap();
        sender.send(&[9; 20]).unwrap();
        sender.send(&[9; 20]).unwrap();
        let mut buffer = [0; 64];
        let got = receive_coalesced(&reader, &mut buffer, Wait::ForOne).unwrap();
        assert_eq!((got.segment_bytes, got.messages(&buffer).count()), (20, 1));
        assert!(receive_coalesced(&reader, &mut buffer[..10], Wait::ForOne).unwrap().truncated);
    }
}
