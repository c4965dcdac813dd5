//! Two hosts that netfathom's lab has nothing to do with: as another program, or a wire,
//! would have made them.

use std::net::{IpAddr, Ipv4Addr};
use std::time::Duration;

use netfathom_sys::link::{self, VethEnd};
use netfathom_sys::netns::Namespace;

/// The name of the device on either host.
pub const DEVICE: &str = "wire0";
const ADDRESSES: [Ipv4Addr; 2] = [Ipv4Addr::new(10, 77, 0, 1), Ipv4Addr::new(10, 77, 0, 2)];
const PREFIX_BITS: u8 = 24;
/// A machine that swaps may need more than the usual millisecond.
const IN_SERVICE: Duration = Duration::from_secs(2);

/// Two hosts, joined by a veth pair with all its offloads on, that find each other by ARP.
/// They are gone with this value.
pub struct TwoHosts {
    /// 10.77.0.1
    pub near: Namespace,
    /// 10.77.0.2
    pub far: Namespace,
}

impl TwoHosts {
    /// Makes them.
    ///
    /// # Panics
    /// Without root; ask [`crate::privileged`] first.
    #[must_use]
    pub fn create() -> Self {
        let hosts = [0, 1].map(|_| Namespace::create().expect("a namespace"));
        let end = |index| VethEnd { name: DEVICE, index };
        let make = || link::create_veth(end(0), end(0), &hosts[1]).expect("a veth pair");
        hosts[0].run(make).expect("the near host");
        let up = || {
            link::set_up(&link::read("lo").expect("lo")).expect("lo up");
            link::set_up(&link::read(DEVICE).expect("the device")).expect("the device up");
        };
        hosts.iter().for_each(|host| host.run(up).expect("a host"));
        for (host, address) in hosts.iter().zip(ADDRESSES) {
            let settle = || {
                let device = link::await_running(DEVICE, IN_SERVICE).expect("a device in service");
                link::add_address(&device, address.into(), PREFIX_BITS).expect("an address");
            };
            host.run(settle).expect("a host");
        }
        let [near, far] = hosts;
        Self { near, far }
    }

    /// The address of the far host.
    #[must_use]
    pub fn far_address(&self) -> IpAddr {
        ADDRESSES[1].into()
    }
}
