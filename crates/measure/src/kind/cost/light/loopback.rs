//! A small message over TCP to another thread on the same processor and back.

use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::thread::{self, JoinHandle};

use netfathom_sys::directory::Directory;

use super::thread_pair::Together;
use super::{Phase, PhaseWork};

const MESSAGE_BYTES: usize = 64;

pub const PHASE: Phase = Phase {
    name: "loopback",
    resource: "TCP round trips over 127.0.0.1 between two threads on one CPU",
    unit: "round trips",
    constant_ns: 0,
    prepare,
};

struct Loopback {
    near: TcpStream,
    far: Option<JoinHandle<()>>,
    together: Together,
}

fn prepare(_place: &Directory) -> io::Result<Box<dyn PhaseWork>> {
    let (near, mut far) = pair()?;
    let together = Together::new()?;
    let join = together.join();
    let echo = move || {
        join();
        let mut message = [0; MESSAGE_BYTES];
        // Until the other end is closed.
        while far.read_exact(&mut message).and_then(|()| far.write_all(&message)).is_ok() {}
    };
    let far = thread::Builder::new().name("light-loopback".into()).spawn(echo)?;
    Ok(Box::new(Loopback { near, far: Some(far), together }))
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

impl PhaseWork for Loopback {
    fn run(&mut self, size: u64) -> io::Result<()> {
        let mut message = [7; MESSAGE_BYTES];
        let near = &mut self.near;
        let mut round_trip = || near.write_all(&message).and_then(|()| near.read_exact(&mut message));
        self.together.run(|| (0..size).try_for_each(|_| round_trip()))
    }
}

impl Drop for Loopback {
    fn drop(&mut self) {
        let _ = self.near.shutdown(std::net::Shutdown::Both);
        // It holds nothing but its end.
        let _ = self.far.take().map(JoinHandle::join);
    }
}
