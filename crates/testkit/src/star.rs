//! Many hosts at one switch, as programs of other people make them.

use std::net::{IpAddr, Ipv4Addr};
use std::process::{Child, Command};

use netfathom_sys::link::{self, VethEnd};
use netfathom_sys::netns::Namespace;

use crate::hosts::{DEVICE, host};

/// Hosts that reach each other through a bridge in a namespace of its own, where a server may stand too. They are gone
/// with this value.
pub struct Star {
    /// 10.78.0.254
    pub hub: Namespace,
    pub hosts: Vec<Namespace>,
}

impl Star {
    /// Makes as many as that, at most 250.
    ///
    /// # Panics
    /// Without root, or without iproute2; ask [`crate::privileged`] first.
    pub fn create(number: u8) -> Self {
        let hub = host();
        ip(&hub, "link add bridge0 type bridge");
        ip(&hub, "link set bridge0 up");
        ip(&hub, "addr add 10.78.0.254/24 dev bridge0");
        let hosts = (0..number).map(|place| {
            let (one, port) = (host(), format!("port{place}"));
            let near = VethEnd { name: DEVICE, index: 0 };
            let far = VethEnd { name: &port, index: 0 };
            one.run(|| link::create_veth(near, far, &hub).expect("a veth pair")).expect("a host");
            ip(&hub, &format!("link set {port} master bridge0 up"));
            ip(&one, &format!("link set {DEVICE} up"));
            ip(&one, &format!("addr add {}/24 dev {DEVICE}", Self::address(place)));
            one
        });
        let hosts = hosts.collect();
        Self { hub, hosts }
    }

    pub fn hub_address() -> IpAddr {
        Ipv4Addr::new(10, 78, 0, 254).into()
    }

    pub fn address(place: u8) -> IpAddr {
        Ipv4Addr::new(10, 78, 0, place + 1).into()
    }

    /// Starts a program on a host.
    ///
    /// # Panics
    /// If it cannot be started.
    pub fn spawn(on: &Namespace, command: &mut Command) -> Child {
        on.run(|| command.spawn()).expect("a host").expect("a program")
    }
}

/// iproute2 on a host, with arguments that hold no blanks.
///
/// # Panics
/// If it fails.
pub fn ip(on: &Namespace, args: &str) {
    let done = on.run(|| Command::new("ip").args(args.split_whitespace()).output()).expect("a host");
    let done = done.expect("iproute2");
    assert!(done.status.success(), "ip {args}: {}", String::from_utf8_lossy(&done.stderr));
}
