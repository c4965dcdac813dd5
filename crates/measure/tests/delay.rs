//! A delay that was put on the path of a lab is found there: the send call of a veth pair
//! runs the whole way out, so it takes the delay; a message is that much later in.

use std::net::{SocketAddr, UdpSocket};
use std::time::{Duration, Instant};

use netfathom_bpf::delay::Delay;
use netfathom_measure::ground::lab::{Lab, Role};
use netfathom_model::message::{HEADER_BYTES, Header};
use netfathom_model::path::Direction;
use netfathom_model::plan::Family;
use netfathom_sys::netns::Namespace;
use netfathom_testkit::needs_root;

const DELAY_NS: u32 = 200_000;
const DELAY: Duration = Duration::from_nanos(DELAY_NS as u64);
const MESSAGES: usize = 200;

struct Pair {
    sender: UdpSocket,
    reader: UdpSocket,
}

impl Pair {
    fn new(lab: &Lab, family: Family) -> Self {
        let bind = |namespace: &Namespace, address| {
            namespace.run(|| UdpSocket::bind(SocketAddr::new(address, 0))).unwrap().unwrap()
        };
        let sender = bind(&lab.sender, lab.sender_addr(family));
        let reader = bind(&lab.reader, lab.reader_addr(family));
        sender.connect(reader.local_addr().unwrap()).unwrap();
        reader.set_read_timeout(Some(Duration::from_secs(2))).unwrap();
        Self { sender, reader }
    }

    /// Medians of the send call and of the time until the message was read.
    fn medians(&self) -> [Duration; 2] {
        let mut payload = [0; HEADER_BYTES];
        Header { flow: 1, sequence: 0, intended_ns: 0, sent_ns: 0 }.write(&mut payload);
        let mut times = [Vec::new(), Vec::new()];
        for _ in 0..MESSAGES {
            let start = Instant::now();
            self.sender.send(&payload).unwrap();
            times[0].push(start.elapsed());
            self.reader.recv(&mut [0; 64]).expect("the message within two seconds");
            times[1].push(start.elapsed());
        }
        times.map(|mut t| {
            t.sort();
            t[MESSAGES / 2]
        })
    }
}

/// The spin guarantees the delay itself; the rest has room for a busy machine.
fn assert_delayed(without: Duration, with: Duration) {
    assert!(with >= DELAY, "{with:?}");
    let difference = with - without;
    assert!((DELAY / 2..DELAY * 3).contains(&difference), "{without:?} became {with:?}");
}

#[test]
fn a_delay_shows_where_it_was_put() {
    needs_root!();
    let lab = Lab::create().unwrap();
    for family in [Family::Ipv4, Family::Ipv6].into_iter().filter(|f| lab.supports(*f)) {
        let pair = Pair::new(&lab, family);
        let without = pair.medians();
        for (direction, role) in [(Direction::Tx, Role::Sender), (Direction::Rx, Role::Reader)] {
            let (namespace, index) = match role {
                Role::Sender => (&lab.sender, lab.link(role).index),
                Role::Reader => (&lab.reader, lab.link(role).index),
            };
            let delay = namespace.run(|| Delay::attach(index, direction, DELAY_NS)).unwrap().unwrap();
            let with = pair.medians();
            assert_delayed(without[1], with[1]);
            if direction == Direction::Tx {
                assert_delayed(without[0], with[0]);
            }
            assert_eq!(delay.delayed(), MESSAGES as u64);
        }
    }
}
