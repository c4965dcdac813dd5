//! `--serve` as its users and its clients meet it, those with bad intentions among them.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream};
use std::process::Child;
use std::time::Duration;

use netfathom_model::record::{Record, State, TransferEnd};
use netfathom_testkit::needs_programs;

use super::{connects, free_port, receiver, receiving, result, ttcp};
use crate::child::{Ended, end, kill, run, shell, signal, start, until};

fn serving(options: &str) -> (Child, u16) {
    receiving(&format!("-rs --serve {options}"))
}

fn stopped(child: Child) -> Ended {
    signal("INT", &child);
    end(child).exited(0)
}

fn connect(port: u16) -> TcpStream {
    let socket = TcpStream::connect(("127.0.0.1", port)).unwrap();
    socket.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
    socket
}

/// Sends and waits until the service has closed.
fn client(port: u16, bytes: usize) {
    let mut socket = connect(port);
    socket.write_all(&vec![1; bytes]).unwrap();
    socket.shutdown(Shutdown::Write).unwrap();
    assert_eq!(socket.read(&mut [0; 1]).unwrap(), 0);
}

#[test]
fn senders_at_once_are_served_until_ctrl_c_and_each_has_its_line() {
    let (service, port) = serving("");
    let senders: Vec<Child> =
        (0..2).map(|_| start(&mut ttcp(&format!("-ts -n 1000 -p {port} 127.0.0.1")))).collect();
    for sender in senders {
        end(sender).exited(0);
    }
    let ended = stopped(service);
    assert_eq!(ended.out, "");
    for number in [1, 2] {
        let start = format!("ttcp-r: client {number} from ");
        let line = ended.err.lines().find(|line| line.starts_with(&start));
        let line = line.unwrap_or_else(|| panic!("{ended}"));
        assert!(line.contains(": 8192000 bytes in ") && line.ends_with(", whole"), "{line}");
    }
    let sums = "16384000 bytes from 2 clients: 2 whole, 0 broken, 0 too long; 0 turned away, at most ";
    assert!(ended.err.contains(sums), "{ended}");
}

#[test]
fn the_record_is_complete_and_counts_all() {
    let (service, port) = serving("--json --max-bytes 1k");
    client(port, 10);
    let mut long = connect(port);
    let _ = long.write_all(&[1; 5000]);
    assert!(long.read(&mut [0; 1]).is_err());
    let ended = stopped(service);
    let record: Record = ended.json();
    assert_eq!(record.state, State::Complete);
    let result = result(&ended.out);
    let served = result.served.unwrap();
    assert_eq!((served.whole, served.too_long, served.bytes), (1, 1, 1034));
    assert_eq!((result.end, result.streams.len()), (TransferEnd::Stopped, 2));
}

#[test]
fn a_killed_sender_and_one_at_the_end_by_sigterm_are_reported_and_others_are_served() {
    let (service, port) = serving("");
    let mut killed = start(&mut ttcp(&format!("-ts --time 60s -p {port} 127.0.0.1")));
    connects(&killed, port);
    std::thread::sleep(Duration::from_millis(100));
    kill(&mut killed);
    let mut there = connect(port);
    there.write_all(b"half").unwrap();
    client(port, 10);
    signal("TERM", &service);
    let ended = end(service).exited(0);
    assert!(there.read(&mut [0; 1]).is_err(), "it was cut");
    ended.explains(&[
        "cut: the other end cut the connection",
        "cut: it was still sending when the service was ended",
        "3 clients: 1 whole, 2 broken",
    ]);
}

#[test]
fn limits_cut_clients_off_with_their_reason() {
    let (service, port) = serving("--max-clients 1 --timeout 500ms");
    let mut silent = connect(port);
    let beyond = run(&mut ttcp(&format!("-ts -p {port} 127.0.0.1")));
    beyond.exited(1).explains(&["cut the connection"]);
    assert!(silent.read(&mut [0; 1]).is_err());
    client(port, 10);
    stopped(service).explains(&[
        "0 bytes in ",
        "sent nothing for 500ms",
        "1 turned away so far: 1 clients may be there",
        "1 whole, 1 broken, 0 too long; 1 turned away",
    ]);
}

/// Processor time of a child, in ticks of the kernel.
fn ticks(child: &Child) -> u64 {
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", child.id())).unwrap();
    let after = stat.rsplit_once(") ").unwrap().1;
    after.split(' ').skip(11).take(2).map(|n| n.parse::<u64>().unwrap()).sum()
}

/// More connections than it may have descriptors: those beyond are cut off, it does not spin on
/// them, and serves again when there is room.
#[test]
fn a_service_without_descriptors_left_goes_on() {
    let port = free_port();
    let service =
        receiver(&mut shell(&format!("ulimit -n 24; exec \"$0\" ttcp -rs --serve -p {port}")), port);
    let mut many: Vec<TcpStream> = (0..60).map(|_| connect(port)).collect();
    // The last came beyond, and knows it.
    let last = many.last_mut().unwrap();
    assert!(last.read(&mut [0; 1]).is_err());
    let before = ticks(&service);
    std::thread::sleep(Duration::from_secs(1));
    let spent = ticks(&service) - before;
    assert!(spent < 50, "{spent} ticks in a second");
    drop(many);
    until("room", || {
        let mut socket = connect(port);
        let sent = socket.write_all(b"x").and_then(|()| socket.shutdown(Shutdown::Write));
        sent.and_then(|()| socket.read(&mut [0; 1])).ok().filter(|&n| n == 0)
    });
    let ended = stopped(service);
    assert!(!ended.err.contains(" 0 turned away"), "{ended}");
}

/// Lines of clients are not glued to the progress that is drawn meanwhile.
#[test]
fn a_terminal_shows_how_many_clients_there_are_and_a_line_of_each() {
    needs_programs!(["script"], "bsdutils");
    let port = free_port();
    let inner = format!("timeout -s INT 3 \\\"$0\\\" ttcp -rs --serve -p {port}");
    let service = start(shell(&format!("script -qec \"{inner}\" /dev/null")).env("TERM", "xterm"));
    let there = until("a service", || TcpStream::connect(("127.0.0.1", port)).ok());
    // Longer than it takes until the progress is drawn for the first time.
    std::thread::sleep(Duration::from_millis(1200));
    client(port, 0);
    let ended = end(service);
    drop(there);
    assert!(ended.out.contains("\r1 client, 0 B, ") && ended.out.contains("/s\x1b[K"), "{:?}", ended.out);
    assert!(ended.out.contains("\r\x1b[Kttcp-r: client 2 from"), "{:?}", ended.out);
    assert!(ended.out.contains("2 clients: 1 whole, 1 broken"), "{:?}", ended.out);
}
