//! From a socket: a call a datagram, a call for all that are there, or joined by the kernel.

use std::io;
use std::net::UdpSocket;

use netfathom_model::engine::Receive;
use netfathom_model::plan::Spin;
use netfathom_sys::clock::monotonic_ns;
use netfathom_sys::socket::{
    Coalesced, ReceiveBatch, ReceivedDatagram, Wait, drops, enable_gro, receive_coalesced,
};

use super::{PATIENCE, Source};

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

/// A bound socket.
pub struct Socket {
    socket: UdpSocket,
    spin: Spin,
    way: ReceiveCall,
}

enum ReceiveCall {
    /// recv(2): a call a datagram.
    Recv(Vec<u8>),
    /// recvmmsg(2): a call for all that are there.
    Recvmmsg(ReceiveBatch),
    /// UDP_GRO: what the kernel has joined, in one buffer.
    Gro(Vec<u8>),
}

impl Socket {
    /// Takes what comes to a socket; where a program in the driver takes messages, what it leaves. With [`Receive::Gro`]
    /// the socket gives joined buffers from then on.
    pub fn new(socket: UdpSocket, receive: Receive, spin: Spin) -> io::Result<Self> {
        socket.set_read_timeout(Some(PATIENCE))?;
        let way = match receive {
            Receive::Recv => ReceiveCall::Recv(vec![0; BUFFER_BYTES]),
            Receive::Gro => {
                enable_gro(&socket)?;
                ReceiveCall::Gro(vec![0; BUFFER_BYTES])
            }
            Receive::Recvmmsg | Receive::AfXdp | Receive::Xdp => {
                ReceiveCall::Recvmmsg(ReceiveBatch::new(BATCH, BATCH_BYTES))
            }
        };
        Ok(Self { socket, spin, way })
    }
}

impl Source for Socket {
    fn receive(&mut self, each: &mut dyn FnMut(ReceivedDatagram<'_>)) -> io::Result<usize> {
        let Self { socket, spin, way } = self;
        match way {
            ReceiveCall::Recv(buffer) => {
                let got = received(socket.recv_from(buffer).map(Some))?;
                let Some((bytes, from)) = got else { return Ok(0) };
                each(ReceivedDatagram { payload: &buffer[..bytes], truncated: false, from: Some(from) });
                Ok(1)
            }
            ReceiveCall::Recvmmsg(batch) => {
                let count = spun(*spin, |wait| batch.receive(socket, wait))?;
                batch.datagrams().for_each(each);
                Ok(count)
            }
            ReceiveCall::Gro(buffer) => {
                let joined = spun(*spin, |wait| receive_coalesced(socket, buffer, wait).map(Some))?;
                Ok(joined.map_or(0, |joined| split(joined, buffer, each)))
            }
        }
    }

    fn dropped(&self) -> io::Result<u64> {
        drops(&self.socket).map(Into::into)
    }
}

/// Hands over what the kernel has joined; how many datagrams that was.
fn split(joined: Coalesced, buffer: &[u8], each: &mut dyn FnMut(ReceivedDatagram<'_>)) -> usize {
    let mut count = 0;
    for payload in joined.messages(buffer) {
        count += 1;
        let last = count * joined.segment_bytes.max(1) >= joined.bytes;
        each(ReceivedDatagram { payload, truncated: joined.truncated && last, from: None });
    }
    // An empty datagram is one all the same, and no sign that there are no more.
    if count == 0 {
        each(ReceivedDatagram { payload: &[], truncated: false, from: None });
    }
    count.max(1)
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
