//! Where load may go. A generator that floods any address is a weapon: without an explicit option, it
//! sends only to its user's own machines.

use std::fmt;
use std::io::ErrorKind;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, UdpSocket};
use std::str::FromStr;

/// Addresses that begin with the same bits. Written `ADDR/LEN`; an address alone is one host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Prefix {
    address: IpAddr,
    bits: u8,
}

/// Why a text is no prefix, or none that may be allowed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PrefixError {
    #[error("`{0}` is not an address range: write an address such as 203.0.113.7, or 203.0.113.0/24")]
    Form(String),
    #[error("`{text}` has bits set behind its length: write {whole} for the range, or {host} for the host")]
    HostBits { text: String, whole: Prefix, host: IpAddr },
    #[error(
        "`{0}` is every address there is, and load must not go just anywhere: name the range that you mean"
    )]
    Everything(String),
}

/// Why load may not go to an address, or be received there.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    #[error(
        "cannot send load to {0}: it is not an address of a private, link-local or test network, and its \
         owner may take load for an attack; if you may load that host, add --allow {host}", host = Prefix::host(*.0)
    )]
    Public(IpAddr),
    #[error("cannot {does} {address}: it is {what}, which is not one host; name the host itself")]
    Never { does: &'static str, address: IpAddr, what: &'static str },
    #[error(
        "cannot send load to {0}: this host's routing table has it as a broadcast address, or prohibits it; \
         name the host itself (see `ip route get {0}`)"
    )]
    Route(IpAddr),
    #[error("{host} reports neither what arrives nor that it is gone (--one-way): permit it with --allow {host}", host = Prefix::host(*.0))]
    Unnamed(IpAddr),
}

/// Whether a plan may send to an address; `by_name` asks that `--allow` names it even if it
/// is private.
pub fn permit(address: IpAddr, allow: &[String], by_name: bool) -> Result<(), Refusal> {
    // The command has read them already: one that is none allows nothing.
    let extra: Vec<Prefix> = allow.iter().filter_map(|text| text.parse().ok()).collect();
    Allowed::new(&extra).check(address)?;
    let named = extra.iter().any(|prefix| prefix.contains(address.to_canonical()));
    if by_name && !named { Err(Refusal::Unnamed(address)) } else { Ok(()) }
}

/// Whether load may be received at an address: at one of this host, or at all of them.
pub fn permit_listening(address: IpAddr) -> Result<(), Refusal> {
    let address = address.to_canonical();
    match not_one_host(address).filter(|_| !address.is_unspecified()) {
        Some(what) => Err(Refusal::Never { does: "listen on", address, what }),
        None => Ok(()),
    }
}

/// What load may be sent to, or taken from.
#[derive(Clone, Debug, Default)]
pub struct Allowed {
    extra: Vec<Prefix>,
}

impl Allowed {
    /// The networks that are allowed without asking, and what `--allow` adds to them.
    pub fn new(extra: &[Prefix]) -> Self {
        Self { extra: extra.to_vec() }
    }

    /// Whether an address lies in one of these networks.
    pub fn holds(&self, address: IpAddr) -> bool {
        OWN.iter().chain(&self.extra).any(|prefix| prefix.contains(address))
    }

    /// Whether load may go to an address, seen from the calling thread's network namespace.
    pub fn check(&self, address: IpAddr) -> Result<(), Refusal> {
        let address = address.to_canonical();
        if let Some(what) = not_one_host(address) {
            return Err(Refusal::Never { does: "send load to", address, what });
        }
        if !self.holds(address) {
            return Err(Refusal::Public(address));
        }
        if is_broadcast_here(address) { Err(Refusal::Route(address)) } else { Ok(()) }
    }
}

/// Why an address belongs to no single host. A directed broadcast is known only within its network.
fn not_one_host(address: IpAddr) -> Option<&'static str> {
    if address.is_unspecified() {
        return Some("the unspecified address");
    }
    if address.is_multicast() {
        return Some("a multicast address");
    }
    (address == IpAddr::V4(Ipv4Addr::BROADCAST)).then_some("the broadcast address")
}

/// Asks the kernel: connect(2) of a UDP socket sends nothing, but looks the route up, and
/// fails with EACCES where that is a broadcast address and SO_BROADCAST is not set, so a
/// directed broadcast of a network of this host too (`__ip4_datagram_connect`). Whatever else
/// is in the way is for the sender to meet.
fn is_broadcast_here(address: IpAddr) -> bool {
    let any: IpAddr = match address {
        IpAddr::V4(_) => Ipv4Addr::UNSPECIFIED.into(),
        IpAddr::V6(_) => Ipv6Addr::UNSPECIFIED.into(),
    };
    // The discard port: no packet leaves.
    let connected = UdpSocket::bind((any, 0)).and_then(|socket| socket.connect((address, 9)));
    connected.is_err_and(|e| e.kind() == ErrorKind::PermissionDenied && e.raw_os_error() == Some(EACCES))
}

/// As a firewall's EPERM is not: it is of the same [`ErrorKind`].
const EACCES: i32 = 13;

/// Allowed without asking.
const OWN: [Prefix; 11] = [
    // Loopback.
    v4([127, 0, 0, 0], 8),
    v6([0, 0, 0, 0, 0, 0, 0, 1], 128),
    // Link-local: RFC 3927, RFC 4291.
    v4([169, 254, 0, 0], 16),
    v6([0xfe80, 0, 0, 0, 0, 0, 0, 0], 10),
    // Private: RFC 1918, behind a carrier's translation RFC 6598, unique local RFC 4193.
    v4([10, 0, 0, 0], 8),
    v4([172, 16, 0, 0], 12),
    v4([192, 168, 0, 0], 16),
    v4([100, 64, 0, 0], 10),
    v6([0xfc00, 0, 0, 0, 0, 0, 0, 0], 7),
    // Benchmarks, and netfathom's own lab: RFC 2544, RFC 5180.
    v4([198, 18, 0, 0], 15),
    v6([0x2001, 2, 0, 0, 0, 0, 0, 0], 48),
];

const fn v4(octets: [u8; 4], bits: u8) -> Prefix {
    Prefix { address: IpAddr::V4(Ipv4Addr::from_octets(octets)), bits }
}

const fn v6(segments: [u16; 8], bits: u8) -> Prefix {
    Prefix { address: IpAddr::V6(Ipv6Addr::from_segments(segments)), bits }
}

impl Prefix {
    pub fn host(address: IpAddr) -> Self {
        let address = address.to_canonical();
        Self { address, bits: if address.is_ipv4() { 32 } else { 128 } }
    }

    /// Whether an address lies in it. One of the other family does not; an IPv4 address
    /// within IPv6 (`::ffff:a.b.c.d`) is that IPv4 address.
    pub fn contains(&self, address: IpAddr) -> bool {
        let address = address.to_canonical();
        address.is_ipv4() == self.address.is_ipv4() && cut(address, self.bits) == self.address
    }
}

/// The address with nothing but its first bits.
fn cut(address: IpAddr, bits: u8) -> IpAddr {
    match address {
        IpAddr::V4(a) => {
            let mask = u32::MAX.checked_shl(32 - u32::from(bits)).unwrap_or(0);
            Ipv4Addr::from_bits(a.to_bits() & mask).into()
        }
        IpAddr::V6(a) => {
            let mask = u128::MAX.checked_shl(128 - u32::from(bits)).unwrap_or(0);
            Ipv6Addr::from_bits(a.to_bits() & mask).into()
        }
    }
}

impl FromStr for Prefix {
    type Err = PrefixError;

    fn from_str(text: &str) -> Result<Self, PrefixError> {
        let form = || PrefixError::Form(text.to_owned());
        let Some((address, length)) = text.split_once('/') else {
            return text.parse().map(Self::host).map_err(|_| form());
        };
        let written: IpAddr = address.parse().map_err(|_| form())?;
        // A sign would be read as well.
        let digits = length.bytes().all(|b| b.is_ascii_digit());
        let bits: u8 = length.parse().ok().filter(|_| digits).ok_or_else(form)?;
        let address = written.to_canonical();
        // ::ffff:a.b.c.d has 96 bits before those of IPv4.
        let mapped = if written == address { 0 } else { 96 };
        let longest = if written.is_ipv4() { 32 } else { 128 };
        if bits > longest || bits < mapped {
            return Err(form());
        }
        let bits = bits - mapped;
        if bits == 0 {
            return Err(PrefixError::Everything(text.to_owned()));
        }
        let whole = Self { address: cut(address, bits), bits };
        if whole.address == address {
            Ok(whole)
        } else {
            Err(PrefixError::HostBits { text: text.to_owned(), whole, host: address })
        }
    }
}

impl fmt::Display for Prefix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.address, self.bits)
    }
}

#[cfg(test)]
mod tests;
