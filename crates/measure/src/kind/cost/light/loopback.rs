//! A small message over TCP to another thread on the same processor and back.

use std::io;
use std::net::{Ipv4Addr, TcpListener, TcpStream};

use netfathom_sys::directory::Directory;

use super::thread_pair::round_trips;
use super::{Phase, Work};

const MESSAGE_BYTES: usize = 64;

pub const PHASE: Phase = Phase {
    name: "loopback",
    resource: "TCP round trips over 127.0.0.1 between two threads on one CPU",
    unit: "round trips",
    constant_ns: 0,
    prepare,
};

fn prepare(_place: &Directory) -> io::Result<Work> {
    let (near, far) = pair()?;
    round_trips::<MESSAGE_BYTES>("light-loopback", (near.try_clone()?, near), (far.try_clone()?, far))
}

/// Two ends of one connection that no other program uses.
fn pair() -> io::Result<(TcpStream, TcpStream)> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    let near = TcpStream::connect(listener.local_addr()?)?;
    let (far, from) = listener.accept()?;
    if from != near.local_addr()? {
        return Err(io::Error::other(format!("{from} connected instead of this program")));
    }
    near.set_nodelay(true)?;
    far.set_nodelay(true)?;
    Ok((near, far))
}
