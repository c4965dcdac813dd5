//! Which sockets are watched.

use std::os::fd::OwnedFd;

use netfathom_testkit::again_in_pid_namespace;
use socket2::{Domain, Protocol, Socket, Type};

use super::*;

#[test]
fn of_two_connections_to_a_port_one_can_be_watched() {
    needs_root!();
    for address in ["127.0.0.1:0", "[::1]:0"] {
        let listener = TcpListener::bind(address).unwrap();
        let at = listener.local_addr().unwrap();
        let mut pairs = [(); 2].map(|()| (TcpStream::connect(at).unwrap(), listener.accept().unwrap().0));
        let peer = pairs[0].0.local_addr().unwrap();
        let watch = Watch::attach(Selection::Flow(at, peer), &[Direction::Rx], Detail::default()).unwrap();
        for (requests, (client, server)) in [5, 3].into_iter().zip(&mut pairs) {
            answers(client, server, requests);
        }
        let account = watch.account().unwrap();
        assert_eq!((account.seen, account.timed, account.unfollowed), (5, 4, 1), "{account:?}");
    }
}

#[test]
fn all_sockets_are_watched_at_both_ends() {
    needs_root!();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let mut watch = by_socket(Selection::All, &[Direction::Rx]);
    exchange(&listener, REQUESTS, || ());
    let address = Some(listener.local_addr().unwrap().to_string());
    let sockets = watch.sockets().unwrap().each;
    for of_server in [true, false] {
        let ends = sockets.iter().filter(|of| address == *if of_server { &of.local } else { &of.peer });
        // The first message of a thread has no times.
        assert!(nearly(ends.map(|of| of.receive.total.n).sum::<u64>() + 1, REQUESTS), "{sockets:?}");
    }
}

/// Without any look at it: from its first message on, although the server speaks first.
#[test]
fn what_a_watched_process_connects_is_watched_from_the_first_message() {
    needs_root!();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let watch = attach(None);
    let connect = || {
        let (mut server, mut client) = connection(&listener);
        answers(&mut server, &mut client, 3);
    };
    connect();
    assert_eq!(watch.account().unwrap().seen, 0);
    watch.watch_process(std::process::id()).unwrap();
    // The listener was there before; the client's end alone is watched.
    connect();
    let account = watch.account().unwrap();
    assert_eq!((account.seen, account.timed, account.unfollowed), (3, 2, 1), "{account:?}");
    watch.forget_process(std::process::id());
    connect();
    assert_eq!(watch.account().unwrap().seen, 3);
}

#[test]
fn processes_are_known_in_a_pid_namespace_too() {
    needs_root!();
    let same = [
        "target::what_a_watched_process_connects_is_watched_from_the_first_message",
        "each_request_of_a_port_is_a_message_and_its_stages_are_its_time",
        "slow::what_this_process_had_of_the_cpu_is_netfathoms",
    ];
    same.iter().for_each(|test| again_in_pid_namespace(&format!("watch::tests::{test}")));
}

#[test]
fn what_a_watched_process_listens_on_is_watched() {
    needs_root!();
    let watch = attach(None);
    watch.watch_process(std::process::id()).unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    watch.forget_process(std::process::id());
    exchange(&listener, REQUESTS, || ());
    holds(&watch, REQUESTS);
}

/// Between an answer and the next request a client does nothing, and a server has no answers to wait for.
#[test]
fn a_client_has_the_time_to_its_answers_and_a_server_its_own() {
    needs_root!();
    const ANSWERS: u64 = 5;
    let watch = attach(None);
    watch.watch_process(std::process::id()).unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let (mut server, mut client) = connection(&listener);
    watch.forget_process(std::process::id());
    let mut message = [7; 64];
    for _ in 0..ANSWERS {
        client.write_all(&message).unwrap();
        server.read_exact(&mut message).unwrap();
        thread::sleep(PAUSE);
        server.write_all(&message).unwrap();
        client.read_exact(&mut message).unwrap();
    }
    let Some(answer) = watch.answer().unwrap() else { return };
    for times in [answer, watch.application().unwrap().unwrap()] {
        assert_eq!(times.moments.n, ANSWERS);
        assert!(times.quantile(0.0).unwrap() >= PAUSE.as_nanos() as i64 * 7 / 8, "{:?}", times.moments);
    }
}

/// Which has no listener left. The first message that is seen is an answer: the server sends it, the client reads it.
#[test]
fn the_client_of_an_older_connection_is_the_end_that_connected() {
    needs_root!();
    const ANSWERS: u64 = 5;
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let (mut server, mut client) = connection(&listener);
    drop(listener);
    answers(&mut client, &mut server, ANSWERS);
    let mut message = [7; 64];
    for is_client in [true, false] {
        let watch = attach(None);
        client.write_all(&message).unwrap();
        server.read_exact(&mut message).unwrap();
        watch.mark(if is_client { &client } else { &server }, false).unwrap();
        server.write_all(&message).unwrap();
        client.read_exact(&mut message).unwrap();
        answers(&mut client, &mut server, ANSWERS);
        let Some(answer) = watch.answer().unwrap() else { return };
        assert_eq!(answer.moments.n, if is_client { ANSWERS } else { 0 });
    }
}

/// Of MPTCP, which std knows nothing of, with a connected one or a listener.
fn mptcp(at: Option<SocketAddr>) -> io::Result<TcpListener> {
    let socket = Socket::new(Domain::IPV4, Type::STREAM, Some(Protocol::MPTCP))?;
    match at {
        Some(at) => socket.connect(&at.into())?,
        None => {
            socket.bind(&SocketAddr::from((Ipv4Addr::LOCALHOST, 0)).into())?;
            socket.listen(1)?;
        }
    }
    Ok(socket.into())
}

#[test]
fn connections_of_mptcp_are_recognized_and_not_seen() {
    needs_root!();
    let Ok(listener) = mptcp(None) else { skip!("needs CONFIG_MPTCP and net.mptcp.enabled=1") };
    let at = listener.local_addr().unwrap();
    let watch = attach(Some(at.port()));
    let client = mptcp(Some(at)).unwrap();
    let mut client = TcpStream::from(OwnedFd::from(client));
    let mut server = listener.accept().unwrap().0;
    answers(&mut client, &mut server, 5);
    let account = watch.account().unwrap();
    assert_eq!((account.seen, account.mptcp), (0, 1), "{account:?}");
    // One of TCP to the same listener is watched.
    let (mut server, mut client) = connection(&listener);
    answers(&mut client, &mut server, 5);
    let account = watch.account().unwrap();
    assert_eq!((account.seen, account.mptcp), (5, 1), "{account:?}");
}

/// Puts the layer of kTLS over a connection. Without keys it encrypts nothing yet.
fn add_tls(socket: &TcpStream) -> io::Result<()> {
    const NAME: &[u8] = b"tls";
    // SAFETY: the kernel reads as many bytes as there are.
    let done = unsafe {
        let (name, length) = (NAME.as_ptr().cast(), NAME.len() as u32);
        libc::setsockopt(socket.as_raw_fd(), libc::IPPROTO_TCP, libc::TCP_ULP, name, length)
    };
    if done == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

#[test]
fn a_socket_that_the_kernel_encrypts_is_recognized_and_counted_once() {
    needs_root!();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let at = listener.local_addr().unwrap();
    let watch = attach(Some(at.port()));
    let (mut server, mut client) = connection(&listener);
    if let Err(why) = add_tls(&server) {
        skip!("needs CONFIG_TLS: {why}");
    }
    answers(&mut client, &mut server, 3);
    let account = watch.account().unwrap();
    assert_eq!((account.seen, account.encrypted), (3, 1), "{account:?}");
    // One of TCP alone to the same listener is none.
    let (mut server, mut client) = connection(&listener);
    answers(&mut client, &mut server, 3);
    let account = watch.account().unwrap();
    assert_eq!((account.seen, account.encrypted), (6, 1), "{account:?}");
}
