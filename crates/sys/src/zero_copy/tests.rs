//! Over the loopback device and over a veth pair, where the facts that zero_copy.rs tells
//! are looked at one by one.

use std::fs::File;
use std::hint::black_box;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::os::fd::AsFd;
use std::os::unix::fs::FileExt;
use std::time::Instant;

use netfathom_testkit::{needs, needs_root};

use super::*;
use crate::lab::{DEVICE, Lab};
use crate::{endpoint, link, offload, splice};

const PATIENCE: Duration = Duration::from_secs(20);
const PAGE: usize = 4096;

fn joined(listener: &TcpListener) -> (TcpStream, TcpStream) {
    let sender = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    let reader = listener.accept().unwrap().0;
    reader.set_read_timeout(Some(PATIENCE)).unwrap();
    (sender, reader)
}

fn over_loopback(address: &str) -> (TcpStream, TcpStream) {
    joined(&TcpListener::bind(address).unwrap())
}

fn over_veth(lab: &Lab) -> (TcpStream, TcpStream) {
    let listener = lab.hosts[1].run(|| TcpListener::bind((Lab::address(1), 0)).unwrap()).unwrap();
    lab.hosts[0].run(|| joined(&listener)).unwrap()
}

/// Waits until nothing is in flight.
fn settle(socket: &TcpStream, ledger: &mut Ledger) {
    let deadline = Instant::now() + PATIENCE;
    while ledger.in_flight() > 0 {
        let _ = wait(socket.as_fd(), Duration::from_millis(100));
        drain(socket.as_fd(), |done| ledger.complete(done).unwrap()).unwrap();
        assert!(Instant::now() < deadline, "{ledger:?}");
    }
}

/// Sends calls of several sizes and hands back the sums.
fn carried((sender, mut reader): (TcpStream, TcpStream)) -> Ledger {
    const SIZES: [usize; 4] = [1, 10_000, 65_536, 300_000];
    const ROUNDS: usize = 20;
    let pages = vec![5; 300_000];
    let mut ledger = Ledger::new(8);
    enable(sender.as_fd()).unwrap();
    let total: usize = SIZES.iter().sum::<usize>() * ROUNDS;
    std::thread::scope(|s| {
        s.spawn(move || {
            let mut got = vec![0; total];
            reader.read_exact(&mut got).unwrap();
            assert!(got.iter().all(|&byte| byte == 5));
        });
        for mut left in (0..ROUNDS).flat_map(|_| SIZES) {
            while left > 0 {
                let sent = send(sender.as_fd(), &pages[..left]).unwrap();
                ledger.sent(sent);
                left -= sent;
                while ledger.full() {
                    settle(&sender, &mut ledger);
                }
            }
        }
        settle(&sender, &mut ledger);
    });
    assert_eq!(ledger.copied_bytes() + ledger.uncopied_bytes(), total as u64);
    ledger
}

#[test]
fn the_loopback_device_copies_all() {
    for address in ["127.0.0.1:0", "[::1]:0"].iter().take(1 + usize::from(link::ipv6_available())) {
        assert_eq!(carried(over_loopback(address)).uncopied_bytes(), 0);
    }
}

#[test]
fn a_veth_pair_copies_all() {
    needs_root!();
    assert_eq!(carried(over_veth(&Lab::create())).uncopied_bytes(), 0);
}

/// A connection with a far device that drops packets longer than [`TOO_LONG`] before any stack
/// sees them, until [`Lossy::mend`].
struct Lossy {
    lab: Lab,
    sender: TcpStream,
    reader: TcpStream,
}

const TOO_LONG: usize = 1200;

impl Lossy {
    fn create() -> Self {
        let lab = Lab::create();
        let (sender, reader) = over_veth(&lab);
        enable(sender.as_fd()).unwrap();
        let lossy = Self { lab, sender, reader };
        lossy.set_mtu(600);
        lossy
    }

    fn set_mtu(&self, mtu: u32) {
        self.lab.hosts[1].run(|| link::set_mtu(&self.lab.links[1], mtu).unwrap()).unwrap();
    }

    fn mend(&self) {
        self.set_mtu(1500);
    }
}

#[test]
fn what_no_host_receives_is_not_copied() {
    needs_root!();
    let Lossy { sender, .. } = Lossy::create();
    let mut ledger = Ledger::new(4);
    let pages = vec![5; TOO_LONG];
    ledger.sent(send(sender.as_fd(), &pages).unwrap());
    assert!(!wait(sender.as_fd(), Duration::from_millis(1)).unwrap());
    assert_eq!(drain(sender.as_fd(), |_| ()).unwrap(), 0);
    give_up(&sender);
    assert_eq!(wait(sender.as_fd(), PATIENCE).unwrap_err().kind(), io::ErrorKind::ConnectionReset);
    settle(&sender, &mut ledger);
    assert_eq!((ledger.uncopied_bytes(), ledger.copied_bytes()), (TOO_LONG as u64, 0));
}

#[test]
fn more_calls_than_the_kernel_has_memory_for_have_to_wait() {
    /// A limit of the namespace since 6.7, of the machine before.
    const MEMORY: &str = "/proc/sys/net/core/optmem_max";
    needs_root!();
    let lossy = Lossy::create();
    let (sender, mut reader) = (&lossy.sender, &lossy.reader);
    needs!(lossy.lab.hosts[0].run(|| std::fs::write(MEMORY, "1000")).unwrap().is_ok(), "needs Linux 6.7");
    endpoint::set_no_delay(sender.as_fd()).unwrap();
    let pages = vec![5; TOO_LONG];
    let mut ledger = Ledger::new(8);
    let error = loop {
        match send(sender.as_fd(), &pages) {
            Ok(bytes) => ledger.sent(bytes),
            Err(error) => break error,
        }
        assert!(!ledger.full());
    };
    assert_eq!(error.raw_os_error(), Some(libc::ENOBUFS));
    let calls = ledger.in_flight();
    assert!(calls > 0);
    lossy.mend();
    reader.read_exact(&mut vec![0; calls * TOO_LONG]).unwrap();
    settle(sender, &mut ledger);
    // The call that was refused has no number, and sent nothing.
    ledger.sent(send(sender.as_fd(), &pages).unwrap());
    reader.read_exact(&mut [0; TOO_LONG]).unwrap();
    settle(sender, &mut ledger);
    assert_eq!(ledger.copied_bytes(), ((calls + 1) * TOO_LONG) as u64);
}

/// Cuts the connection and keeps the socket, so that its completions can be read.
fn give_up(socket: &TcpStream) {
    rustix::net::connect_unspec(socket).unwrap();
}

#[test]
fn a_connection_that_is_cut_ends_the_wait() {
    let (sender, reader) = over_loopback("127.0.0.1:0");
    enable(sender.as_fd()).unwrap();
    endpoint::cut_on_close(reader.as_fd(), true).unwrap();
    drop(reader);
    let error = wait(sender.as_fd(), PATIENCE).unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::ConnectionReset);
}

#[test]
fn without_enable_there_are_no_completions() {
    let (sender, mut reader) = over_loopback("127.0.0.1:0");
    assert_eq!(send(sender.as_fd(), &[5; 100]).unwrap(), 100);
    reader.read_exact(&mut [0; 100]).unwrap();
    assert!(!wait(sender.as_fd(), Duration::from_millis(20)).unwrap());
    // UDP can do it too, but a socket within the machine cannot.
    enable(UdpSocket::bind("127.0.0.1:0").unwrap().as_fd()).unwrap();
    let unix = std::os::unix::net::UnixStream::pair().unwrap().0;
    assert!(enable(unix.as_fd()).is_err());
}

/// A file of pages of `a` that has no name.
fn file_of_a() -> File {
    let mut file = tempfile::tempfile().unwrap();
    file.write_all(&[b'a'; 4 * PAGE]).unwrap();
    std::io::Seek::rewind(&mut file).unwrap();
    file
}

/// What the reader gets of a page that was `a` when it was sent and is `b` when it is received.
fn received(reader: &mut TcpStream, change: impl FnOnce()) -> u8 {
    // All of it has been received: none of it waits to be taken from the file.
    let deadline = Instant::now() + PATIENCE;
    while endpoint::queued_in(reader.as_fd()).unwrap() < 4 * PAGE as u32 {
        assert!(Instant::now() < deadline);
    }
    change();
    // From here on the kernel reads.
    let mut got = [0; 4 * PAGE];
    reader.read_exact(&mut got).unwrap();
    assert!(got.iter().all(|&byte| byte == got[0]));
    got[0]
}

fn of_send_file((sender, mut reader): (TcpStream, TcpStream)) -> u8 {
    let file = file_of_a();
    assert_eq!(splice::send_file(file.as_fd(), sender.as_fd(), 4 * PAGE).unwrap(), 4 * PAGE);
    received(&mut reader, || file.write_all_at(&[b'b'; 4 * PAGE], 0).unwrap())
}

fn of_splice((sender, mut reader): (TcpStream, TcpStream)) -> u8 {
    let (file, (out, into)) = (file_of_a(), io::pipe().unwrap());
    assert_eq!(splice::splice(file.as_fd(), into.as_fd(), 4 * PAGE).unwrap(), 4 * PAGE);
    assert_eq!(splice::splice(out.as_fd(), sender.as_fd(), 4 * PAGE).unwrap(), 4 * PAGE);
    received(&mut reader, || file.write_all_at(&[b'b'; 4 * PAGE], 0).unwrap())
}

fn of_vmsplice((sender, mut reader): (TcpStream, TcpStream)) -> u8 {
    let (mut pages, (out, into)) = (vec![b'a'; 4 * PAGE], io::pipe().unwrap());
    let part = libc::iovec { iov_base: pages.as_mut_ptr().cast(), iov_len: pages.len() };
    // SAFETY: one part, of the memory of `pages`, which the pipe takes hold of and only reads.
    let given = unsafe { libc::vmsplice(into.as_raw_fd(), &raw const part, 1, 0) };
    assert_eq!(given, 4 * PAGE as isize);
    assert_eq!(splice::splice(out.as_fd(), sender.as_fd(), 4 * PAGE).unwrap(), 4 * PAGE);
    received(&mut reader, || black_box(&mut pages).fill(b'b'))
}

/// A plain send copies: this one shows that the test can tell.
fn of_send((sender, mut reader): (TcpStream, TcpStream)) -> u8 {
    let mut pages = vec![b'a'; 4 * PAGE];
    assert_eq!(endpoint::send(sender.as_fd(), &pages).unwrap(), 4 * PAGE);
    received(&mut reader, || black_box(&mut pages).fill(b'b'))
}

fn of_zero_copy((sender, mut reader): (TcpStream, TcpStream)) -> u8 {
    let mut pages = vec![b'a'; 4 * PAGE];
    enable(sender.as_fd()).unwrap();
    assert_eq!(send(sender.as_fd(), &pages).unwrap(), 4 * PAGE);
    received(&mut reader, || black_box(&mut pages).fill(b'b'))
}

#[test]
fn over_the_loopback_device_the_pages_themselves_wait_to_be_read() {
    let pair = || over_loopback("127.0.0.1:0");
    let ways = [of_send_file, of_splice, of_vmsplice, of_send, of_zero_copy];
    assert_eq!(ways.map(|way| way(pair())), *b"bbbaa");
}

#[test]
fn over_a_veth_pair_they_do_too_unless_it_cannot_gather() {
    needs_root!();
    let lab = Lab::create();
    let ways = [of_send_file, of_splice, of_vmsplice, of_send, of_zero_copy];
    assert_eq!(ways.map(|way| way(over_veth(&lab))), *b"bbbaa");
    lab.hosts[0].run(|| offload::set_feature(DEVICE, "tx-scatter-gather", false).unwrap()).unwrap();
    assert_eq!(ways.map(|way| way(over_veth(&lab))), *b"aaaaa");
}
