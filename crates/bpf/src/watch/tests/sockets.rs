//! Sums of single sockets, against those of all.

use std::fs;

use netfathom_model::record::WatchSocket;
use netfathom_testkit::host;

use super::*;

const BOTH: [Direction; 2] = [Direction::Rx, Direction::Tx];

/// Those that this kernel shows.
fn directions() -> &'static [Direction] {
    if tracepoint::is_missing(SENDING) { &[Direction::Rx] } else { &BOTH }
}

fn connections(listener: &TcpListener, n: usize) -> Vec<(TcpStream, TcpStream)> {
    (0..n).map(|_| connection(listener)).collect()
}

/// Each request is answered, by this thread.
fn exchange_on(connections: &mut [(TcpStream, TcpStream)]) {
    connections.iter_mut().for_each(|(server, client)| answers(client, server, 1));
}

fn sum(sockets: &Sockets, of: fn(&WatchSocket) -> (u64, i64)) -> (u64, i64) {
    let all = sockets.each.iter().chain([&sockets.others]).map(of);
    all.fold((0, 0), |sum, next| (sum.0 + next.0, sum.1 + next.1))
}

/// Those of single sockets and of the others are those of all, to the nanosecond; by process, they are as many.
pub(super) fn are_all(watch: &Watch, sockets: &Sockets) {
    let of_processes: u64 = sockets.processes.iter().map(|of| of.sockets.messages()).sum();
    assert_eq!(of_processes, sum(sockets, |s| (s.messages(), 0)).0);
    let total = watch.total().unwrap().moments;
    assert_eq!(sum(sockets, |s| (s.receive.total.n, s.receive.total.sum_ns)), (total.n, total.sum as i64));
    let stages = |s: &WatchSocket| (s.messages(), s.receive.stages.iter().map(|sum| sum.sum_ns).sum());
    assert_eq!(sum(sockets, stages).1, total.sum as i64);
    if watch.directions.contains(&Direction::Tx) {
        let total = watch.send_total().unwrap().moments;
        assert_eq!(sum(sockets, |s| (s.send.total.n, s.send.total.sum_ns)), (total.n, total.sum as i64));
        let stages = |s: &WatchSocket| (s.messages(), s.send.stages.iter().map(|sum| sum.sum_ns).sum());
        assert_eq!(sum(sockets, stages).1, total.sum as i64);
    }
}

#[test]
fn each_socket_has_its_own_messages_and_its_names() {
    needs_root!();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let local = listener.local_addr().unwrap();
    let mut watch = by_socket(Selection::Port(local.port()), directions());
    let mut connections = connections(&listener, 3);
    // The first message of a thread has no times.
    exchange_on(&mut connections[..1]);
    exchange_on(&mut connections[..1]);
    (0..5).for_each(|_| exchange_on(&mut connections[1..2]));
    (0..7).for_each(|_| exchange_on(&mut connections[2..3]));
    let sockets = watch.sockets().unwrap();
    are_all(&watch, &sockets);
    for ((_, client), messages) in connections.iter().zip([1, 5, 7]) {
        let peer = client.local_addr().unwrap().to_string();
        let socket = sockets.each.iter().find(|socket| socket.peer.as_deref() == Some(&peer)).unwrap();
        assert_eq!(socket.local.as_deref(), Some(local.to_string().as_str()));
        assert_eq!(socket.process.as_ref().map(|process| process.pid), Some(std::process::id()));
        assert_eq!(socket.receive.total.n, messages);
    }
    assert_eq!(sockets.others.messages(), 0);
}

/// Its storage is not that of the first one.
#[test]
fn a_socket_that_another_watch_follows_has_no_row() {
    needs_root!();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let mut watches = [(); 2].map(|()| by_socket(Selection::Marked, directions()));
    let mut connections = connections(&listener, 2);
    for (watch, (server, _)) in watches.iter().zip(&connections) {
        watch.mark(server, true).unwrap();
    }
    exchange_on(&mut connections);
    exchange_on(&mut connections);
    for (watch, (server, _)) in watches.iter_mut().zip(&connections) {
        let sockets = watch.sockets().unwrap();
        are_all(watch, &sockets);
        let peers: Vec<_> = sockets.each.iter().filter_map(|socket| socket.peer.clone()).collect();
        assert_eq!(peers, [server.peer_addr().unwrap().to_string()]);
    }
}

/// As two containers may have.
#[test]
fn one_address_in_two_network_namespaces_is_two_sockets() {
    needs_root!();
    const PORT: u16 = 4711;
    let mut watch = by_socket(Selection::Port(PORT), &[Direction::Rx]);
    for requests in [2, 5] {
        let exchange = || {
            let listener = TcpListener::bind(("127.0.0.1", PORT)).unwrap();
            let (mut server, mut client) = connection(&listener);
            answers(&mut client, &mut server, requests);
        };
        host().run(exchange).unwrap();
    }
    let sockets = watch.sockets().unwrap().each;
    let of_both = sockets.iter().filter(|socket| socket.local.as_deref() == Some("127.0.0.1:4711"));
    let received: Vec<u64> = of_both.map(|socket| socket.receive.total.n).collect();
    // The first message of a thread has no times.
    assert_eq!(received.iter().sum::<u64>(), 1 + 5, "{sockets:?}");
    assert!(received.contains(&1) && received.contains(&5), "{sockets:?}");
}

#[test]
fn sockets_without_a_place_are_one_until_idle_ones_make_room() {
    needs_root!();
    const CONNECTIONS: usize = 300;
    let listener = TcpListener::bind("[::1]:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let mut watch = by_socket(Selection::Port(port), &[Direction::Rx]);
    let mut connections = connections(&listener, CONNECTIONS);
    exchange_on(&mut connections);
    exchange_on(&mut connections);
    let sockets = watch.sockets().unwrap();
    are_all(&watch, &sockets);
    assert_eq!(sockets.each.len(), 255);
    assert_eq!(sockets.others.receive.total.n, 2 * (CONNECTIONS as u64 - 255));
    // The last is busy from now on, all others are idle.
    let last = CONNECTIONS - 1;
    for _ in 0..6 {
        exchange_on(&mut connections[last..]);
        let sockets = watch.sockets().unwrap();
        are_all(&watch, &sockets);
    }
    let sockets = watch.sockets().unwrap();
    let peer = connections[last].1.local_addr().unwrap().to_string();
    assert!(sockets.each.iter().any(|socket| socket.peer.as_deref() == Some(&peer)), "{:?}", sockets.each);
    assert!(sockets.each.len() < 255);
    // Those of sockets that lost their place, or never had one, too.
    let [own] = &sockets.processes[..] else { panic!("{:?}", sockets.processes) };
    assert_eq!(own.pids, [std::process::id()]);
    assert!(own.sockets.messages() > sockets.each.iter().map(WatchSocket::messages).sum::<u64>());
}

/// The instructions that the kernel followed to verify the programs: unlike the time, the same each time.
fn verified(by_socket: bool) -> u64 {
    let detail = Detail { by_socket, ..Detail::default() };
    let watch = Watch::attach(Selection::All, directions(), detail).unwrap();
    let of = |program: libbpf_rs::Program<'_>| {
        let info = fs::read_to_string(format!("/proc/self/fdinfo/{}", program.as_fd().as_raw_fd())).unwrap();
        let n = info.lines().find_map(|line| line.strip_prefix("verified_insns:"));
        n.unwrap().trim().parse::<u64>().unwrap()
    };
    watch.object.progs().filter(libbpf_rs::Program::autoload).map(of).sum()
}

/// Most of them are of other programs, and none is followed once for each state of a message.
#[test]
fn sums_of_sockets_do_not_multiply_what_the_kernel_verifies() {
    needs_root!();
    let (without, with) = (verified(false), verified(true));
    println!("{without} without sums of sockets, {with} with them");
    assert!(with < 2 * without, "{with} instructions, {without} without sums of sockets");
}
