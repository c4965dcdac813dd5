//! The lab does what it promises: traffic at once, silence otherwise, nothing left behind.
//!
//! Whether a namespace is gone is asked of the kernel by a canary: a veth pair between the
//! lab's namespace and one of the test's own. It vanishes from the test's namespace when,
//! and only when, the kernel removes the lab's.

mod wire;

use std::collections::BTreeSet;
use std::net::{SocketAddr, UdpSocket};
use std::thread;
use std::time::{Duration, Instant};

use netfathom_measure::ground::lab::{Lab, Role};
use netfathom_model::plan::Family;
use netfathom_sys::counters::{self, Counters, DeviceCounters};
use netfathom_sys::link::{self, VethEnd};
use netfathom_sys::netns::Namespace;
use netfathom_testkit::needs_root;

const CANARIES: [&str; 2] = ["canary0", "canary1"];
/// The kernel removes namespaces asynchronously.
const REMOVAL: Duration = Duration::from_secs(2);

fn families(lab: &Lab) -> impl Iterator<Item = Family> + '_ {
    [Family::Ipv4, Family::Ipv6].into_iter().filter(|f| lab.supports(*f))
}

/// One datagram each way; panics when one is lost.
fn exchange(lab: &Lab, family: Family, word: &[u8]) {
    let socket = |namespace: &Namespace, address| {
        let socket = namespace.run(|| UdpSocket::bind(SocketAddr::new(address, 0))).unwrap().unwrap();
        socket.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        socket
    };
    let sender = socket(&lab.sender, lab.sender_addr(family));
    let reader = socket(&lab.reader, lab.reader_addr(family));
    let mut heard = [0; 16];
    for (from, to) in [(&sender, &reader), (&reader, &sender)] {
        from.send_to(word, to.local_addr().unwrap()).unwrap();
        let (count, origin) = to.recv_from(&mut heard).expect("a datagram");
        assert_eq!((&heard[..count], origin), (word, from.local_addr().unwrap()));
    }
}

#[test]
fn labs_made_at_once_have_the_same_addresses_and_carry_their_own_traffic() {
    needs_root!();
    let labs: Vec<Lab> = thread::scope(|scope| {
        let made = [(); 8].map(|()| scope.spawn(|| Lab::create().unwrap()));
        made.into_iter().map(|lab| lab.join().unwrap()).collect()
    });
    assert!(labs.iter().all(|lab| lab.sender_addr(Family::Ipv4) == labs[0].sender_addr(Family::Ipv4)));
    let namespaces: BTreeSet<u64> =
        labs.iter().flat_map(|lab| [lab.sender.inode(), lab.reader.inode()]).collect();
    assert_eq!(namespaces.len(), 16);
    thread::scope(|scope| {
        for (lab, number) in labs.iter().zip(0_u8..) {
            scope.spawn(move || families(lab).for_each(|family| exchange(lab, family, &[number])));
        }
    });
}

#[test]
fn devices_are_described() {
    needs_root!();
    let lab = Lab::create().unwrap();
    for (role, name) in [(Role::Sender, "sender"), (Role::Reader, "reader")] {
        let device = lab.device(role);
        assert_eq!((device.role.as_str(), device.name.as_str(), device.mtu), (name, "veth0", 1500));
        assert_eq!(device.qdisc, "noqueue");
        assert!(lab.link(role).running);
    }
    assert_ne!(lab.link(Role::Sender).index, lab.link(Role::Reader).index);
    assert_ne!(lab.link(Role::Sender).mac, lab.link(Role::Reader).mac);
}

/// Listener reports and solicitations would come within two seconds, and would move the
/// counters that a trial is checked against.
#[test]
fn a_lab_at_rest_is_silent() {
    needs_root!();
    let lab = Lab::create().unwrap();
    thread::sleep(Duration::from_millis(2500));
    for namespace in [&lab.sender, &lab.reader] {
        assert_eq!(counted(namespace).devices["veth0"], DeviceCounters::default());
    }
}

/// No address resolution, no chatter: the kernel counts the datagrams of the test alone.
#[test]
fn counters_move_by_the_traffic_alone() {
    needs_root!();
    let lab = Lab::create().unwrap();
    let before = counted(&lab.reader);
    let count = families(&lab).inspect(|family| exchange(&lab, *family, b"word")).count() as u64;
    let gained = counted(&lab.reader).since(&before).unwrap();
    let device = gained.devices["veth0"];
    assert_eq!((device.rx_packets, device.tx_packets), (count, count));
    assert_eq!((device.rx_dropped, device.tx_dropped), (0, 0));
    let udp = [Some(gained.udp4), gained.udp6];
    assert!(udp.into_iter().flatten().all(|u| (u.in_datagrams, u.out_datagrams, u.in_errors) == (1, 1, 0)));
}

/// A trial must be able to name the loss of a socket without a reader.
#[test]
fn a_full_socket_is_counted() {
    needs_root!();
    let lab = Lab::create().unwrap();
    let bind = |namespace: &Namespace, address| {
        namespace.run(|| UdpSocket::bind(SocketAddr::new(address, 0))).unwrap().unwrap()
    };
    let reader = bind(&lab.reader, lab.reader_addr(Family::Ipv4));
    let sender = bind(&lab.sender, lab.sender_addr(Family::Ipv4));
    let before = counted(&lab.reader);
    for _ in 0..20_000 {
        sender.send_to(&[0; 1000], reader.local_addr().unwrap()).unwrap();
    }
    reader.set_nonblocking(true).unwrap();
    // veth hands over to a queue of the peer, which a kernel worker may still be draining.
    thread::sleep(Duration::from_millis(200));
    let read = std::iter::from_fn(|| reader.recv(&mut [0; 1000]).ok()).count() as u64;
    let gained = counted(&lab.reader).since(&before).unwrap();
    assert!(read > 0 && gained.udp4.rcvbuf_errors > 0, "{gained:?}");
    assert_eq!(gained.udp4.in_datagrams, read);
    assert_eq!(gained.udp4.in_errors, gained.udp4.rcvbuf_errors);
    // Drops of the backlog are those of the whole machine, so they only bound the rest.
    let accounted = read + gained.udp4.rcvbuf_errors;
    assert!(accounted <= 20_000 && accounted + gained.backlog_dropped >= 20_000, "{gained:?}");
}

fn counted(namespace: &Namespace) -> Counters {
    namespace.run(counters::read).unwrap().unwrap()
}

/// A namespace that has a canary in each of a lab's.
fn canaries(lab: &Lab) -> Namespace {
    let witness = Namespace::create().unwrap();
    for (name, host) in CANARIES.into_iter().zip([&lab.sender, &lab.reader]) {
        let (near, far) = (VethEnd { name, index: 0 }, VethEnd { name: "canary", index: 0 });
        witness.run(|| link::create_veth(near, far, host)).unwrap().unwrap();
    }
    assert_eq!(living(&witness), CANARIES);
    witness
}

fn living(witness: &Namespace) -> Vec<&'static str> {
    let lives = |name: &&str| link::read(name).is_ok();
    witness.run(|| CANARIES.into_iter().filter(lives).collect()).unwrap()
}

fn assert_gone(witness: &Namespace) {
    let deadline = Instant::now() + REMOVAL;
    while !living(witness).is_empty() {
        assert!(Instant::now() < deadline, "after {REMOVAL:?} the lab still has {:?}", living(witness));
        thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn nothing_is_left_of_a_dropped_lab() {
    needs_root!();
    let lab = Lab::create().unwrap();
    let witness = canaries(&lab);
    drop(lab);
    assert_gone(&witness);
}
