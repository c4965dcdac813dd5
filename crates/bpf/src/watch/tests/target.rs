//! Which sockets are watched.

use super::*;

/// `first` and `second` are the ends of a connection: an answer to each of so many requests.
fn answers(first: &mut TcpStream, second: &mut TcpStream, requests: u64) {
    let mut message = [7; 64];
    for _ in 0..requests {
        first.write_all(&message).unwrap();
        second.read_exact(&mut message).unwrap();
        second.write_all(&message).unwrap();
        first.read_exact(&mut message).unwrap();
    }
}

#[test]
fn of_two_connections_to_a_port_one_can_be_watched() {
    needs_root!();
    for address in ["127.0.0.1:0", "[::1]:0"] {
        let listener = TcpListener::bind(address).unwrap();
        let at = listener.local_addr().unwrap();
        let mut pairs = [(); 2].map(|()| (TcpStream::connect(at).unwrap(), listener.accept().unwrap().0));
        let peer = pairs[0].0.local_addr().unwrap();
        let watch = Watch::attach(Selection::Flow(at, peer), &[Direction::Rx]).unwrap();
        for (requests, (client, server)) in [5, 3].into_iter().zip(&mut pairs) {
            answers(client, server, requests);
        }
        let account = watch.account().unwrap();
        assert_eq!((account.seen, account.timed, account.unfollowed), (5, 4, 1), "{account:?}");
    }
}

/// Without any look at it: from its first message on, although the server speaks first.
#[test]
fn what_a_watched_process_connects_is_watched_from_the_first_message() {
    needs_root!();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let watch = attach(None);
    let connect = || {
        let mut client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let mut server = listener.accept().unwrap().0;
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
fn what_a_watched_process_listens_on_is_watched() {
    needs_root!();
    let watch = attach(None);
    watch.watch_process(std::process::id()).unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    watch.forget_process(std::process::id());
    exchange(&listener, REQUESTS, || ());
    holds(&watch, REQUESTS);
}
