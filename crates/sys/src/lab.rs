//! Two hosts for the tests of this crate: two namespaces joined by a veth pair. The lab of
//! the measurements is in another crate, which this one may not know.

use std::net::{IpAddr, Ipv4Addr, UdpSocket};
use std::time::Duration;

use crate::link::{self, Link, VethEnd};
use crate::netns::Namespace;

/// The name of the device on either host.
pub const DEVICE: &str = "veth0";
const ADDRESS: [Ipv4Addr; 2] = [Ipv4Addr::new(198, 18, 0, 1), Ipv4Addr::new(198, 18, 0, 2)];

/// Two hosts: 0 and 1.
pub struct Lab {
    pub hosts: [Namespace; 2],
    pub links: [Link; 2],
}

impl Lab {
    /// Two hosts that know each other's hardware addresses and send nothing of their own.
    pub fn create() -> Self {
        let lab = Self::build(true);
        for end in 0..2 {
            let [own, far] = [&lab.links[end], &lab.links[1 - end]];
            let tell = || link::add_neighbour(own, Self::address(1 - end), far.mac).unwrap();
            lab.hosts[end].run(tell).unwrap();
        }
        lab
    }

    /// Two hosts that find each other by ARP.
    pub fn with_arp() -> Self {
        Self::build(false)
    }

    fn build(silent: bool) -> Self {
        let hosts = [Namespace::create().unwrap(), Namespace::create().unwrap()];
        let end = |index| VethEnd { name: DEVICE, index };
        hosts[0].run(|| link::create_veth(end(1001), end(1002), &hosts[1]).unwrap()).unwrap();
        let start = || {
            link::set_up(&link::read("lo").unwrap()).unwrap();
            let veth = link::read(DEVICE).unwrap();
            if silent {
                link::set_silent(&veth).unwrap();
            }
            link::set_up(&veth).unwrap();
        };
        hosts.iter().for_each(|host| host.run(start).unwrap());
        let links = [0, 1].map(|end| {
            let settle = || {
                let veth = link::await_running(DEVICE, Duration::from_secs(2)).unwrap();
                link::add_address(&veth, Self::address(end), 30).unwrap();
                veth
            };
            hosts[end].run(settle).unwrap()
        });
        Self { hosts, links }
    }

    pub fn address(end: usize) -> IpAddr {
        ADDRESS[end].into()
    }

    /// A socket on host 0 that is connected to one on host 1.
    pub fn pair(&self) -> (UdpSocket, UdpSocket) {
        let bind = |end: usize| move || UdpSocket::bind((Self::address(end), 0)).unwrap();
        let sender = self.hosts[0].run(bind(0)).unwrap();
        let reader = self.hosts[1].run(bind(1)).unwrap();
        sender.connect(reader.local_addr().unwrap()).unwrap();
        reader.set_read_timeout(Some(Duration::from_secs(2))).unwrap();
        (sender, reader)
    }
}
