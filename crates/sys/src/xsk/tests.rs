use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::time::Duration;

use netfathom_testkit::needs_root;

use super::*;
use crate::lab::{DEVICE, Lab};

/// Link layer, IPv4 and UDP.
const HEADERS: usize = 14 + 20 + 8;
const PAYLOAD: usize = 22;
const SOON: Duration = Duration::from_secs(2);

/// A UDP datagram of [`PAYLOAD`] bytes from host 0 to `to` on host 1, without a UDP checksum,
/// which IPv4 allows.
fn template(lab: &Lab, to: SocketAddr) -> Vec<u8> {
    let (IpAddr::V4(from), IpAddr::V4(ip)) = (Lab::address(0), to.ip()) else { unreachable!() };
    let mut header = vec![0x45, 0, 0, (20 + 8 + PAYLOAD) as u8, 0, 0, 0x40, 0, 64, 17, 0, 0];
    header.extend([from.octets(), ip.octets()].concat());
    let sum: u32 = header.chunks(2).map(|pair| u32::from(pair[0]) << 8 | u32::from(pair[1])).sum();
    let folded = !((sum & 0xffff) + (sum >> 16)) as u16;
    header[10..12].copy_from_slice(&folded.to_be_bytes());
    let mut frame = [lab.links[1].mac, lab.links[0].mac].concat();
    frame.extend([8, 0]);
    frame.extend(header);
    for field in [4000, to.port(), (8 + PAYLOAD) as u16, 0] {
        frame.extend(field.to_be_bytes());
    }
    frame.extend([0xee; PAYLOAD]);
    frame
}

/// A sender with that number of frames, each with a message to the reader.
fn sending(frames: u32) -> (Lab, UdpSocket, Vec<u8>, XskSender) {
    let lab = Lab::create();
    let (_, reader) = lab.pair();
    let frame = template(&lab, reader.local_addr().unwrap());
    let open = || XskSender::open(lab.links[0].index, 0, frames, &frame).unwrap();
    let sender = lab.hosts[0].run(open).unwrap();
    (lab, reader, frame, sender)
}

#[test]
fn numbered_frames_arrive_in_order_and_keep_the_template() {
    needs_root!();
    let (_lab, reader, frame, mut sender) = sending(64);
    // Several times round the rings, in batches that do not divide them.
    for batch in 0..40_u8 {
        let room = sender.room();
        assert!(room >= 50, "{room} frames in batch {batch}");
        for message in 0..50 {
            sender.push(frame.len(), |bytes| bytes[HEADERS..HEADERS + 2].copy_from_slice(&[batch, message]));
        }
        assert_eq!(sender.room(), room - 50);
        sender.flush().unwrap();
        for message in 0..50 {
            let mut buffer = [0; 64];
            assert_eq!(reader.recv(&mut buffer).unwrap(), PAYLOAD);
            assert_eq!(buffer[..2], [batch, message]);
            assert_eq!(buffer[2..PAYLOAD], [0xee; PAYLOAD - 2]);
        }
    }
    assert_eq!((sender.room(), sender.refused()), (64, 0));
}

#[test]
fn what_the_device_refuses_is_counted() {
    needs_root!();
    let (_lab, _reader, _, mut sender) = sending(64);
    // Longer than the other end takes: the veth drops it, and the kernel says so.
    sender.push(FRAME_BYTES, |_| ());
    sender.flush().unwrap();
    assert_eq!((sender.refused(), sender.room()), (1, 64));
}

/// Kernels before 6.17 take 32 frames a call; the test sets the same on a newer one.
#[test]
fn what_one_call_does_not_take_the_next_ones_do() {
    needs_root!();
    let (_lab, reader, frame, mut sender) = sending(128);
    if sender.budget() == 128 {
        sender.set_budget(32).unwrap();
    }
    (0..128).for_each(|_| sender.push(frame.len(), |_| ()));
    sender.flush().unwrap();
    for _ in 0..128 {
        assert_eq!(reader.recv(&mut [0; 64]).unwrap(), PAYLOAD);
    }
    assert_eq!((sender.budget(), sender.room()), (32, 128));
}

#[test]
fn what_cannot_be_opened_says_why() {
    needs_root!();
    let lab = Lab::create();
    let device = lab.links[0].index;
    let opened = |index, queue, frames, bytes| {
        let open = || XskSender::open(index, queue, frames, &vec![0; bytes]);
        lab.hosts[0].run(open).unwrap().map(|_| ()).unwrap_err().to_string()
    };
    assert!(opened(device, 0, 48, 64).contains("48 frames are no power of two"));
    assert!(opened(device, 0, 64, 4096).contains("4096 bytes are no frame"));
    assert!(opened(999, 0, 64, 64).contains("no such device"));
    let error = opened(device, 7, 64, 64);
    assert!(error.contains("queue 7") && error.contains("have this queue?"), "{error}");
    let _first = lab.hosts[0].run(|| XskSender::open(device, 0, 64, &[]).unwrap()).unwrap();
    assert!(opened(device, 0, 64, 64).contains("another AF_XDP socket has this queue"));
}

#[test]
fn redirected_frames_are_received_and_those_without_room_are_counted() {
    needs_root!();
    let lab = Lab::create();
    let (sender, _reader) = lab.pair();
    let index = lab.links[1].index;
    let (mut receiver, _program) = lab.hosts[1]
        .run(|| {
            let receiver = XskReceiver::open(index, 0, 16).unwrap();
            let program = program::attach(index, receiver.as_fd()).unwrap();
            (receiver, program)
        })
        .unwrap();
    lab.hosts[0].run(|| crate::link::await_running(DEVICE, SOON).unwrap()).unwrap();
    // Several times round the rings, one at a time.
    for number in 0..100_u8 {
        sender.send(&[number; PAYLOAD]).unwrap();
        let mut seen = Vec::new();
        assert_eq!(receiver.receive(SOON, |frame| seen.push(frame.to_vec())).unwrap(), 1);
        let macs = [lab.links[1].mac, lab.links[0].mac].concat();
        assert_eq!((&seen[0][..12], &seen[0][HEADERS..]), (&macs[..], &[number; PAYLOAD][..]));
    }
    assert_eq!(receiver.dropped().unwrap(), 0);
    // More than there is room for.
    (0..40).for_each(|_| assert_eq!(sender.send(&[0; PAYLOAD]).unwrap(), PAYLOAD));
    std::thread::sleep(Duration::from_millis(100));
    assert_eq!(receiver.receive(SOON, |_| ()).unwrap(), 16);
    assert_eq!(receiver.dropped().unwrap(), 24);
    assert_eq!(receiver.receive(Duration::from_millis(10), |_| ()).unwrap(), 0);
    assert_eq!(receiver.drain(|_| ()), 0, "without waiting");
}

/// The smallest XDP program that redirects everything to one socket; the real ones are in
/// another crate, which this one may not know.
mod program {
    use super::*;

    const MAP_CREATE: i64 = 0;
    const MAP_UPDATE_ELEM: i64 = 2;
    const PROG_LOAD: i64 = 5;
    const LINK_CREATE: i64 = 28;
    const TYPE_XDP: u32 = 6;
    const TYPE_XSKMAP: u32 = 17;
    const ATTACH_XDP: u32 = 37;

    /// bpf(2) with its attributes as words of 32 bits.
    fn bpf(command: i64, words: &[u32]) -> io::Result<OwnedFd> {
        let mut attributes = [0_u64; 16];
        for (at, &word) in words.iter().enumerate() {
            attributes[at / 2] |= u64::from(word) << (32 * (at % 2));
        }
        let bytes = size_of_val(&attributes);
        // SAFETY: the attributes have the given length; what they point to lives in the
        // caller's frame.
        let fd = unsafe { libc::syscall(libc::SYS_bpf, command, attributes.as_ptr(), bytes) };
        match command {
            _ if fd < 0 => Err(io::Error::last_os_error()),
            // It returns 0, which is no descriptor of its own.
            MAP_UPDATE_ELEM => Ok(std::fs::File::open("/dev/null")?.into()),
            _ => call::owned(fd),
        }
    }

    fn halves<T>(pointer: *const T) -> [u32; 2] {
        let address = pointer as u64;
        [address as u32, (address >> 32) as u32]
    }

    /// Attaches it to a device, until what it returns is dropped.
    pub(super) fn attach(device: u32, socket: BorrowedFd<'_>) -> io::Result<[OwnedFd; 2]> {
        let map = bpf(MAP_CREATE, &[TYPE_XSKMAP, 4, 4, 1])?;
        let (key, value) = (0_u32, socket.as_raw_fd());
        let ([k0, k1], [v0, v1]) = (halves(&raw const key), halves(&raw const value));
        bpf(MAP_UPDATE_ELEM, &[map.as_raw_fd() as u32, 0, k0, k1, v0, v1])?;
        // r2 = ctx->rx_queue_index; r1 = map; r3 = XDP_PASS; bpf_redirect_map; exit
        let code: [u64; 6] = [
            0x0000_0000_0010_1261,
            (map.as_raw_fd() as u64) << 32 | 0x1118,
            0,
            2 << 32 | 0x03b7,
            51 << 32 | 0x85,
            0x95,
        ];
        let licence = c"Dual BSD/GPL";
        let ([c0, c1], [l0, l1]) = (halves(code.as_ptr()), halves(licence.as_ptr()));
        let program = bpf(PROG_LOAD, &[TYPE_XDP, code.len() as u32, c0, c1, l0, l1])?;
        let link = bpf(LINK_CREATE, &[program.as_raw_fd() as u32, device, ATTACH_XDP])?;
        Ok([map, link])
    }
}
