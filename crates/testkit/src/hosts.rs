//! Hosts that netfathom's lab has nothing to do with: as another program, or a wire,
//! would have made them.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::time::Duration;

use netfathom_sys::link::{self, VethEnd};
use netfathom_sys::netns::Namespace;

/// The name of the device on either host.
pub const DEVICE: &str = "wire0";
/// That of the second wire, which three hosts have.
const SECOND_DEVICE: &str = "wire1";
const PREFIX_BITS: u8 = 24;
const PREFIX_BITS_6: u8 = 64;
/// A machine that swaps may need more than the usual millisecond.
const IN_SERVICE: Duration = Duration::from_secs(2);

const fn addresses(wire: u8) -> [Ipv4Addr; 2] {
    [Ipv4Addr::new(10, 77, wire, 1), Ipv4Addr::new(10, 77, wire, 2)]
}

/// The same over IPv6.
const fn addresses_6(wire: u8) -> [Ipv6Addr; 2] {
    let network = 0x77 + wire as u16;
    [Ipv6Addr::new(0xfd00, network, 0, 0, 0, 0, 0, 1), Ipv6Addr::new(0xfd00, network, 0, 0, 0, 0, 0, 2)]
}

/// A host without a wire, with its loopback device up.
///
/// # Panics
/// Without root; ask [`crate::privileged`] first.
pub fn host() -> Namespace {
    let host = Namespace::create().expect("a namespace");
    host.run(|| link::set_up(&link::read("lo").expect("lo")).expect("lo up")).expect("a host");
    host
}

/// Joins two hosts by a veth pair with all its offloads on.
fn join(hosts: [&Namespace; 2], device: &str, wire: u8) {
    let end = VethEnd { name: device, index: 0 };
    hosts[0].run(|| link::create_veth(end, end, hosts[1]).expect("a veth pair")).expect("the near host");
    let up = || link::set_up(&link::read(device).expect("the device")).expect("the device up");
    hosts.iter().for_each(|host| host.run(up).expect("a host"));
    for (host, (address, six)) in hosts.iter().zip(addresses(wire).into_iter().zip(addresses_6(wire))) {
        let settle = || {
            let device = link::await_running(device, IN_SERVICE).expect("a device in service");
            link::add_address(&device, address.into(), PREFIX_BITS).expect("an address");
            if link::ipv6_available() {
                link::add_address(&device, six.into(), PREFIX_BITS_6).expect("an address of IPv6");
            }
        };
        host.run(settle).expect("a host");
    }
}

/// Two hosts, joined by a veth pair with all its offloads on, that find each other by ARP.
/// They are gone with this value.
pub struct TwoHosts {
    /// 10.77.0.1 and fd00:77::1
    pub near: Namespace,
    /// 10.77.0.2 and fd00:77::2
    pub far: Namespace,
}

impl TwoHosts {
    /// Makes them.
    ///
    /// # Panics
    /// Without root; ask [`crate::privileged`] first.
    pub fn create() -> Self {
        let (near, far) = (host(), host());
        join([&near, &far], DEVICE, 0);
        Self { near, far }
    }

    pub fn far_address(&self) -> IpAddr {
        addresses(0)[1].into()
    }
}

/// Three hosts in a row. None forwards packets: what is to go from the first to the last, a
/// program in the middle must pass on.
pub struct ThreeHosts {
    /// It has a wire to the middle alone.
    pub first: Namespace,
    /// 10.77.0.2 to the first, 10.77.1.1 to the last.
    pub middle: Namespace,
    /// It has a wire to the middle alone.
    pub last: Namespace,
}

impl ThreeHosts {
    /// Makes them.
    ///
    /// # Panics
    /// Without root; ask [`crate::privileged`] first.
    pub fn create() -> Self {
        let (first, middle, last) = (host(), host(), host());
        join([&first, &middle], DEVICE, 0);
        join([&middle, &last], SECOND_DEVICE, 1);
        Self { first, middle, last }
    }

    /// The address of the middle host, as the first sees it.
    pub fn middle_address(&self) -> IpAddr {
        addresses(0)[1].into()
    }

    /// The address of the last host, as the middle one sees it.
    pub fn last_address(&self) -> IpAddr {
        addresses(1)[1].into()
    }
}
