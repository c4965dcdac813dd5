//! A lab over a path with known properties has just these, and leaves nothing behind.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::thread;
use std::time::{Duration, Instant};

use netfathom_measure::ground::lab::wire::WireCounts;
use netfathom_measure::ground::lab::{Lab, Role};
use netfathom_model::plan::{Family, Wire};
use netfathom_sys::counters::{self, DeviceCounters};
use netfathom_sys::link;
use netfathom_sys::netns::Namespace;
use netfathom_sys::socket::{set_receive_buffer, set_segment_size};
use netfathom_testkit::needs_root;

use super::{assert_gone, canaries, families};

/// Longer than any packet of these tests is under way.
const PATIENCE: Duration = Duration::from_secs(2);
/// Of IPv4, TCP and its time stamps.
const TCP_HEADERS: f64 = 52.0;
const MTU: f64 = 1500.0;

fn lab(wire: Wire) -> Lab {
    Lab::over(&wire.validated().unwrap(), 1).unwrap()
}

/// A socket of the sender that is connected to one of the reader, and that one.
fn sockets(lab: &Lab, family: Family) -> (UdpSocket, UdpSocket) {
    let bind = |host: &Namespace, address| {
        host.run(|| UdpSocket::bind(SocketAddr::new(address, 0))).unwrap().unwrap()
    };
    let near = bind(&lab.sender, lab.sender_addr(family));
    let far = bind(&lab.reader, lab.reader_addr(family));
    near.connect(far.local_addr().unwrap()).unwrap();
    far.connect(near.local_addr().unwrap()).unwrap();
    near.set_read_timeout(Some(PATIENCE)).unwrap();
    far.set_read_timeout(Some(PATIENCE)).unwrap();
    set_receive_buffer(&far, 8 << 20).unwrap();
    (near, far)
}

/// How long `count` messages took to the reader and back, from short to long.
fn round_trips(lab: &Lab, family: Family, count: usize) -> Vec<Duration> {
    let (near, far) = sockets(lab, family);
    let mut took = thread::scope(|scope| {
        scope.spawn(|| {
            for _ in 0..count {
                let length = far.recv(&mut [0; 64]).unwrap();
                far.send(&[0; 64][..length]).unwrap();
            }
        });
        let trip = |_| {
            let start = Instant::now();
            near.send(&[0; 64]).unwrap();
            near.recv(&mut [0; 64]).unwrap();
            start.elapsed()
        };
        (0..count).map(trip).collect::<Vec<_>>()
    });
    took.sort();
    took
}

#[test]
fn a_round_trip_takes_two_delays() {
    needs_root!();
    let delay = Duration::from_millis(5);
    let lab = lab(Wire::long(delay.as_nanos() as u64));
    for family in families(&lab) {
        let took = round_trips(&lab, family, 50);
        assert!(took[0] >= 2 * delay, "{family:?}: {took:?}");
        assert!(took[25] < 4 * delay, "{family:?}: {took:?}");
    }
    // Without a delay it takes much less.
    let short = round_trips(&self::lab(Wire::long(0)), Family::Ipv4, 200)[100];
    assert!(short < delay, "{short:?}");
}

/// Sends numbered datagrams there, a few at a time; the numbers that arrive.
fn numbers(lab: &Lab, count: u32) -> Vec<u32> {
    let (near, far) = sockets(lab, Family::Ipv4);
    thread::scope(|scope| {
        let reader = scope.spawn(|| {
            let mut seen = Vec::new();
            let mut word = [0; 1000];
            while far.recv(&mut word).is_ok() {
                let number = u32::from_be_bytes([word[0], word[1], word[2], word[3]]);
                if number == u32::MAX {
                    break;
                }
                seen.push(number);
            }
            seen
        });
        for number in 0..count {
            let mut word = [0; 1000];
            word[..4].copy_from_slice(&number.to_be_bytes());
            near.send(&word).unwrap();
            if number % 32 == 31 {
                thread::sleep(Duration::from_millis(1));
            }
        }
        // Marks of the end; one of them arrives.
        for _ in 0..20 {
            near.send(&u32::MAX.to_be_bytes()).unwrap();
        }
        reader.join().unwrap()
    })
}

#[test]
fn as_many_are_lost_as_chance_has_it_and_a_seed_repeats_it() {
    needs_root!();
    const COUNT: u32 = 5000;
    let wire = || Wire { loss_per_million: 100_000, ..Wire::long(1_000_000) };
    let first = lab(wire());
    let seen = numbers(&first, COUNT);
    // Mean 500, standard deviation 21: six of them.
    let lost = COUNT as usize - seen.len();
    assert!((373..=627).contains(&lost), "{lost}");
    let counts = first.wire_counts(Role::Sender).unwrap();
    assert!(counts.lost as usize >= lost && counts.lost as usize <= lost + 20, "{counts:?}");
    assert_eq!((counts.dropped, counts.refused), (0, 0));
    assert_eq!(numbers(&lab(wire()), COUNT), seen);
    let other = Lab::over(&wire(), 2).unwrap();
    assert_ne!(numbers(&other, COUNT), seen);
}

#[test]
fn packets_do_not_pass_each_other() {
    needs_root!();
    let slow = Wire { rate_bits_per_s: Some(400_000_000), queue_bytes: 16 << 20, ..Wire::long(3_000_000) };
    for wire in [Wire::long(0), Wire::long(3_000_000), slow] {
        let lab = lab(wire.clone());
        assert!(numbers(&lab, 4000).into_iter().eq(0..4000), "{wire:?}");
        let counts = lab.wire_counts(Role::Sender).unwrap();
        assert_eq!((counts.lost, counts.dropped, counts.refused), (0, 0, 0));
    }
}

/// Sends `bytes` bytes there over TCP, checks them, and returns how many a second arrived, from before
/// the connection until the last.
fn tcp_bytes_per_s(lab: &Lab, family: Family, bytes: usize) -> f64 {
    let to = SocketAddr::new(lab.reader_addr(family), 0);
    let listener = lab.reader.run(|| TcpListener::bind(to)).unwrap().unwrap();
    let to = listener.local_addr().unwrap();
    // No power of two, so that pieces that change places are seen.
    let pattern: Vec<u8> = (0..99_991_u32).map(|n| (n.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
    let start = Instant::now();
    thread::scope(|scope| {
        scope.spawn(|| {
            let mut stream = lab.sender.run(|| TcpStream::connect(to)).unwrap().unwrap();
            let mut left = bytes;
            while left > 0 {
                let piece = &pattern[..left.min(pattern.len())];
                stream.write_all(piece).unwrap();
                left -= piece.len();
            }
        });
        let (mut stream, _) = listener.accept().unwrap();
        let (mut got, mut buffer) = (0, vec![0; 256 << 10]);
        loop {
            let count = stream.read(&mut buffer).unwrap();
            if count == 0 {
                break;
            }
            check(&buffer[..count], &pattern, got);
            got += count;
        }
        assert_eq!(got, bytes);
    });
    bytes as f64 / start.elapsed().as_secs_f64()
}

fn check(mut bytes: &[u8], pattern: &[u8], mut at: usize) {
    while !bytes.is_empty() {
        let expected = &pattern[at % pattern.len()..];
        let length = expected.len().min(bytes.len());
        assert!(bytes[..length] == expected[..length], "other bytes near {at}");
        bytes = &bytes[length..];
        at += length;
    }
}

#[test]
fn the_rate_is_what_tcp_gets() {
    needs_root!();
    let rate = 50_000_000;
    let lab = lab(Wire { rate_bits_per_s: Some(rate), ..Wire::long(5_000_000) });
    let payload = tcp_bytes_per_s(&lab, Family::Ipv4, 10 << 20);
    // In bits on the wire, as if all packets were full.
    let on_wire = payload * 8.0 * MTU / (MTU - TCP_HEADERS);
    let share = on_wire / rate as f64;
    assert!((0.85..=1.0).contains(&share), "{share}");
}

#[test]
fn a_full_queue_drops_what_is_beyond() {
    needs_root!();
    // 100 datagrams of 1028 bytes at once, with room for 10.
    let lab = lab(Wire { rate_bits_per_s: Some(1_000_000), queue_bytes: 10 * 1028, ..Wire::long(0) });
    let (near, far) = sockets(&lab, Family::Ipv4);
    for _ in 0..100 {
        near.send(&[0; 1000]).unwrap();
    }
    let came = std::iter::from_fn(|| far.recv(&mut [0; 1000]).ok()).count() as u64;
    let counts = lab.wire_counts(Role::Sender).unwrap();
    assert_eq!((counts.passed, counts.passed + counts.dropped), (came, 100));
    // What goes out while others still come in makes room for more: 8 ms each.
    assert!((10..100).contains(&came), "{counts:?}");
}

/// Over the path where packets pass whole, and where they pass one by one; over both families.
#[test]
fn bytes_arrive_as_they_were_sent() {
    needs_root!();
    for wire in [Wire::long(0), Wire { loss_per_million: 1000, ..Wire::long(100_000) }] {
        let lab = lab(wire);
        for family in families(&lab) {
            tcp_bytes_per_s(&lab, family, 32 << 20);
        }
    }
}

/// One packet under way, where the kernel knows segments of UDP, and single ones at the reader.
#[test]
fn segments_of_udp_arrive_one_by_one() {
    needs_root!();
    let lab = lab(Wire::long(1_000_000));
    for family in families(&lab) {
        let (near, far) = sockets(&lab, family);
        set_segment_size(&near, 1000).unwrap();
        let sent: Vec<u8> = (0..20_000).map(|n| (n / 1000) as u8).collect();
        near.send(&sent).unwrap();
        for number in 0..20 {
            let mut word = [0; 2000];
            assert_eq!(far.recv(&mut word).unwrap(), 1000);
            assert_eq!(word[..1000], [number; 1000]);
        }
    }
}

/// What the kernel sent of its own accord would be lost, delayed and counted with the rest.
#[test]
fn a_wired_lab_at_rest_is_silent() {
    needs_root!();
    let lab = lab(Wire::long(1_000_000));
    thread::sleep(Duration::from_millis(2500));
    for (host, role) in [(&lab.sender, Role::Sender), (&lab.reader, Role::Reader)] {
        let device = lab.device(role);
        assert_eq!((device.name.as_str(), device.mtu), ("tun0", 1500));
        let counted = host.run(counters::read).unwrap().unwrap();
        assert_eq!(counted.devices["tun0"], DeviceCounters::default());
        assert_eq!(lab.wire_counts(role), Some(WireCounts::default()));
    }
}

/// A descriptor of a device keeps its namespace alive, and a thread of the relay has both: that
/// the namespaces go shows that the threads are gone as well.
#[test]
fn nothing_is_left_of_a_dropped_wire() {
    needs_root!();
    let lab = lab(Wire::long(10_000_000_000));
    let witness = canaries(&lab);
    let host = lab.sender.run(Namespace::current).unwrap().unwrap();
    // Something in flight that no thread waits for.
    let (near, far) = sockets(&lab, Family::Ipv4);
    near.send(b"never to arrive").unwrap();
    drop((near, far));
    assert!(host.run(|| link::read("tun0")).unwrap().is_ok());
    let start = Instant::now();
    drop(lab);
    assert!(start.elapsed() < PATIENCE);
    assert!(host.run(|| link::read("tun0")).unwrap().is_err());
    drop(host);
    assert_gone(&witness);
}
