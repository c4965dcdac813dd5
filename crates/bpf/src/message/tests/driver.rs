//! In the drivers of a veth pair, with a socket at each end.

use std::net::SocketAddrV4;

use netfathom_sys::netns::Namespace;

use super::datagram::{bounced_2000, echoed_20, round_trip};
use super::*;
use crate::lab::{FAR, NEAR, Pair};
use crate::sink::XdpPass;

/// A veth pair, and two sockets that know each other.
pub(super) struct Conversation {
    pair: Pair,
    pub(super) near: UdpSocket,
    far: UdpSocket,
}

fn bound(at: &Namespace, address: &str) -> UdpSocket {
    let socket = at.run(|| UdpSocket::bind((address, 0))).unwrap().unwrap();
    socket.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
    socket
}

fn address(of: &UdpSocket) -> SocketAddrV4 {
    match of.local_addr().unwrap() {
        SocketAddr::V4(address) => address,
        SocketAddr::V6(_) => unreachable!("the sockets are bound to addresses of IPv4"),
    }
}

impl Conversation {
    pub(super) fn new() -> Self {
        let pair = Pair::new();
        let (near, far) = (bound(&pair.near, NEAR[0]), bound(&pair.far, FAR[0]));
        near.connect(address(&far)).unwrap();
        far.connect(address(&near)).unwrap();
        Self { pair, near, far }
    }

    pub(super) fn near_end(&self, work: Work) -> KernelEnd {
        let flow = Flow { here: address(&self.near), there: address(&self.far) };
        self.pair.near.run(|| KernelEnd::at_driver(work, flow, self.pair.near_link.index)).unwrap().unwrap()
    }

    pub(super) fn far_end(&self, work: Work) -> KernelEnd {
        let flow = Flow { here: address(&self.far), there: address(&self.near) };
        self.pair.far.run(|| KernelEnd::at_driver(work, flow, self.pair.far_link.index)).unwrap().unwrap()
    }

    /// Has the near device take frames of XDP.
    fn near_polls(&self) -> XdpPass {
        self.pair.near.run(|| XdpPass::attach(self.pair.near_link.index)).unwrap().unwrap()
    }
}

#[test]
fn an_echo_in_the_driver_sends_every_datagram_back_whole() {
    needs_root!();
    let talk = Conversation::new();
    let _polls = talk.near_polls();
    for length in [0_usize, 1, 2, 64, 1400, 1472] {
        let end = talk.far_end(ECHO);
        (0..20).for_each(|n| round_trip(&talk.near, &pattern(length, n)));
        echoed_20(&end.detach().unwrap(), length as u64);
    }
}

#[test]
fn a_sink_in_the_driver_takes_every_datagram_of_its_flow() {
    needs_root!();
    let talk = Conversation::new();
    let end = talk.far_end(Work::Sink);
    (0..1000).for_each(|n| assert_eq!(talk.near.send(&pattern(n, n)).unwrap(), n));
    assert!(await_that(|| end.messages() == 1000), "{:?}", end.report());
    let report = end.detach().unwrap();
    assert_eq!((report.calls, report.bytes, report.returned_bytes), (1000, 999 * 500, 0));
    adds_up(&report);
}

#[test]
fn what_is_not_of_its_flow_passes_an_end_in_the_driver() {
    needs_root!();
    let talk = Conversation::new();
    let Conversation { pair, near, far } = &talk;
    let (other_near, other_far) = (bound(&pair.near, NEAR[0]), bound(&pair.far, FAR[0]));
    far.connect(address(&other_near)).unwrap();
    let mut buffer = [0; 2048];
    for work in [Work::Sink, ECHO] {
        let end = talk.far_end(work);
        // From another port, to another port.
        other_near.send_to(b"other", address(far)).unwrap();
        assert_eq!(far.recv(&mut buffer).unwrap(), 5);
        other_near.send_to(b"others", address(&other_far)).unwrap();
        assert_eq!(other_far.recv(&mut buffer).unwrap(), 6);
        assert_eq!(end.report().calls, 0);
        // Its own.
        near.send(b"own").unwrap();
        assert!(await_that(|| end.messages() == 1));
        // In fragments, which none but the stack puts together.
        far.connect(address(near)).unwrap();
        near.send(&pattern(2000, 1)).unwrap();
        assert_eq!(far.recv(&mut buffer).unwrap(), 2000);
        assert_eq!(end.detach().unwrap().calls, 1);
        far.connect(address(&other_near)).unwrap();
    }
}

#[test]
fn a_datagram_bounces_between_drivers_until_its_last_message() {
    needs_root!();
    for length in [0_usize, 8, 1400] {
        let talk = Conversation::new();
        let near = talk.near_end(Work::Echo { until: Some(2000) });
        let far = talk.far_end(ECHO);
        talk.near.send(&pattern(length, 3)).unwrap();
        assert!(await_that(|| near.messages() == 2000), "{:?} {:?}", near.report(), far.report());
        thread::sleep(Duration::from_millis(20));
        let (near, far) = (near.detach().unwrap(), far.detach().unwrap());
        bounced_2000([&near, &far], length as u64);
    }
}

#[test]
fn a_bounce_between_drivers_is_stopped() {
    needs_root!();
    let talk = Conversation::new();
    let (near, far) = (talk.near_end(ECHO), talk.far_end(ECHO));
    talk.near.send(&[7; 8]).unwrap();
    comes_to_rest(&near, &far, 8);
}

#[test]
fn an_end_that_is_taken_away_ends_the_bounce_between_drivers() {
    needs_root!();
    for first in [0, 1] {
        let talk = Conversation::new();
        let mut ends = [Some(talk.near_end(ECHO)), Some(talk.far_end(ECHO))];
        talk.near.send(&[7; 8]).unwrap();
        assert!(await_that(|| ends[0].as_ref().unwrap().messages() > 100));
        drop(ends[first].take());
        // It passes to the socket, where the device can still take it.
        let left = ends[1 - first].as_ref().unwrap();
        thread::sleep(Duration::from_millis(20));
        let at_rest = left.messages();
        thread::sleep(Duration::from_millis(20));
        assert_eq!(left.messages(), at_rest);
    }
}

#[test]
fn a_driver_has_no_end_of_a_post() {
    let address = SocketAddrV4::new([127, 0, 0, 1].into(), 1);
    let flow = Flow { here: address, there: address };
    let refused = KernelEnd::at_driver(Work::Reply { bytes: bytes(4) }, flow, 1).err().unwrap();
    assert!(refused.to_string().contains("echoes and sinks only"), "{refused}");
}
