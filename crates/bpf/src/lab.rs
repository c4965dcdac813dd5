//! Two namespaces and a veth pair between them, for tests.

use std::net::{IpAddr, SocketAddr};
use std::os::fd::AsRawFd;
use std::time::{Duration, Instant};

use netfathom_model::message::{HEADER_BYTES, Header};
use netfathom_sys::link::{self, Link, VethEnd};
use netfathom_sys::netns::Namespace;
use socket2::{Domain, Socket, Type};

pub(crate) const NEAR: [&str; 2] = ["10.9.0.1", "fd09::1"];
pub(crate) const FAR: [&str; 2] = ["10.9.0.2", "fd09::2"];
pub(crate) const PORT: u16 = 9009;

/// A veth pair for the test alone.
pub(crate) struct Pair {
    pub near: Namespace,
    pub far: Namespace,
    pub near_link: Link,
    pub far_link: Link,
}

impl Pair {
    pub fn new() -> Self {
        let (near, far) = (Namespace::create().unwrap(), Namespace::create().unwrap());
        let end = |name| VethEnd { name, index: 0 };
        near.run(|| link::create_veth(end("near"), end("far"), &far).unwrap()).unwrap();
        let near_link = near.run(|| prepare("near", NEAR)).unwrap();
        let far_link = far.run(|| prepare("far", FAR)).unwrap();
        let most = Duration::from_secs(5);
        near.run(|| link::await_running("near", most).unwrap()).unwrap();
        far.run(|| link::await_running("far", most).unwrap()).unwrap();
        introduce(&near, &near_link, FAR, &far_link);
        introduce(&far, &far_link, NEAR, &near_link);
        Self { near, far, near_link, far_link }
    }

    /// A frame from near to far with an empty message, its payload of that many bytes.
    pub fn frame(&self, ipv6: bool, bytes: usize) -> Vec<u8> {
        // A tail that is not zero, for the checksum's sake.
        let payload: Vec<u8> = (0..bytes).map(|i| if i < HEADER_BYTES { 0 } else { i as u8 }).collect();
        self.datagram(ipv6, PORT, &payload)
    }

    /// A frame from near to far with that payload and right checksums.
    pub fn datagram(&self, ipv6: bool, port: u16, payload: &[u8]) -> Vec<u8> {
        let address = |of: [&str; 2]| of[usize::from(ipv6)].parse::<IpAddr>().unwrap();
        let length = ((8 + payload.len()) as u16).to_be_bytes();
        let mut addresses = Vec::new();
        for address in [address(NEAR), address(FAR)] {
            match address {
                IpAddr::V4(v4) => addresses.extend(v4.octets()),
                IpAddr::V6(v6) => addresses.extend(v6.octets()),
            }
        }
        let ports = [4242u16.to_be_bytes(), port.to_be_bytes()].concat();
        let udp = |checksum: [u8; 2]| [&ports, &length[..], &checksum, payload].concat();
        let checksum = checksum(&[&addresses[..], &[0, 17], &length[..], &udp([0; 2])].concat());
        let ethernet = [self.far_link.mac, self.near_link.mac].concat();
        let ip = if ipv6 { ipv6_header(length) } else { ipv4_header(payload.len(), &addresses) };
        [ethernet, ip, addresses, udp(checksum)].concat()
    }

    /// A socket that sends whole frames from near to far.
    pub fn raw(&self) -> Raw {
        let socket = || Socket::new(Domain::PACKET, Type::RAW, None).unwrap();
        Raw { socket: self.near.run(socket).unwrap(), ifindex: self.near_link.index }
    }
}

/// EtherType and IPv4 header without the addresses.
fn ipv4_header(payload: usize, addresses: &[u8]) -> Vec<u8> {
    let length = ((28 + payload) as u16).to_be_bytes();
    let header = |sum: [u8; 2]| [&[0x45, 0], &length[..], &[0, 0, 0x40, 0, 64, 17], &sum].concat();
    let sum = checksum(&[&header([0; 2])[..], addresses].concat());
    [vec![8, 0], header(sum)].concat()
}

fn ipv6_header(length: [u8; 2]) -> Vec<u8> {
    [&[0x86, 0xdd, 0x60, 0, 0, 0], &length[..], &[17, 64]].concat()
}

/// As RFC 1071 says, written for clarity.
fn checksum(bytes: &[u8]) -> [u8; 2] {
    let word = |pair: &[u8]| u32::from(pair[0]) << 8 | u32::from(*pair.get(1).unwrap_or(&0));
    let mut sum: u32 = bytes.chunks(2).map(word).sum();
    while sum > 0xffff {
        sum = (sum >> 16) + (sum & 0xffff);
    }
    (!(sum as u16)).to_be_bytes()
}

pub(crate) struct Raw {
    socket: Socket,
    ifindex: u32,
}

impl Raw {
    pub fn send(&self, frame: &[u8]) {
        let to = libc::sockaddr_ll {
            sll_family: libc::AF_PACKET as u16,
            sll_protocol: 0,
            sll_ifindex: self.ifindex as i32,
            sll_hatype: 0,
            sll_pkttype: 0,
            sll_halen: 0,
            sll_addr: [0; 8],
        };
        // SAFETY: frame and address outlive the call, which reads no more than their lengths.
        let sent = unsafe {
            libc::sendto(
                self.socket.as_raw_fd(),
                frame.as_ptr().cast(),
                frame.len(),
                0,
                (&raw const to).cast(),
                size_of_val(&to) as u32,
            )
        };
        assert_eq!(sent, frame.len() as isize, "{}", std::io::Error::last_os_error());
    }
}

/// The families of addresses to test over: IPv4, and IPv6 where the kernel runs with it.
pub(crate) fn families() -> &'static [bool] {
    if link::ipv6_available() { &[false, true] } else { &[false] }
}

/// Waits until something is so: packets arrive in a soft interrupt, as a rule at once.
pub(crate) fn await_that(mut so: impl FnMut() -> bool) -> bool {
    // Only what never comes takes so long, also in an emulator on a busy machine.
    let deadline = Instant::now() + Duration::from_secs(60);
    while !so() {
        if Instant::now() > deadline {
            return false;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    true
}

/// In which the kernel counts what holds a connection, and a CPU where CONFIG_IRQ_TIME_ACCOUNTING is not set.
pub(crate) fn tick_ns() -> i128 {
    let mut tick = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the kernel writes this one alone, which lives during the call.
    let done = unsafe { libc::clock_getres(libc::CLOCK_MONOTONIC_COARSE, &raw mut tick) };
    assert_eq!(done, 0, "{}", std::io::Error::last_os_error());
    tick.tv_nsec.into()
}

fn prepare(name: &str, addresses: [&str; 2]) -> Link {
    let found = link::read(name).unwrap();
    link::set_silent(&found).unwrap();
    link::set_up(&found).unwrap();
    for address in usable(addresses) {
        let bits = if address.is_ipv4() { 24 } else { 64 };
        link::add_address(&found, address, bits).unwrap();
    }
    found
}

fn introduce(to: &Namespace, on: &Link, addresses: [&str; 2], neighbour: &Link) {
    let tell = || usable(addresses).try_for_each(|a| link::add_neighbour(on, a, neighbour.mac));
    to.run(tell).unwrap().unwrap();
}

/// Without those of IPv6 where the kernel runs without.
fn usable(addresses: [&str; 2]) -> impl Iterator<Item = IpAddr> {
    let count = 1 + usize::from(link::ipv6_available());
    addresses.into_iter().take(count).map(|a| a.parse().unwrap())
}

pub(crate) fn far_address(ipv6: bool) -> SocketAddr {
    SocketAddr::new(FAR[usize::from(ipv6)].parse().unwrap(), PORT)
}

/// Messages with the given numbers, not yet sent.
pub(crate) fn messages(flow: u32, sequence: impl Iterator<Item = u64>) -> Vec<Header> {
    sequence.map(|n| Header { flow, sequence: n, intended_ns: 1000 * n + 7, sent_ns: 0 }).collect()
}
