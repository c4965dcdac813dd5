//! Unix sockets: what comes to them, and what is answered.

use std::io::pipe;
use std::mem::MaybeUninit;
use std::net::Shutdown;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram, UnixListener, UnixStream};
use std::time::Instant;

use netfathom_model::path::Direction::{Rx, Tx};
use netfathom_model::record::WatchSent;
use netfathom_sys::splice::splice;
use socket2::{Domain, SockAddr, SockRef, Socket, Type};

use super::datagrams::fail_to_read;
use super::planted::{others, sum};
use super::*;
use crate::run_time;

/// `None` on kernels that lack a hook for it.
fn attach(socket: &impl AsFd) -> Option<Watch> {
    let directions = if tracepoint::is_missing(SENDING) { &[Rx][..] } else { &[Rx, Tx] };
    let detail = Detail { unix: true, ..Detail::default() };
    match Watch::attach(Selection::Marked, directions, detail) {
        Ok(watch) => {
            watch.mark_unix(socket).unwrap();
            Some(watch)
        }
        Err(WatchError::Unix(_)) => {
            skipped("watch::tests::unix", "needs sk_data_ready and sock_recv_length: Linux 6.3");
            None
        }
        Err(e) => panic!("{e}"),
    }
}

/// Of this test alone.
fn address(name: &str) -> SocketAddr {
    SocketAddr::from_abstract_name(format!("netfathom-{}-{name}", std::process::id())).unwrap()
}

/// The same address for a socket of another library.
fn same_address(name: &str) -> SockAddr {
    SockAddr::unix(format!("\0netfathom-{}-{name}", std::process::id())).unwrap()
}

fn socket(kind: Type) -> Socket {
    Socket::new(Domain::UNIX, kind, None).unwrap()
}

/// One request of 64 bytes after the other, over a connection that is accepted now; the server does `before` each, once
/// there is something to read, and reads it in two parts.
fn exchange(listener: &UnixListener, requests: u64, before: impl Fn() + Sync) {
    let address = listener.local_addr().unwrap();
    thread::scope(|scope| {
        scope.spawn(|| {
            let (mut stream, _) = listener.accept().unwrap();
            let mut message = [0; 64];
            for _ in 0..requests {
                SockRef::from(&stream).peek(&mut [MaybeUninit::uninit()]).unwrap();
                before();
                stream.read_exact(&mut message[..10]).unwrap();
                stream.read_exact(&mut message[10..]).unwrap();
                stream.write_all(&message).unwrap();
            }
        });
        ask(UnixStream::connect_addr(&address).unwrap(), requests);
    });
}

/// A client, and the end of its server.
fn connected(listener: &UnixListener) -> [UnixStream; 2] {
    let client = UnixStream::connect_addr(&listener.local_addr().unwrap()).unwrap();
    [client, listener.accept().unwrap().0]
}

/// Sends datagrams of these sizes to a reader that sleeps before each. Returns how long they waited, by its clock, ns.
fn wait_alone(server: &UnixDatagram, client: &UnixDatagram, sizes: impl IntoIterator<Item = usize>) -> f64 {
    let mut waited = Duration::ZERO;
    for bytes in sizes {
        let since = Instant::now();
        client.send(&[7; 64][..bytes]).unwrap();
        thread::sleep(PAUSE / 4);
        assert_eq!(server.recv(&mut [0; 100]).unwrap(), bytes);
        waited += since.elapsed();
        thread::sleep(PAUSE / 4);
    }
    waited.as_nanos() as f64
}

/// A reader that is awake may take a message before its sender announces it.
fn holds(watch: &Watch, requests: u64) {
    let account = watch.account().unwrap();
    assert!(nearly(account.timed + account.unfollowed, requests), "{account:?}");
    assert!(account.unfollowed <= 1 + unseen(requests), "{account:?}");
    add_up(watch, requests);
    assert_eq!(watch.stage(WatchStage::Protocol).unwrap().moments.n, 0);
}

#[test]
fn each_request_of_an_accepted_socket_is_a_message_and_its_stages_are_its_time() {
    needs_root!();
    let listeners = ["a", "b"].map(|name| UnixListener::bind_addr(&address(name)).unwrap());
    let Some(watch) = attach(&listeners[0]) else { return };
    exchange(&listeners[0], REQUESTS, || ());
    exchange(&listeners[1], REQUESTS, || ());
    holds(&watch, REQUESTS);
    assert_eq!(watch.reader().unwrap().pid, std::process::id());
}

/// Then the kernel may have given its memory to another listener.
#[test]
fn the_address_of_a_listener_holds_for_ten_seconds() {
    const LONG_NS: u64 = 11_000_000_000;
    needs_root!();
    let listener = UnixListener::bind_addr(&address("noted")).unwrap();
    let Some(watch) = attach(&listener) else { return };
    // A kernel in an emulator may be younger.
    thread::sleep(Duration::from_nanos(LONG_NS.saturating_sub(monotonic_ns())));
    let noted = SET.map(&watch.object, "listeners").unwrap();
    let mut connections = Vec::new();
    for (ago_ns, seen) in [(LONG_NS * 2 / 3, 1), (LONG_NS, 1), (0, 3)] {
        connections.push(connected(&listener));
        assert_eq!(noted.keys().count(), 1);
        let at = monotonic_ns() - ago_ns;
        watch.mapping.get().connected.store(at, Relaxed);
        noted.keys().for_each(|key| noted.update(&key, &at.to_ne_bytes(), MapFlags::EXIST).unwrap());
        // The second connection is followed once its listener is known again.
        let first = connections.len().min(2) - 1;
        for [client, _] in &mut connections[first..] {
            client.write_all(&[7; 64]).unwrap();
        }
        assert_eq!(watch.account().unwrap().seen, seen, "{ago_ns}");
        watch.set_clock();
        assert_eq!(watch.mapping.get().connected.load(Relaxed) == 0, ago_ns == LONG_NS);
    }
}

#[test]
fn each_datagram_of_several_senders_is_a_message() {
    needs_root!();
    let at = address("datagrams");
    let server = UnixDatagram::bind_addr(&at).unwrap();
    let Some(watch) = attach(&server) else { return };
    let mut message = [0; 100];
    for round in 0..REQUESTS / 4 {
        let senders = [(); 4].map(|()| UnixDatagram::unbound().unwrap());
        for sender in &senders {
            sender.send_to_addr(&[7; 64], &at).unwrap();
        }
        for _ in senders {
            assert_eq!(server.recv(&mut message).unwrap(), 64, "{round}");
        }
    }
    holds(&watch, REQUESTS);
}

#[test]
fn several_threads_that_read_take_a_message_each() {
    const READERS: u64 = 4;
    needs_root!();
    let at = address("readers");
    let server = UnixDatagram::bind_addr(&at).unwrap();
    let Some(watch) = attach(&server) else { return };
    thread::scope(|scope| {
        for _ in 0..READERS {
            scope.spawn(|| {
                let mut message = [0; 100];
                while server.recv(&mut message).unwrap() == 64 {}
            });
        }
        let sender = UnixDatagram::unbound().unwrap();
        (0..REQUESTS).for_each(|_| assert_eq!(sender.send_to_addr(&[7; 64], &at).unwrap(), 64));
        // Ends a reader each.
        (0..READERS).for_each(|_| assert_eq!(sender.send_to_addr(&[7], &at).unwrap(), 1));
    });
    let account = watch.account().unwrap();
    println!("{account:?}");
    assert!(nearly(account.seen, REQUESTS + READERS) && account.unread() >= 0, "{account:?}");
    // A read that was missed may have been of another process.
    let missed = run_time::missed(&watch.object, |program| program != "udp_sock_recv_length").unwrap();
    let nearly_all = |n: u64, missed: u64, of: u64| n <= of && nearly((n + missed).min(of), of);
    assert!(nearly_all(account.ended(), missed, account.seen), "{missed}: {account:?}");
    let sent = 64 * REQUESTS + READERS;
    assert!(nearly_all(account.bytes_read, 64 * missed, sent), "{missed}: {account:?}");
}

#[test]
fn what_waits_for_a_sleeping_reader_is_in_blocked() {
    const ROUNDS: u64 = 20;
    needs_root!();
    needs_times!();
    let listener = UnixListener::bind_addr(&address("sleeping")).unwrap();
    let Some(watch) = attach(&listener) else { return };
    let since = Instant::now();
    exchange(&listener, ROUNDS, || thread::sleep(PAUSE));
    let elapsed = since.elapsed().as_nanos() as u64;
    let (account, blocked) = (watch.account().unwrap(), sum(&watch, WatchStage::Blocked));
    // Its first message has no times.
    assert!((ROUNDS - 2..ROUNDS).contains(&account.timed), "{account:?}");
    let least = account.timed * PAUSE.as_nanos() as u64 * 99 / 100;
    assert!((least..elapsed).contains(&blocked), "{blocked} of {elapsed}, {account:?}");
    assert!(others(&watch, WatchStage::Blocked) * 10 < blocked, "{account:?}");
}

/// Its reader is often awake when a message comes, and takes it before it is announced.
#[test]
fn no_message_of_a_busy_stream_is_read_before_it_comes() {
    const MESSAGES: u64 = 20_000;
    needs_root!();
    let listener = UnixListener::bind_addr(&address("busy")).unwrap();
    let Some(watch) = attach(&listener) else { return };
    let [mut client, mut server] = connected(&listener);
    thread::scope(|scope| {
        server.set_nonblocking(true).unwrap();
        scope.spawn(|| {
            let mut left = 64 * MESSAGES as usize;
            while left > 0 {
                match server.read(&mut [0; 64]) {
                    Ok(read) => left -= read.max(1),
                    Err(e) => assert_eq!(e.kind(), io::ErrorKind::WouldBlock),
                }
            }
        });
        for pause in [1, 2, 3, 4].map(Duration::from_micros) {
            for _ in 0..MESSAGES / 4 {
                client.write_all(&[0; 64]).unwrap();
                let since = Instant::now();
                while since.elapsed() < pause {}
            }
        }
    });
    let (account, total) = (watch.account().unwrap(), watch.total().unwrap());
    println!("{account:?}");
    assert!(nearly(account.seen, MESSAGES) && nearly(account.ended(), account.seen), "{account:?}");
    assert_eq!((total.histogram.negative(), account.bytes_timed), (0, 64 * account.timed), "{account:?}");
}

#[test]
fn datagrams_without_bytes_are_messages_too() {
    const ROUNDS: u64 = 20;
    needs_root!();
    needs_times!();
    let at = address("empty");
    let (server, client) = (UnixDatagram::bind_addr(&at).unwrap(), UnixDatagram::unbound().unwrap());
    let Some(watch) = attach(&server) else { return };
    client.connect_addr(&at).unwrap();
    let waited = wait_alone(&server, &client, [0, 64].repeat(ROUNDS as usize));
    let (account, total) = (watch.account().unwrap(), watch.total().unwrap().moments.sum as f64);
    assert!(nearly(account.timed, 2 * ROUNDS - 1), "{account:?}");
    assert!(total > waited * 0.8 && total < waited * 1.05, "{total} of {waited}, {account:?}");
}

/// A datagram is gone, and no program saw that it was read.
#[test]
fn a_read_that_fails_shifts_no_times() {
    const SOME: usize = 20;
    needs_root!();
    needs_times!();
    let at = address("fails");
    let (server, client) = (UnixDatagram::bind_addr(&at).unwrap(), UnixDatagram::unbound().unwrap());
    let Some(watch) = attach(&server) else { return };
    client.connect_addr(&at).unwrap();
    wait_alone(&server, &client, [64; 2]);
    client.send(&[7; 64]).unwrap();
    fail_to_read(&server);
    let sum = || watch.total().unwrap().moments.sum as f64;
    let (before, timed) = (sum(), watch.account().unwrap().timed);
    let waited = wait_alone(&server, &client, [64; SOME]);
    let (total, account) = (sum() - before, watch.account().unwrap());
    assert!(nearly(account.timed - timed, SOME as u64), "{account:?}");
    assert_eq!(account.unread(), 1, "{account:?}");
    assert!(total > waited * 0.8 && total < waited * 1.05, "{total} of {waited}, {account:?}");
}

/// Several messages in one read, and one in several.
#[test]
fn reads_that_end_anywhere_take_the_messages_that_they_end() {
    const MESSAGES: u64 = 100;
    needs_root!();
    let listener = UnixListener::bind_addr(&address("parts")).unwrap();
    let Some(watch) = attach(&listener) else { return };
    let [mut client, mut server] = connected(&listener);
    client.write_all(&[0; 64]).unwrap();
    server.read_exact(&mut [0; 64]).unwrap();
    for _ in 0..MESSAGES {
        client.write_all(&[0; 64]).unwrap();
    }
    let mut all = vec![0; 64 * MESSAGES as usize];
    for part in all.chunks_mut(64 * 7 + 1) {
        server.read_exact(part).unwrap();
    }
    let account = watch.account().unwrap();
    assert_eq!((account.seen, account.timed, account.unfollowed), (MESSAGES + 1, MESSAGES, 1), "{account:?}");
    assert_eq!((account.bytes_read, account.bytes_timed), (64 * (MESSAGES + 1), 64 * MESSAGES));
}

/// Its reader skips it.
#[test]
fn an_urgent_byte_is_no_message_and_a_read_of_it_ends_none() {
    const ROUNDS: u64 = 20;
    needs_root!();
    let listener = UnixListener::bind_addr(&address("urgent")).unwrap();
    let Some(watch) = attach(&listener) else { return };
    let [mut client, mut server] = connected(&listener);
    let mut exchange = |client: &mut UnixStream| {
        client.write_all(&[7; 64]).unwrap();
        server.read_exact(&mut [0; 64]).unwrap();
    };
    exchange(&mut client);
    for _ in 0..ROUNDS {
        if let Err(e) = SockRef::from(&client).send_out_of_band(b"!") {
            skip!("needs CONFIG_AF_UNIX_OOB: {e}")
        }
        exchange(&mut client);
    }
    SockRef::from(&client).send_out_of_band(b"!").unwrap();
    let mut urgent = [MaybeUninit::uninit()];
    assert_eq!(SockRef::from(&server).recv_out_of_band(&mut urgent).unwrap(), 1);
    let account = watch.account().unwrap();
    assert_eq!((account.seen, account.unread()), (ROUNDS + 1, 0), "{account:?}");
    assert_eq!((account.bytes_read, account.bytes_timed), (64 * (ROUNDS + 1), 64 * account.timed));
    assert!(account.timed + unseen(ROUNDS) >= ROUNDS, "{account:?}");
}

/// No hook shows that: the next read is of what came after it.
#[test]
fn what_was_spliced_does_not_end_with_a_later_read() {
    // A pipe has 16 places.
    const ROUNDS: u64 = 8;
    needs_root!();
    let listener = UnixListener::bind_addr(&address("spliced")).unwrap();
    let Some(watch) = attach(&listener) else { return };
    let [mut client, mut server] = connected(&listener);
    let (_taken, into) = pipe().unwrap();
    client.write_all(&[7; 64]).unwrap();
    server.read_exact(&mut [0; 64]).unwrap();
    let timed = watch.account().unwrap().timed;
    for _ in 0..ROUNDS {
        client.write_all(&[7; 64]).unwrap();
        assert_eq!(splice(server.as_fd(), into.as_fd(), 64).unwrap(), 64);
        client.write_all(&[7; 64]).unwrap();
        server.read_exact(&mut [0; 64]).unwrap();
    }
    let account = watch.account().unwrap();
    assert_eq!((account.seen, account.ended()), (2 * ROUNDS + 1, 2 * ROUNDS + 1), "{account:?}");
    assert_eq!(account.bytes_read, 64 * (ROUNDS + 1), "{account:?}");
    assert!(account.timed - timed <= ROUNDS && account.unfollowed >= ROUNDS, "{account:?}");
}

/// What the server's own clock has before and after its read.
struct Asked(Instant, Instant);

fn read(mut server: impl Read) -> Asked {
    let before = Instant::now();
    assert!(server.read(&mut [0; 1000]).unwrap() >= 64);
    Asked(before, Instant::now())
}

/// The time between its reads and its answers by that clock: at least and at most.
#[derive(Default)]
struct Answers {
    n: u64,
    least: Duration,
    most: Duration,
}

impl Answers {
    fn answer(&mut self, asked: &Asked, mut server: impl Write) {
        thread::sleep(PAUSE / 10);
        self.least += asked.1.elapsed();
        server.write_all(&[0; 64]).unwrap();
        self.most += asked.0.elapsed();
        self.n += 1;
    }

    fn holds(&self, watch: &Watch) {
        let application = watch.application().unwrap().unwrap().moments;
        let span = self.least.as_nanos() as i128..=self.most.as_nanos() as i128;
        println!("{application:?} in {span:?}");
        assert_eq!(application.n, self.n);
        assert!(span.contains(&application.sum), "{application:?} in {span:?}");
    }
}

/// Several requests in one read have one time, and so has one in several reads, or an answer of several parts.
#[test]
fn an_application_has_its_time_from_its_last_read_to_its_first_answer() {
    const ROUNDS: usize = 10;
    needs_root!();
    let listener = UnixListener::bind_addr(&address("answers")).unwrap();
    let Some(watch) = attach(&listener) else { return };
    let [mut client, mut server] = connected(&listener);
    let mut answers = Answers::default();
    for requests in 2..2 + ROUNDS {
        (0..requests).for_each(|_| client.write_all(&[7; 64]).unwrap());
        server.read_exact(&mut [0; 10]).unwrap();
        answers.answer(&read(&server), &server);
        server.write_all(&[0; 64_000]).unwrap();
        client.read_exact(&mut [0; 64_064]).unwrap();
    }
    // Nothing was read since.
    server.write_all(&[0; 64]).unwrap();
    answers.holds(&watch);
    if !tracepoint::is_missing(SENDING) {
        let sent = WatchSent { messages: 2 * ROUNDS as u64 + 1, bytes: 64_064 * ROUNDS as u64 + 64 };
        let account = watch.send_account().unwrap();
        assert_eq!((account.seen, account.unix), (0, Some(sent)), "{account:?}");
    }
}

#[test]
fn a_connection_that_its_client_has_half_closed_has_the_time_of_its_answer() {
    needs_root!();
    let listener = UnixListener::bind_addr(&address("half")).unwrap();
    let Some(watch) = attach(&listener) else { return };
    let mut answers = Answers::default();
    for _ in 0..5 {
        let [mut client, mut server] = connected(&listener);
        client.write_all(&[7; 64]).unwrap();
        client.shutdown(Shutdown::Write).unwrap();
        let asked = read(&server);
        assert_eq!(server.read(&mut [0]).unwrap(), 0);
        answers.answer(&asked, &server);
        client.read_exact(&mut [0; 64]).unwrap();
    }
    answers.holds(&watch);
}

#[test]
fn another_thread_may_answer_and_an_answer_may_be_a_packet() {
    needs_root!();
    for kind in [Type::STREAM, Type::SEQPACKET] {
        let ([listener, mut client], at) = ([(); 2].map(|()| socket(kind)), same_address("packets"));
        listener.bind(&at).unwrap();
        listener.listen(1).unwrap();
        client.connect(&at).unwrap();
        let (server, _) = listener.accept().unwrap();
        drop(listener);
        let Some(watch) = attach(&server) else { return };
        let mut answers = Answers::default();
        for _ in 0..5 {
            client.write_all(&[7; 64]).unwrap();
            let asked = read(&server);
            thread::scope(|scope| {
                scope.spawn(|| answers.answer(&asked, &server));
            });
        }
        answers.holds(&watch);
    }
}

/// A client may have an address too. Of a pair neither end is known to be a server.
#[test]
fn only_the_end_that_was_accepted_has_an_application() {
    const ROUNDS: u64 = 5;
    needs_root!();
    let listener = UnixListener::bind_addr(&address("ends")).unwrap();
    let Some(watch) = attach(&listener) else { return };
    let clients = [(); 2].map(|()| socket(Type::STREAM));
    clients[1].bind(&same_address("client")).unwrap();
    for mut client in clients {
        client.connect(&same_address("ends")).unwrap();
        watch.mark_unix(&client).unwrap();
        answers(&mut client, &mut listener.accept().unwrap().0, ROUNDS);
    }
    let (mut first, mut second) = UnixStream::pair().unwrap();
    for end in [&first, &second] {
        watch.mark_unix(end).unwrap();
    }
    answers(&mut first, &mut second, ROUNDS);
    assert_eq!(watch.account().unwrap().seen, 2 * ROUNDS * 3);
    assert_eq!(watch.application().unwrap().unwrap().moments.n, 2 * ROUNDS);
}

/// Without any look at it: a client by its first message, the end of its server by its first read.
#[test]
fn a_connection_of_a_watched_process_is_followed_as_it_is_used() {
    const ROUNDS: u64 = 20;
    needs_root!();
    let listener = UnixListener::bind_addr(&address("used")).unwrap();
    let Some(watch) = attach(&UnixDatagram::unbound().unwrap()) else { return };
    watch.watch_process(std::process::id()).unwrap();
    for _ in 0..ROUNDS {
        let [mut client, mut server] = connected(&listener);
        answers(&mut client, &mut server, 2);
    }
    let account = watch.account().unwrap();
    assert_eq!((account.seen, account.bytes_read), (4 * ROUNDS, 4 * 64 * ROUNDS), "{account:?}");
    assert!((ROUNDS..=ROUNDS + unseen(4 * ROUNDS)).contains(&account.unfollowed), "{account:?}");
    assert_eq!(account.ended(), account.seen, "{account:?}");
    assert_eq!(watch.application().unwrap().unwrap().moments.n, ROUNDS);
}
