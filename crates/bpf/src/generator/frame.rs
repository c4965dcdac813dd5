//! The frame that all messages of a generator share.

use netfathom_model::message::HEADER_BYTES;

use super::abi::copied::Config;

const ETHERNET: usize = 14;
const UDP_HEADER: usize = 8;
const PROTOCOL_UDP: u8 = 17;

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FrameError {
    #[error("it is neither IPv4 nor IPv6 right behind the Ethernet header")]
    Network,
    #[error("it is not UDP right behind an IP header without options")]
    Transport,
    #[error("its payload is shorter than the {HEADER_BYTES} bytes of a message")]
    Short,
    #[error("the lengths in its IP and UDP headers are not those of the frame")]
    Lengths,
}

/// A frame with a payload of one message, its checksums aside.
#[derive(Debug)]
pub(super) struct Frame {
    /// All of it, with the IPv4 checksum filled in and the UDP checksum 0.
    pub bytes: Vec<u8>,
    pub payload_at: usize,
}

impl Frame {
    pub fn parse(bytes: &[u8]) -> Result<Self, FrameError> {
        let at = |offset: usize| bytes.get(offset).copied().unwrap_or_default();
        let u16_at = |offset: usize| usize::from(u16::from_be_bytes([at(offset), at(offset + 1)]));
        let ip = ETHERNET;
        let (ip_header, protocol, ip_length) = match u16_at(12) {
            0x0800 => (20, at(ip + 9), u16_at(ip + 2)),
            0x86dd => (40, at(ip + 6), 40 + u16_at(ip + 4)),
            _ => return Err(FrameError::Network),
        };
        let version = if ip_header == 20 { at(ip) == 0x45 } else { at(ip) >> 4 == 6 };
        if !version || protocol != PROTOCOL_UDP {
            return Err(FrameError::Transport);
        }
        let udp = ip + ip_header;
        let payload_at = udp + UDP_HEADER;
        if bytes.len() < payload_at + HEADER_BYTES {
            return Err(FrameError::Short);
        }
        if ip + ip_length != bytes.len() || udp + u16_at(udp + 4) != bytes.len() {
            return Err(FrameError::Lengths);
        }
        let mut frame = Self { bytes: bytes.to_vec(), payload_at };
        frame.write_checksums();
        Ok(frame)
    }

    fn is_ipv4(&self) -> bool {
        self.payload_at == ETHERNET + 20 + UDP_HEADER
    }

    /// That of IPv4; that of UDP is the program's.
    fn write_checksums(&mut self) {
        let udp_checksum_at = self.payload_at - 2;
        self.bytes[udp_checksum_at..][..2].fill(0);
        if self.is_ipv4() {
            self.bytes[ETHERNET + 10..][..2].fill(0);
            let checksum = !fold(sum(&self.bytes[ETHERNET..][..20]));
            self.bytes[ETHERNET + 10..][..2].copy_from_slice(&checksum.to_ne_bytes());
        }
    }

    /// Sum of what the UDP checksum covers, without the message: addresses, protocol,
    /// length (the pseudo header), the UDP header and what follows the message. Words are
    /// in memory order, as the program adds them: the sum does not care (RFC 1071).
    pub fn constant_sum(&self) -> u16 {
        let addresses = if self.is_ipv4() { 12..20 } else { 8..40 };
        let udp = &self.bytes[self.payload_at - UDP_HEADER..];
        let length = udp.len() as u16;
        fold(
            sum(&self.bytes[ETHERNET..][addresses])
                + u64::from(u16::from(PROTOCOL_UDP).to_be())
                + u64::from(length.to_be())
                + sum(&udp[..UDP_HEADER])
                + sum(&udp[UDP_HEADER + HEADER_BYTES..]),
        )
    }

    /// The headers in words, in memory order.
    pub fn header_words(&self) -> [u64; Config::HEADERS] {
        let mut bytes = [0; Config::HEADERS * 8];
        bytes[..self.payload_at].copy_from_slice(&self.bytes[..self.payload_at]);
        let (words, _) = bytes.as_chunks::<8>();
        std::array::from_fn(|i| u64::from_ne_bytes(words[i]))
    }
}

/// The sum of 16-bit words in memory order, the last padded with 0.
fn sum(bytes: &[u8]) -> u64 {
    let word = |pair: &[u8]| u16::from_ne_bytes([pair[0], pair.get(1).copied().unwrap_or_default()]);
    bytes.chunks(2).map(|pair| u64::from(word(pair))).sum()
}

fn fold(mut sum: u64) -> u16 {
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    sum as u16
}
