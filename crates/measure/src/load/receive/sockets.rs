//! From a socket: a call a datagram, a call for all that are there, or joined by the kernel.

use std::io;
use std::net::UdpSocket;

use netfathom_model::plan::Spin;
use netfathom_sys::clock::monotonic_ns;
use netfathom_sys::socket::{ReceiveBatch, Wait, drops, enable_gro, receive_coalesced};

use super::{Datagram, PATIENCE, Source};

/// Larger than any datagram.
const BUFFER_BYTES: usize = 65_536;
/// Datagrams a call, and room for each: more than any plan may send.
const BATCH: usize = 64;
const BATCH_BYTES: usize = 16_384;

/// How long a receiver asks again before it sleeps: waking it is the sender's work on one
/// machine, and takes a fifth of its rate.
const SPIN_NS: u64 = 50_000;

/// Asks without waiting for a while, if it may, and then waits.
pub(super) fn spun<T: Default + PartialEq>(
    spin: Spin,
    mut ask: impl FnMut(Wait) -> io::Result<T>,
) -> io::Result<T> {
    if spin == Spin::Auto {
        let until_ns = monotonic_ns() + SPIN_NS;
        loop {
            let got = received(ask(Wait::No))?;
            if got != T::default() {
                return Ok(got);
            }
            if monotonic_ns() > until_ns {
                break;
            }
        }
    }
    received(ask(Wait::ForOne))
}

/// That nothing came in time, or that a signal came, is no failure.
pub(super) fn received<T: Default>(outcome: io::Result<T>) -> io::Result<T> {
    match outcome {
        Err(e) if matches!(e.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted) => {
            Ok(T::default())
        }
        outcome => outcome,
    }
}

/// recv(2): a call a datagram.
pub struct Recv {
    socket: UdpSocket,
    buffer: Vec<u8>,
}

impl Recv {
    pub fn new(socket: UdpSocket) -> io::Result<Self> {
        socket.set_read_timeout(Some(PATIENCE))?;
        Ok(Self { socket, buffer: vec![0; BUFFER_BYTES] })
    }
}

impl Source for Recv {
    fn receive(&mut self, each: &mut dyn FnMut(Datagram<'_>)) -> io::Result<usize> {
        let got = received(self.socket.recv_from(&mut self.buffer).map(Some))?;
        let Some((bytes, from)) = got else { return Ok(0) };
        each(Datagram { payload: &self.buffer[..bytes], cut: false, from: Some(from) });
        Ok(1)
    }

    fn dropped(&self) -> io::Result<u64> {
        drops(&self.socket).map(Into::into)
    }
}

/// recvmmsg(2): a call for all that are there.
pub struct Recvmmsg {
    socket: UdpSocket,
    spin: Spin,
    batch: ReceiveBatch,
}

impl Recvmmsg {
    pub fn new(socket: UdpSocket, spin: Spin) -> io::Result<Self> {
        socket.set_read_timeout(Some(PATIENCE))?;
        Ok(Self { socket, spin, batch: ReceiveBatch::new(BATCH, BATCH_BYTES) })
    }
}

impl Source for Recvmmsg {
    fn receive(&mut self, each: &mut dyn FnMut(Datagram<'_>)) -> io::Result<usize> {
        let count = spun(self.spin, |wait| self.batch.receive(&self.socket, wait))?;
        for d in self.batch.datagrams() {
            each(Datagram { payload: d.payload, cut: d.truncated, from: d.from });
        }
        Ok(count)
    }

    fn dropped(&self) -> io::Result<u64> {
        drops(&self.socket).map(Into::into)
    }
}

/// UDP_GRO: what the kernel has joined, in one buffer.
pub struct Gro {
    socket: UdpSocket,
    spin: Spin,
    buffer: Vec<u8>,
}

impl Gro {
    /// Reads a bound socket, which from then on gives joined buffers.
    pub fn new(socket: UdpSocket, spin: Spin) -> io::Result<Self> {
        socket.set_read_timeout(Some(PATIENCE))?;
        enable_gro(&socket)?;
        Ok(Self { socket, spin, buffer: vec![0; BUFFER_BYTES] })
    }
}

impl Source for Gro {
    fn receive(&mut self, each: &mut dyn FnMut(Datagram<'_>)) -> io::Result<usize> {
        let ask = |wait| receive_coalesced(&self.socket, &mut self.buffer, wait).map(Some);
        let got = spun(self.spin, ask)?;
        let Some(joined) = got else { return Ok(0) };
        let mut count = 0;
        for payload in joined.messages(&self.buffer) {
            count += 1;
            let last = count * joined.segment_bytes.max(1) >= joined.bytes;
            each(Datagram { payload, cut: joined.truncated && last, from: None });
        }
        // An empty datagram is one all the same, and no sign that there are no more.
        if count == 0 {
            each(Datagram { payload: &[], cut: false, from: None });
        }
        Ok(count.max(1))
    }

    fn dropped(&self) -> io::Result<u64> {
        drops(&self.socket).map(Into::into)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_receiver_looks_again_before_it_sleeps_unless_it_must_not() {
        let asked = |spin, there: usize| {
            let mut all = Vec::new();
            let got = spun(spin, |wait| {
                all.push(wait);
                Ok(there)
            });
            assert_eq!(got.unwrap(), there);
            all
        };
        assert_eq!(asked(Spin::Never, 7), [Wait::ForOne]);
        assert_eq!(asked(Spin::Auto, 7), [Wait::No]);
        let in_vain = asked(Spin::Auto, 0);
        assert_eq!((in_vain.first(), in_vain.last()), (Some(&Wait::No), Some(&Wait::ForOne)));
    }
}
