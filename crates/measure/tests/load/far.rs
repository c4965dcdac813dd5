//! The far host of a load: a bound socket without a reader, and for frames that are put straight into
//! the driver's queue, a program that lets them in.

use std::net::{SocketAddr, UdpSocket};

use netfathom_bpf::sink::XdpPass;
use netfathom_model::engine::Engine;
use netfathom_sys::link;
use netfathom_testkit::{DEVICE, TwoHosts};

/// What the far host needs to take messages in.
pub struct Far {
    pub address: SocketAddr,
    _socket: UdpSocket,
    _pass: Option<XdpPass>,
}

impl Far {
    /// Of an engine's messages. The near host knows the way there afterwards.
    pub fn open(hosts: &TwoHosts, engine: Engine) -> Self {
        let address = SocketAddr::new(hosts.far_address(), 9000);
        let socket = hosts.far.run(|| UdpSocket::bind(address).unwrap()).unwrap();
        let attach = || XdpPass::attach(link::read(DEVICE).unwrap().index).unwrap();
        let pass = (engine == Engine::Xdp).then(|| hosts.far.run(attach).unwrap());
        let greet = || {
            let near = UdpSocket::bind("0.0.0.0:0").unwrap();
            near.send_to(b"where are you?", address).unwrap();
        };
        hosts.near.run(greet).unwrap();
        std::thread::sleep(std::time::Duration::from_millis(100));
        Self { address, _socket: socket, _pass: pass }
    }
}
