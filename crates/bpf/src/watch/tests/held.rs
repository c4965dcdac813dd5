//! What holds a message that has come to its host: one before it that was lost, and a system call that has the socket.

use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::time::Instant;

use socket2::{SockFilter, SockRef};

use super::planted::{EACH, MS, SIZES_MS, beside, median, others, sum};
use super::send::set;
use super::*;

/// The end of a server, which is watched, and that of its client. Both have read.
pub(super) fn watched() -> (Watch, TcpStream, TcpStream) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let (mut server, mut client) = connection(&listener);
    client.set_nodelay(true).unwrap();
    let watch = Watch::attach(Selection::Marked, &[Direction::Tx, Direction::Rx], Detail::default()).unwrap();
    watch.mark(&server, true).unwrap();
    client.write_all(&[0]).unwrap();
    server.read_exact(&mut [0]).unwrap();
    server.write_all(&[0]).unwrap();
    client.read_exact(&mut [0]).unwrap();
    (watch, server, client)
}

/// Has the kernel drop what comes to this socket, if it is long.
fn drop_long(socket: &TcpStream) {
    let code = |code: u32, jt, jf, k| SockFilter::new(code as u16, jt, jf, k);
    let program = [
        code(libc::BPF_LD | libc::BPF_W | libc::BPF_LEN, 0, 0, 0),
        code(libc::BPF_JMP | libc::BPF_JGE | libc::BPF_K, 0, 1, 1000),
        code(libc::BPF_RET | libc::BPF_K, 0, 0, 0),
        code(libc::BPF_RET | libc::BPF_K, 0, 0, u32::MAX),
    ];
    SockRef::from(socket).attach_filter(&program).unwrap();
}

#[test]
fn what_waits_for_a_lost_message_is_in_hole_and_what_is_sent_again_is_counted() {
    const ROUNDS: u64 = 5;
    needs_root!();
    needs!(!tracepoint::is_missing(SENDING), "needs tcp_sendmsg_locked: Linux 6.16");
    let (watch, mut server, mut client) = watched();
    watch.mark(&client, false).unwrap();
    let (mut least, mut most) = (0, 0);
    for _ in 0..ROUNDS {
        drop_long(&server);
        let begun = Instant::now();
        client.write_all(&[1; 1000]).unwrap();
        client.write_all(&[2; 64]).unwrap();
        let sent = Instant::now();
        thread::sleep(Duration::from_millis(10));
        set(&server, libc::SOL_SOCKET, libc::SO_DETACH_FILTER, 0);
        server.read_exact(&mut [0; 1064]).unwrap();
        least += sent.elapsed().as_nanos() as u64;
        most += begun.elapsed().as_nanos() as u64;
        server.write_all(&[3; 64]).unwrap();
        client.read_exact(&mut [0; 64]).unwrap();
    }
    let (waited, account) = (watch.stage(WatchStage::Hole).unwrap().moments, watch.account().unwrap());
    println!("{waited:?} of {least} to {most}; {account:?} {:?}", watch.send_account().unwrap());
    // One may be read while no program runs. All take about as long.
    assert!((ROUNDS - 1..=ROUNDS).contains(&waited.n), "{account:?}");
    let hole = waited.sum as u64 * ROUNDS / waited.n;
    assert!(hole > ROUNDS * 10 * MS, "nothing was lost");
    // Its reader waits for a CPU in the end.
    let runqueue = sum(&watch, WatchStage::Runqueue);
    assert!(
        hole + runqueue > least * 19 / 20 && hole < most * 21 / 20,
        "{hole} {runqueue}: {least} to {most}"
    );
    let each: Vec<_> = rx().map(|stage| (stage, sum(&watch, stage))).into();
    assert!(others(&watch, WatchStage::Hole) * 20 < hole, "{each:?}");
    assert!(watch.send_account().unwrap().retransmitted >= ROUNDS);
    // Of both messages.
    assert!(watch.acknowledged().unwrap().moments.sum > 2 * i128::from(hole) * 19 / 20);
}

/// A page that is not there when it is touched: the kernel waits until it is provided (userfaultfd(2)).
pub(super) struct Absent {
    page: *mut libc::c_void,
    faults: OwnedFd,
}

// SAFETY: the page is touched by the kernel alone.
unsafe impl Sync for Absent {}

impl Absent {
    const BYTES: usize = 4096;
    const API: libc::c_ulong = 0xc018_aa3f;
    const REGISTER: libc::c_ulong = 0xc020_aa00;
    const ZERO_PAGE: libc::c_ulong = 0xc020_aa04;

    pub(super) fn new() -> Option<Self> {
        // SAFETY: no pointers.
        let number = unsafe { libc::syscall(libc::SYS_userfaultfd, libc::O_CLOEXEC) };
        // SAFETY: the kernel has just made it for us alone.
        let faults = (number >= 0).then(|| unsafe { OwnedFd::from_raw_fd(number as i32) })?;
        let (protection, flags) =
            (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
        // SAFETY: a new mapping, which stays.
        let page = unsafe { libc::mmap(std::ptr::null_mut(), Self::BYTES, protection, flags, -1, 0) };
        let absent = Self { page, faults };
        absent.ask(Self::API, [0xaa, 0, 0, 0]);
        absent.ask(Self::REGISTER, [page as u64, Self::BYTES as u64, 1, 0]);
        Some(absent)
    }

    fn ask(&self, what: libc::c_ulong, mut words: [u64; 4]) {
        // SAFETY: each of these reads and writes four words at most.
        let done = unsafe { libc::ioctl(self.faults.as_raw_fd(), what, words.as_mut_ptr()) };
        assert_eq!(done, 0, "{}", io::Error::last_os_error());
    }

    fn is_touched(&self) {
        let mut message = [0u8; 32];
        // SAFETY: as many bytes as are there.
        let n = unsafe { libc::read(self.faults.as_raw_fd(), message.as_mut_ptr().cast(), message.len()) };
        assert_eq!(n, 32, "{}", io::Error::last_os_error());
    }

    fn provide(&self) {
        self.ask(Self::ZERO_PAGE, [self.page as u64, Self::BYTES as u64, 0, 0]);
    }

    /// From its first touch on the kernel waits, and has the lock of the socket.
    fn write_to(&self, socket: &TcpStream) {
        // SAFETY: the mapping is ours, and the kernel alone reads it.
        let n = unsafe {
            libc::madvise(self.page, Self::BYTES, libc::MADV_DONTNEED);
            libc::write(socket.as_raw_fd(), self.page, 64)
        };
        assert_eq!(n, 64, "{}", io::Error::last_os_error());
    }
}

/// Each message comes while a system call has the socket, for so long. Returns how long messages waited for it, at least and
/// at most.
pub(super) fn hold_lock(
    absent: &Absent,
    mut server: &TcpStream,
    mut client: &TcpStream,
    ms: u64,
) -> [u64; 2] {
    let (mut least, mut most) = (0, 0);
    for _ in 0..EACH {
        thread::scope(|scope| {
            let call = scope.spawn(|| absent.write_to(server));
            absent.is_touched();
            let since = Instant::now();
            client.write_all(&[7; 64]).unwrap();
            thread::sleep(Duration::from_millis(ms));
            absent.provide();
            least += since.elapsed().as_nanos() as u64;
            call.join().unwrap();
            most += since.elapsed().as_nanos() as u64;
        });
        server.read_exact(&mut [0; 64]).unwrap();
        client.read_exact(&mut [0; 64]).unwrap();
    }
    [least, most]
}

#[test]
fn what_comes_while_a_system_call_has_the_socket_is_in_lock_by_how_long() {
    needs_root!();
    needs_times!();
    needs!(!tracepoint::is_missing(SENDING), "needs tcp_sendmsg_locked: Linux 6.16");
    let Some(absent) = Absent::new() else { skip!("needs CONFIG_USERFAULTFD") };
    let (watch, server, client) = watched();
    let mut before = 0;
    for ms in SIZES_MS {
        let [least, most] = hold_lock(&absent, &server, &client, ms);
        let lock = sum(&watch, WatchStage::Lock) - before;
        println!("{ms} ms: {lock}, from {least} to {most}");
        assert!(lock * 20 > least * 19 && lock < most, "{ms} ms: {lock}, from {least} to {most}");
        before += lock;
    }
    let (lock, beside) = (median(&watch, WatchStage::Lock), beside(&watch, WatchStage::Lock));
    assert!(beside * 20 < lock, "{beside} beside {lock}");
}
