//! What waits below the link layer: the test itself carries each packet, and holds it for as long as it plants.

use std::io::{PipeReader, PipeWriter, pipe};
use std::time::Instant;

use netfathom_model::path::Direction::{Rx, Tx};
use netfathom_sys::link;
use netfathom_sys::netns::Namespace;
use netfathom_sys::tcp_info;
use netfathom_sys::tun::{HEADER_BYTES, MOST_BYTES, Packets, Tun, TunError};
use socket2::SockRef;

use super::outgoing::done;
use super::planted::{EACH, sum};
use super::send::set;
use super::*;
use crate::lab::tick_ns;

const DEVICE: &str = "wire";
const OWN: Ipv4Addr = Ipv4Addr::new(10, 66, 0, 1);
/// As either end of a connection sees the other one.
const OTHER: Ipv4Addr = Ipv4Addr::new(10, 66, 0, 2);
/// No packet without a message is longer: headers of IP and TCP, with all options of TCP.
const BARE: usize = HEADER_BYTES + 20 + 60;
const MESSAGE: [u8; 64] = [7; 64];

/// A host that has both ends of each connection: what it sends to [`OTHER`] comes back to it from there.
struct Wire {
    host: Namespace,
    tun: Tun,
    /// A wait ends when the second is closed, which lives as long.
    stop: (PipeReader, PipeWriter),
}

impl Wire {
    /// `None` where there is no TUN; says so.
    fn new() -> Option<Self> {
        let host = Namespace::create().unwrap();
        let make = || {
            let tun = Tun::create(DEVICE, 0, Packets::Whole)?;
            let device = link::read(DEVICE).unwrap();
            link::set_silent(&device).unwrap();
            link::set_up(&device).unwrap();
            link::add_address(&device, IpAddr::V4(OWN), 30).unwrap();
            Ok::<Tun, TunError>(tun)
        };
        match host.run(make).unwrap() {
            Ok(tun) => Some(Self { host, tun, stop: pipe().unwrap() }),
            Err(e) => {
                skipped("watch::tests::wire", &e.to_string());
                None
            }
        }
    }

    /// A packet that waits.
    fn look(&self) -> Option<Vec<u8>> {
        let mut packet = vec![0; MOST_BYTES];
        let length = self.tun.read(&mut packet).unwrap();
        packet.truncate(length);
        (length > 0).then_some(packet)
    }

    fn give(&self, mut packet: Vec<u8>) {
        // The checksums stay right if source and destination change places.
        packet[HEADER_BYTES + 12..HEADER_BYTES + 20].rotate_left(4);
        self.tun.write(&packet).unwrap();
    }

    fn carry(&self) {
        while let Some(packet) = self.look() {
            self.give(packet);
        }
    }

    /// The next packet that has a message. Those without one pass.
    fn hold(&self) -> Vec<u8> {
        // Only what never comes takes so long.
        let until_ns = monotonic_ns() + 60_000_000_000;
        while monotonic_ns() < until_ns {
            match self.look() {
                Some(packet) if packet.len() > BARE => return packet,
                Some(packet) => self.give(packet),
                None => assert!(self.tun.wait(self.stop.0.as_fd(), Some(until_ns)).unwrap()),
            }
        }
        panic!("no message came")
    }

    fn connection(&self) -> (TcpStream, TcpStream) {
        let listener = self.host.run(|| TcpListener::bind((OWN, 0)).unwrap()).unwrap();
        let to = (OTHER, listener.local_addr().unwrap().port());
        let client = thread::scope(|scope| {
            let client = scope.spawn(|| self.host.run(|| TcpStream::connect(to).unwrap()).unwrap());
            while !client.is_finished() {
                self.carry();
                thread::yield_now();
            }
            client.join().unwrap()
        });
        // The end of the handshake.
        self.carry();
        let server = listener.accept().unwrap().0;
        server.set_nodelay(true).unwrap();
        client.set_nodelay(true).unwrap();
        (server, client)
    }

    /// Its first message has no times: its reader is not known yet.
    fn watch_reader(&self, mut reader: &TcpStream, mut sender: &TcpStream) -> Watch {
        let watch = watch_end(Rx, reader);
        sender.write_all(&MESSAGE).unwrap();
        self.give(self.hold());
        reader.read_exact(&mut [0; 64]).unwrap();
        watch
    }
}

/// Watches one end of a connection that is there already.
pub(super) fn watch_end(direction: Direction, end: &TcpStream) -> Watch {
    let watch = Watch::attach(Selection::Marked, &[direction], Detail::default()).unwrap();
    watch.mark(end, true).unwrap();
    watch
}

/// The wire holds each message for so long. Watches who sends it, or who reads it. Returns how long messages were under way
/// until they were acknowledged, at least and at most.
pub(super) fn delay(watched: Direction, ms: u64) -> Option<(Watch, [u64; 2])> {
    let wire = Wire::new()?;
    let (sender, reader) = wire.connection();
    let watch = if watched == Tx { watch_end(Tx, &sender) } else { wire.watch_reader(&reader, &sender) };
    let (mut sender, mut reader) = (&sender, &reader);
    let (mut least, mut most) = (0, 0);
    for _ in 0..EACH {
        let begun = Instant::now();
        sender.write_all(&MESSAGE).unwrap();
        let sent = Instant::now();
        let packet = wire.hold();
        thread::sleep(Duration::from_millis(ms));
        wire.give(packet);
        reader.read_exact(&mut [0; 64]).unwrap();
        // Otherwise the acknowledgment may be delayed.
        reader.write_all(&MESSAGE).unwrap();
        least += sent.elapsed().as_nanos() as u64;
        wire.carry();
        most += begun.elapsed().as_nanos() as u64;
        sender.read_exact(&mut [0; 64]).unwrap();
    }
    Some((watch, [least, most]))
}

/// The wire loses a message, and has it again so long after the next one. Watches the reader. Returns how long the next ones
/// waited, at least and at most.
pub(super) fn lose(ms: u64) -> Option<(Watch, [u64; 2])> {
    let wire = Wire::new()?;
    let (reader, sender) = wire.connection();
    let watch = wire.watch_reader(&reader, &sender);
    let (mut sender, mut reader) = (&sender, &reader);
    let (mut least, mut most) = (0, 0);
    for _ in 0..EACH {
        sender.write_all(&MESSAGE).unwrap();
        let lost = wire.hold();
        sender.write_all(&MESSAGE).unwrap();
        let next = wire.hold();
        let begun = Instant::now();
        wire.give(next);
        let arrived = Instant::now();
        thread::sleep(Duration::from_millis(ms));
        least += arrived.elapsed().as_nanos() as u64;
        wire.give(lost);
        most += begun.elapsed().as_nanos() as u64;
        reader.read_exact(&mut [0; 128]).unwrap();
        wire.carry();
    }
    Some((watch, [least, most]))
}

/// The device has just sent something else, and may send each message so long after that. Watches the sender. Returns how
/// long messages waited in the queue, at least and at most.
pub(super) fn slow_device(ms: u64) -> Option<(Watch, [u64; 2])> {
    /// It lets so much pass at once, which is more than its longest packet.
    const BURST: u64 = 1600;
    const BEFORE: [u8; 1400] = [0; 1400];
    const BEHIND: [u8; 1000] = [0; 1000];
    /// With the headers of UDP and of TCP, what is beyond the burst.
    const BEYOND: u64 = BEFORE.len() as u64 + 28 + BEHIND.len() as u64 + 52 - BURST;
    let wire = Wire::new()?;
    let (sender, reader) = wire.connection();
    let (mut sender, mut reader) = (&sender, &reader);
    let before = wire.host.run(|| UdpSocket::bind((OWN, 0)).unwrap()).unwrap();
    let bits_per_s = BEYOND * 8000 / ms.max(1);
    let slow = format!("tc qdisc add dev {DEVICE} root tbf rate {bits_per_s} burst {BURST} limit 100000");
    if ms > 0 && !done(&wire.host, &slow) {
        return None;
    }
    let watch = watch_end(Tx, sender);
    let (mut least, mut most) = (0, 0);
    for _ in 0..EACH {
        // Until it would let a whole burst pass.
        thread::sleep(Duration::from_millis(3 * ms));
        let begun = Instant::now();
        before.send_to(&BEFORE, (OTHER, 9)).unwrap();
        let between = Instant::now();
        sender.write_all(&BEHIND).unwrap();
        let sent_ns = begun.elapsed().as_nanos() as u64;
        let (before, behind) = (wire.hold(), wire.hold());
        most += between.elapsed().as_nanos() as u64;
        let beyond = (before.len() + behind.len() - 2 * HEADER_BYTES) as u64 - BURST;
        least += (beyond * 8_000_000_000 / bits_per_s).saturating_sub(sent_ns);
        wire.give(behind);
        reader.read_exact(&mut [0; BEHIND.len()]).unwrap();
        reader.write_all(&MESSAGE).unwrap();
        wire.give(wire.hold());
        sender.read_exact(&mut [0; 64]).unwrap();
    }
    Some((watch, [least, most]))
}

/// A send buffer that is full of what was sent. Each message after that waits until the wire, after a pause, has it
/// acknowledged. Watches the sender. Returns its end, and how long messages waited, at least and at most.
pub(super) fn full_buffer(rounds: u64, pause: Duration) -> Option<(Watch, TcpStream, [u64; 2])> {
    /// More than the buffer takes; less than half of the first congestion window, and the last segment is short.
    const FULL: usize = 7000;
    let wire = Wire::new()?;
    let (server, client) = wire.connection();
    set(&server, libc::SOL_SOCKET, libc::SO_SNDBUF, 2048);
    let watch = watch_end(Tx, &server);
    let (mut sender, mut reader) = (&server, &client);
    let send = |message: &[u8], flags| SockRef::from(&server).send_with_flags(message, flags);
    let (mut least, mut most) = (0, 0);
    for _ in 0..rounds {
        set(&server, libc::IPPROTO_TCP, libc::TCP_CORK, 1);
        // What follows such an end of a record has a buffer of its own.
        assert_eq!(send(&[0; FULL], libc::MSG_EOR).unwrap(), FULL);
        let begun = Instant::now();
        let full = send(&MESSAGE, libc::MSG_DONTWAIT).unwrap_err();
        assert_eq!(full.kind(), io::ErrorKind::WouldBlock);
        // The short segment goes: the kernel counts from the next one on that is sent while something waits for room.
        set(&server, libc::IPPROTO_TCP, libc::TCP_CORK, 0);
        let waits = Instant::now();
        thread::sleep(pause);
        least += waits.elapsed().as_nanos() as u64;
        wire.carry();
        reader.read_exact(&mut [0; FULL]).unwrap();
        wire.carry();
        sender.write_all(&MESSAGE).unwrap();
        most += begun.elapsed().as_nanos() as u64;
        wire.carry();
        reader.read_exact(&mut [0; 64]).unwrap();
        reader.write_all(&MESSAGE).unwrap();
        wire.carry();
        sender.read_exact(&mut [0; 64]).unwrap();
    }
    Some((watch, server, [least, most]))
}

#[test]
fn a_send_buffer_that_is_full_of_what_was_sent_is_in_sndbuf_as_the_kernel_counts_it() {
    needs_root!();
    needs_times!();
    needs!(!tracepoint::is_missing(SENDING), "needs tcp_sendmsg_locked: Linux 6.16");
    const ROUNDS: u64 = 20;
    let Some((watch, server, [least, most])) = full_buffer(ROUNDS, PAUSE) else { return };
    let sndbuf = sum(&watch, WatchStage::Sndbuf);
    let counted = tcp_info::read(server.as_fd()).unwrap().limits.unwrap().buffer_us * 1000;
    println!("sndbuf {sndbuf} ns, from {least} to {most}, the kernel counted {counted}");
    assert!((least..=most).contains(&sndbuf), "{:?}", watch.send_account().unwrap());
    // It counts in ticks: each wait is rounded.
    let off = ROUNDS * tick_ns() as u64 + sndbuf / 20;
    assert!(sndbuf.abs_diff(counted) <= off, "{counted}: {sndbuf}");
}
