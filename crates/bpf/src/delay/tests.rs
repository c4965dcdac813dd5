//! Over the loopback device of a namespace of their own, where every message goes out and
//! in. How long is asserted as a lower bound only: the spin itself guarantees that.

use std::net::UdpSocket;
use std::time::{Duration, Instant};

use netfathom_model::message::{HEADER_BYTES, Header};
use netfathom_sys::link;
use netfathom_testkit::{host, needs_root};

use super::*;

const DELAY_NS: u32 = 300_000;
const DELAY: Duration = Duration::from_nanos(DELAY_NS as u64);
const LO: u32 = 1;

/// A socket that sends to itself, and the shortest of some of its send calls.
struct Echo(UdpSocket);

impl Echo {
    fn new(address: &str) -> Self {
        let socket = UdpSocket::bind(address).unwrap();
        socket.connect(socket.local_addr().unwrap()).unwrap();
        Self(socket)
    }

    fn shortest(&self, payload: &[u8]) -> Duration {
        let send = || {
            let start = Instant::now();
            self.0.send(payload).unwrap();
            start.elapsed()
        };
        (0..20).map(|_| send()).min().unwrap()
    }
}

fn message() -> [u8; HEADER_BYTES] {
    let mut payload = [0; HEADER_BYTES];
    Header { flow: 1, sequence: 2, intended_ns: 3, sent_ns: 4 }.write(&mut payload);
    payload
}

fn apart<T: Send>(work: impl FnOnce() -> T + Send) -> T {
    host().run(work).unwrap()
}

fn delays_ours_alone(address: &str, delay: impl FnOnce() -> Delay) {
    let echo = Echo::new(address);
    let before = echo.shortest(&message());
    let delay = delay();
    // On the loopback device the way in runs inside the send call too.
    assert!(echo.shortest(&message()) >= DELAY);
    assert!(echo.shortest(&[7; 64]) < DELAY, "a foreign packet was delayed");
    assert!(echo.shortest(&message()[..3]) < DELAY, "a short packet was delayed");
    assert_eq!(delay.delayed(), 20);
    drop(delay);
    let after = echo.shortest(&message());
    assert!(before < DELAY && after < DELAY, "{before:?} before, {after:?} after");
}

#[test]
fn our_messages_alone_are_delayed_until_it_is_dropped() {
    needs_root!();
    for direction in [Direction::Tx, Direction::Rx] {
        let addresses = ["127.0.0.1:0", "[::1]:0"];
        for address in &addresses[..1 + usize::from(link::ipv6_available())] {
            apart(|| delays_ours_alone(address, || Delay::attach(LO, direction, DELAY_NS).unwrap()));
        }
    }
}

#[test]
fn the_way_of_older_kernels_does_the_same() {
    needs_root!();
    for direction in [Direction::Tx, Direction::Rx] {
        let attach = || {
            let object = load(direction, DELAY_NS).unwrap();
            Delay::attach_to_device(object, LO, direction, DELAY_NS).unwrap()
        };
        apart(|| delays_ours_alone("127.0.0.1:0", attach));
    }
}

#[test]
fn what_cannot_be_is_refused() {
    assert!(matches!(Delay::attach(LO, Direction::Tx, MOST_NS + 1), Err(DelayError::TooLong(_))));
    needs_root!();
    let error = Delay::attach(4_000_000, Direction::Tx, DELAY_NS).err().unwrap().to_string();
    assert!(error.contains("attach") && error.contains("device"), "{error}");
}
