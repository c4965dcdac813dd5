//! Each message is one, whichever call reads or sends it, whichever thread does, and whichever listener took its
//! connection.

use std::io::{Seek, pipe};
use std::net::Shutdown;
use std::os::fd::{FromRawFd, OwnedFd};
use std::sync::atomic::AtomicUsize;

use netfathom_sys::splice::{memory_file, send_file, splice};
use socket2::{Domain, SockRef, Socket, Type};

use super::*;

#[test]
fn what_goes_into_a_pipe_by_splice_is_read_and_nothing_copies_it() {
    needs_root!();
    let (listener, watch) = listening();
    thread::scope(|scope| {
        scope.spawn(|| {
            let mut stream = listener.accept().unwrap().0;
            let (mut taken, into) = pipe().unwrap();
            let mut message = [0; 64];
            while stream.peek(&mut message).unwrap() > 0 {
                assert_eq!(splice(stream.as_fd(), into.as_fd(), message.len()).unwrap(), message.len());
                taken.read_exact(&mut message).unwrap();
                stream.write_all(&message).unwrap();
            }
        });
        let client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        client.set_nodelay(true).unwrap();
        ask(client, REQUESTS);
    });
    holds(&watch, REQUESTS);
    let copied = watch.stage(WatchStage::Read).unwrap().moments;
    assert!(copied.n <= unseen(REQUESTS), "{copied:?}");
}

/// One of several at a port (0: any): the kernel gives each connection to one of them.
fn sharing(port: u16) -> TcpListener {
    let socket = Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
    socket.set_reuse_port(true).unwrap();
    socket.bind(&SocketAddr::from((Ipv4Addr::LOCALHOST, port)).into()).unwrap();
    socket.listen(128).unwrap();
    socket.into()
}

/// Answers each message of one connection after the other, until the listener is shut down. Returns how many connections
/// there were.
fn serve(listener: &TcpListener) -> u64 {
    let mut connections = 0;
    for mut stream in listener.incoming().map_while(Result::ok) {
        let mut message = [0; 64];
        while stream.read_exact(&mut message).is_ok() {
            stream.write_all(&message).unwrap();
        }
        connections += 1;
    }
    connections
}

#[test]
fn two_listeners_that_share_a_port_are_watched_and_each_connection_is_one() {
    needs_root!();
    // The kernel chooses by a hash: one test in 2^31 has all of them at one listener.
    const CONNECTIONS: u64 = 32;
    const EACH: u64 = 10;
    let first = sharing(0);
    let at = first.local_addr().unwrap();
    let listeners = [first, sharing(at.port())];
    let mut watch = by_socket(Selection::Port(at.port()), &[Direction::Rx]);
    let accepted = thread::scope(|scope| {
        let servers = listeners.each_ref().map(|listener| scope.spawn(move || serve(listener)));
        let client =
            scope.spawn(|| (0..CONNECTIONS).for_each(|_| ask(TcpStream::connect(at).unwrap(), EACH)));
        let asked = client.join();
        // The servers wait for a connection, and would forever.
        for listener in &listeners {
            SockRef::from(listener).shutdown(Shutdown::Read).unwrap();
        }
        asked.unwrap();
        servers.map(|server| server.join().unwrap())
    });
    assert!(!accepted.contains(&0) && accepted.iter().sum::<u64>() == CONNECTIONS, "{accepted:?}");
    holds(&watch, CONNECTIONS * EACH);
    let sockets = watch.sockets().unwrap();
    super::sockets::are_all(&watch, &sockets);
    assert_eq!(sockets.each.len() as u64, CONNECTIONS);
}

/// One that several threads wait on.
struct Epoll(OwnedFd);

impl Epoll {
    fn new() -> Self {
        // SAFETY: no pointers.
        let number = unsafe { libc::epoll_create1(libc::EPOLL_CLOEXEC) };
        assert!(number >= 0, "{}", io::Error::last_os_error());
        // SAFETY: the kernel has just made it for us alone.
        Self(unsafe { OwnedFd::from_raw_fd(number) })
    }

    /// One thread gets what comes next to this socket; after that none does until it is armed again.
    fn arm(&self, what: libc::c_int, socket: &TcpStream, at: usize) {
        let events = (libc::EPOLLIN | libc::EPOLLONESHOT) as u32;
        let mut event = libc::epoll_event { events, u64: at as u64 };
        // SAFETY: the event lives during the call.
        let done = unsafe { libc::epoll_ctl(self.0.as_raw_fd(), what, socket.as_raw_fd(), &raw mut event) };
        assert_eq!(done, 0, "{}", io::Error::last_os_error());
    }

    /// A socket to which something has come; `None` if nothing comes for a while.
    fn wait(&self) -> Option<usize> {
        const WHILE_MS: libc::c_int = 50;
        let mut event = libc::epoll_event { events: 0, u64: 0 };
        // SAFETY: there is room for the one event that is asked for.
        let n = unsafe { libc::epoll_wait(self.0.as_raw_fd(), &raw mut event, 1, WHILE_MS) };
        (n == 1).then_some(event.u64 as usize)
    }
}

const NAP: Duration = Duration::from_millis(1);

/// Answers what comes to any of these after a nap, until all of them are closed by their clients. Returns how many
/// messages that were.
fn answer(epoll: &Epoll, servers: &[TcpStream], open: &AtomicUsize) -> u64 {
    let (mut answered, mut message) = (0, [0; 64]);
    while open.load(Relaxed) > 0 {
        let Some(at) = epoll.wait() else { continue };
        let mut stream = &servers[at];
        thread::sleep(NAP);
        if stream.read_exact(&mut message).is_err() {
            open.fetch_sub(1, Relaxed);
            continue;
        }
        stream.write_all(&message).unwrap();
        epoll.arm(libc::EPOLL_CTL_MOD, stream, at);
        answered += 1;
    }
    answered
}

#[test]
fn each_of_several_threads_that_wait_on_one_epoll_has_its_own_messages() {
    needs_root!();
    const THREADS: u64 = 4;
    let (listener, watch) = listening();
    let (epoll, open) = (Epoll::new(), AtomicUsize::new(THREADS as usize));
    let (mut clients, mut servers) = (Vec::new(), Vec::new());
    for at in 0..THREADS as usize {
        let client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        client.set_nodelay(true).unwrap();
        clients.push(client);
        servers.push(listener.accept().unwrap().0);
        epoll.arm(libc::EPOLL_CTL_ADD, &servers[at], at);
    }
    let answered: Vec<u64> = thread::scope(|scope| {
        let threads: Vec<_> = (0..THREADS).map(|_| scope.spawn(|| answer(&epoll, &servers, &open))).collect();
        for client in clients {
            scope.spawn(move || ask(client, REQUESTS / THREADS));
        }
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    assert!(!answered.contains(&0) && answered.iter().sum::<u64>() == REQUESTS, "{answered:?}");
    add_up(&watch, REQUESTS);
    // The first of each thread has no times.
    let account = watch.account().unwrap();
    assert!(nearly(account.timed + THREADS, REQUESTS), "{account:?}");
    assert!((THREADS..=THREADS + unseen(REQUESTS)).contains(&account.unfollowed), "{account:?}");
    // The thread that read it is the one that took the nap.
    let nap = NAP.as_nanos() as i64 * 9 / 10;
    let (total, blocked) =
        (watch.total().unwrap().moments, watch.stage(WatchStage::Blocked).unwrap().moments);
    assert!(total.min >= nap, "{total:?}");
    assert!(blocked.sum >= i128::from(account.timed) * i128::from(nap), "{blocked:?}");
}

#[test]
fn each_file_that_the_kernel_sends_is_a_message() {
    needs_root!();
    needs!(!tracepoint::is_missing(SENDING), "needs tcp_sendmsg_locked: Linux 6.16");
    const ROUNDS: u64 = 100;
    // Several pages, and fewer than the 16 that one call of TCP gets from the kernel.
    const BYTES: usize = 10_000;
    let mut file = memory_file(&[7; BYTES]).unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = Selection::Port(listener.local_addr().unwrap().port());
    let watch = Watch::attach(port, &[Direction::Tx], Detail::default()).unwrap();
    let (server, mut client) = connection(&listener);
    server.set_nodelay(true).unwrap();
    let mut received = vec![0; BYTES];
    for _ in 0..ROUNDS {
        file.rewind().unwrap();
        assert_eq!(send_file(file.as_fd(), server.as_fd(), BYTES).unwrap(), BYTES);
        client.read_exact(&mut received).unwrap();
    }
    let sums = send::holds(&watch, ROUNDS, ROUNDS * BYTES as u64);
    let timed = watch.send_account().unwrap().timed;
    // All of them passed both.
    for stage in [WatchStage::Socket, WatchStage::Qdisc] {
        assert_eq!(sums.iter().find(|sum| sum.0 == stage).unwrap().1, timed, "{stage:?}: {sums:?}");
    }
}
