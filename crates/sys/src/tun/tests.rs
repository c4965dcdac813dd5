use std::net::{IpAddr, Ipv4Addr, UdpSocket};
use std::os::fd::AsFd;
use std::time::Duration;

use netfathom_testkit::needs_root;

use super::*;
use crate::link;
use crate::netns::Namespace;

const NAME: &str = "tun0";
const OWN: Ipv4Addr = Ipv4Addr::new(198, 18, 0, 1);
const OTHER: Ipv4Addr = Ipv4Addr::new(198, 18, 0, 2);
/// Of an IP header without options, and of UDP.
const HEADERS: usize = HEADER_BYTES + 20 + 8;

/// A host with a device in service, and a socket there that is bound to its address.
fn host(packets: Packets) -> (Namespace, Tun, UdpSocket) {
    let host = Namespace::create().unwrap();
    let (tun, socket) = host
        .run(|| {
            let tun = Tun::create(NAME, 1001, packets).unwrap();
            let device = link::read(NAME).unwrap();
            link::set_silent(&device).unwrap();
            link::set_up(&device).unwrap();
            link::add_address(&device, IpAddr::V4(OWN), 30).unwrap();
            (tun, UdpSocket::bind((OWN, 7000)).unwrap())
        })
        .unwrap();
    (host, tun, socket)
}

fn read(tun: &Tun) -> Vec<u8> {
    let (stop, _run) = io::pipe().unwrap();
    let within = clock::monotonic_ns() + 2_000_000_000;
    assert!(tun.wait(stop.as_fd(), Some(within)).unwrap());
    let mut buffer = vec![0; MOST_BYTES];
    let length = tun.read(&mut buffer).unwrap();
    buffer.truncate(length);
    buffer
}

#[test]
fn a_mode_that_forbids_is_no_missing_capability() {
    let refused = |errno| TunError::new("open it")(io::Error::from_raw_os_error(errno)).to_string();
    let forbidden = refused(libc::EACCES);
    assert!(forbidden.contains("the mode of /dev/net/tun") && !forbidden.contains("CAP_"), "{forbidden}");
    assert!(refused(libc::EPERM).contains("CAP_NET_ADMIN"));
}

#[test]
fn packets_go_out_and_come_in() {
    needs_root!();
    let (_host, tun, socket) = host(Packets::Single);
    socket.send_to(b"over the wire", (OTHER, 7000)).unwrap();
    let mut packet = read(&tun);
    assert_eq!(&packet[HEADERS..], b"over the wire");
    assert_eq!(tun.read(&mut [0; MOST_BYTES]).unwrap(), 0);
    // Back to where it came from: the sums do not change when source and destination do.
    let (from, to) = (HEADER_BYTES + 12, HEADER_BYTES + 16);
    packet[from..from + 4].copy_from_slice(&OTHER.octets());
    packet[to..to + 4].copy_from_slice(&OWN.octets());
    tun.write(&packet).unwrap();
    socket.set_read_timeout(Some(Duration::from_secs(2))).unwrap();
    let mut heard = [0; 64];
    let (count, origin) = socket.recv_from(&mut heard).unwrap();
    assert_eq!((&heard[..count], origin), (&b"over the wire"[..], (OTHER, 7000).into()));
}

#[test]
fn a_device_is_as_asked_for_and_goes_with_its_value() {
    needs_root!();
    let (host, tun, _socket) = host(Packets::Whole);
    let device = host.run(|| link::read(NAME)).unwrap().unwrap();
    assert_eq!((device.index, device.mtu, device.mac, device.running), (1001, 1500, [0; 6], true));
    let again = host.run(|| Tun::create(NAME, 0, Packets::Single)).unwrap().unwrap_err();
    assert!(again.to_string().contains("there already"), "{again}");
    drop(tun);
    assert!(host.run(|| link::read(NAME)).unwrap().is_err());
}

#[test]
fn only_who_takes_them_gets_packets_whole() {
    needs_root!();
    for (packets, names) in [(Packets::Single, "off"), (Packets::Whole, "on")] {
        let (host, _tun, _socket) = host(packets);
        let feature = |name| host.run(|| crate::offload::feature(NAME, name)).unwrap().unwrap();
        assert_eq!(feature("tx-tcp-segmentation"), Some(packets == Packets::Whole), "{names}");
        assert_eq!(feature("tx-tcp6-segmentation"), Some(packets == Packets::Whole), "{names}");
        assert_eq!(feature("tx-checksum-ip-generic"), Some(true));
    }
}

#[test]
fn a_wait_ends_on_time_and_when_the_pipe_closes() {
    needs_root!();
    let (_host, tun, _socket) = host(Packets::Single);
    let (stop, run) = io::pipe().unwrap();
    let until = clock::monotonic_ns() + 20_000_000;
    let mut waits = 0;
    while clock::monotonic_ns() < until {
        assert!(tun.wait(stop.as_fd(), Some(until)).unwrap());
        waits += 1;
    }
    // Each brings it 500 times as near: 40 us, then less than a call takes.
    assert!(waits <= 10, "{waits}");
    drop(run);
    assert!(!tun.wait(stop.as_fd(), None).unwrap());
}
