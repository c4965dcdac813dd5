//! What is known of a connection, when another one takes its socket, and when the programs come and go.

use std::mem::MaybeUninit;

use socket2::{Domain, Socket, Type};

use super::send::set;
use super::*;

/// Ends the connection of a socket that can be connected again.
fn disconnect(socket: &Socket) {
    let nowhere = libc::sockaddr { sa_family: libc::AF_UNSPEC as libc::sa_family_t, sa_data: [0; 14] };
    let size = size_of::<libc::sockaddr>() as libc::socklen_t;
    // SAFETY: the address lives during the call, and the size is its.
    let done = unsafe { libc::connect(socket.as_raw_fd(), &raw const nowhere, size) };
    assert_eq!(done, 0, "{}", io::Error::last_os_error());
}

/// The server's end of a connection that this socket makes.
fn connect(socket: &Socket, listener: &TcpListener) -> TcpStream {
    socket.connect(&listener.local_addr().unwrap().into()).unwrap();
    listener.accept().unwrap().0
}

#[test]
fn a_socket_that_is_connected_again_has_the_messages_of_each_connection() {
    needs_root!();
    let listeners = [(); 6].map(|()| TcpListener::bind("127.0.0.1:0").unwrap());
    let mut watch = by_socket(Selection::Marked, &[Direction::Rx]);
    watch.watch_process(std::process::id()).unwrap();
    let socket = Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
    for (number, listener) in listeners.iter().enumerate() {
        let mut server = connect(&socket, listener);
        watch.forget_process(std::process::id());
        for _ in 0..2 {
            server.write_all(&[7; 64]).unwrap();
            (&socket).read_exact(&mut [0; 64]).unwrap();
        }
        if number == 2 {
            server.write_all(&[7; 64]).unwrap();
            socket.peek(&mut [MaybeUninit::uninit()]).unwrap();
        }
        disconnect(&socket);
    }
    let account = watch.account().unwrap();
    assert_eq!((account.seen, account.timed, account.unfollowed), (13, 11, 1), "{account:?}");
    assert_eq!((account.unread(), account.refused), (1, 0), "{account:?}");
    assert_eq!((account.bytes_read, account.bytes_timed), (12 * 64, 11 * 64), "{account:?}");
    let sockets = watch.sockets().unwrap();
    super::sockets::are_all(&watch, &sockets);
    // The first message of a thread has no times.
    for (listener, messages) in listeners.iter().zip([1, 2, 2, 2, 2, 2]) {
        let peer = Some(listener.local_addr().unwrap().to_string());
        let socket = sockets.each.iter().find(|socket| socket.peer == peer).unwrap();
        assert_eq!(socket.receive.total.n, messages, "{socket:?}");
    }
}

#[test]
fn what_a_connection_did_not_send_is_not_sent_by_the_next() {
    needs_root!();
    needs!(!tracepoint::is_missing(SENDING), "needs tcp_sendmsg_locked: Linux 6.16");
    /// More than both buffers take.
    const LARGE: usize = 1_000_000;
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    // Accepted sockets have it too.
    set(&listener, libc::SOL_SOCKET, libc::SO_RCVBUF, 16_384);
    let socket = Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
    set(&socket, libc::SOL_SOCKET, libc::SO_SNDBUF, 16_384);
    let watch = Watch::attach(Selection::Marked, &[Direction::Tx], Detail::default()).unwrap();
    watch.watch_process(std::process::id()).unwrap();
    let server = connect(&socket, &listener);
    watch.forget_process(std::process::id());
    assert!(socket.send_with_flags(&vec![7; LARGE], libc::MSG_DONTWAIT).unwrap() < LARGE);
    disconnect(&socket);
    drop(server);
    let mut server = connect(&socket, &listener);
    assert_eq!(socket.send(&[7; 64]).unwrap(), 64);
    server.read_exact(&mut [0; 64]).unwrap();
    let account = watch.send_account().unwrap();
    assert_eq!((account.seen, account.timed, account.unsent()), (2, 1, 1), "{account:?}");
    assert_eq!(account.bytes_timed, 64, "{account:?}");
}

/// The hooks come and go one after the other.
#[test]
fn each_byte_that_is_read_while_programs_come_and_go_is_of_a_message() {
    needs_root!();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let at = listener.local_addr().unwrap();
    let (mut server, mut client) = connection(&listener);
    let flow = Selection::Flow(at, client.local_addr().unwrap());
    let watched = || {
        let mut watch = Watch::attach(flow, &[Direction::Rx], Detail::default()).unwrap();
        thread::sleep(PAUSE);
        watch.detach();
        watch.account().unwrap()
    };
    thread::scope(|scope| {
        let runs = scope.spawn(|| [(); 5].map(|()| watched()));
        while !runs.is_finished() {
            answers(&mut client, &mut server, 10);
        }
        for account in runs.join().unwrap() {
            // One may wait in the end.
            assert!(account.timed > 0 && (0..=1).contains(&account.unread()), "{account:?}");
            assert_eq!(account.bytes_read, 64 * account.ended(), "{account:?}");
        }
    });
}
