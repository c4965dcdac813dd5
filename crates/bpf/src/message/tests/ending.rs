//! Beginning too early, and ending in all ways.

use std::env;
use std::process::{Command, Stdio};
use std::time::Instant;

use libbpf_rs::Program;
use libbpf_rs::query::{MapInfoIter, ProgInfoIter};
use netfathom_sys::cpu::KernelWorkers;
use netfathom_sys::endpoint::{self, SocketKind};

use super::driver::Conversation;
use super::*;

#[test]
fn bytes_that_came_too_early_are_worked_on_or_refused() {
    needs_root!();
    let [mut client, mut server] = tcp_pair();
    client.write_all(b"early").unwrap();
    server.peek(&mut [0]).unwrap();
    let mut message = [0; 5];
    match Programs::load(ECHO, bytes(5)).unwrap().attach(server.as_fd()) {
        Ok(end) => {
            assert_eq!(end.messages(), 1);
            client.read_exact(&mut message).unwrap();
        }
        Err(refused) => {
            assert!(matches!(refused, MessageError::Early), "{refused}");
            server.read_exact(&mut message).unwrap();
        }
    }
    assert_eq!(&message, b"early");
}

#[test]
fn a_datagram_that_came_too_early_is_refused_and_left_to_its_reader() {
    needs_root!();
    for early in [&b"early"[..], b""] {
        let [client, server] = udp_pair();
        client.send(early).unwrap();
        assert!(await_that(|| server.peek(&mut [0]).is_ok()));
        let refused = Programs::load(ECHO, bytes(5)).unwrap().attach(server.as_fd()).err().unwrap();
        assert!(matches!(refused, MessageError::Early), "{refused}");
        assert_eq!(server.recv(&mut [0; 9]).unwrap(), early.len());
    }
}

#[test]
fn a_socket_has_one_end() {
    needs_root!();
    let [_client, server] = tcp_pair();
    let _first = attach(&server, ECHO, 5);
    let second = Programs::load(Work::Sink, bytes(5)).unwrap().attach(server.as_fd()).err().unwrap();
    assert!(second.to_string().contains("give a socket to"), "{second}");
}

#[test]
fn a_socket_that_cannot_have_an_end_is_refused() {
    needs_root!();
    let to = "127.0.0.1:1".parse().unwrap();
    for kind in [SocketKind::Stream, SocketKind::Datagram] {
        let socket = endpoint::open(kind, to).unwrap();
        let refused = Programs::load(ECHO, bytes(5)).unwrap().attach(socket.as_fd()).err().unwrap();
        assert!(refused.to_string().contains("give a socket to"), "{refused}");
    }
}

#[test]
fn a_datagram_socket_that_has_no_peer_can_be_a_sink_only() {
    needs_root!();
    for (work, refused) in [(Work::Sink, 0), (ECHO, 1)] {
        let server = UdpSocket::bind("127.0.0.1:0").unwrap();
        let end = attach(&server, work, 1);
        let client = UdpSocket::bind("127.0.0.1:0").unwrap();
        client.send_to(b"hello", server.local_addr().unwrap()).unwrap();
        assert!(await_that(|| end.messages() == 1));
        let report = end.report();
        assert_eq!((report.refused, report.returned_bytes), (refused, 0), "{report:?}");
    }
}

#[test]
fn a_socket_that_was_taken_back_is_like_any_other() {
    needs_root!();
    let [mut client, mut server] = tcp_pair();
    let mut message = [0; 6];
    for way in 0..3 {
        let end = attach(&server, ECHO, 6);
        client.write_all(b"kernel").unwrap();
        client.read_exact(&mut message).unwrap();
        match way {
            0 => assert_eq!(end.detach().unwrap().messages, 1),
            _ => drop(end),
        }
        client.write_all(b"reader").unwrap();
        server.read_exact(&mut message).unwrap();
        assert_eq!(&message, b"reader");
        server.write_all(b"writer").unwrap();
        client.read_exact(&mut message).unwrap();
        assert_eq!(&message, b"writer");
    }
    // The end of the stream as well.
    drop(client);
    assert_eq!(server.read(&mut message).unwrap(), 0);
}

#[test]
fn whoever_has_the_socket_sees_the_end_of_the_stream() {
    needs_root!();
    for work in [ECHO, Work::Sink] {
        let [mut client, mut server] = tcp_pair();
        let end = attach(&server, work, 4);
        client.write_all(b"last").unwrap();
        assert!(await_that(|| end.messages() == 1));
        drop(client);
        assert_eq!(server.read(&mut [0]).map_err(|e| e.kind()).unwrap_or(0), 0);
        assert_eq!((end.report().calls, end.report().bytes), (1, 4));
    }
}

#[test]
fn the_counts_outlive_their_socket() {
    needs_root!();
    let [mut client, server] = tcp_pair();
    let end = attach(&server, ECHO, 4);
    client.write_all(b"last").unwrap();
    client.read_exact(&mut [0; 4]).unwrap();
    drop(server);
    assert_eq!(client.read(&mut [0]).unwrap(), 0);
    assert_eq!(end.detach().unwrap().messages, 1);
}

#[test]
fn a_bounce_is_stopped() {
    needs_root!();
    let [mut client, server] = tcp_pair();
    let (near, far) = (attach(&client, ECHO, 8), attach(&server, ECHO, 8));
    client.write_all(&[7; 8]).unwrap();
    comes_to_rest(&near, &far, 8);
}

/// What the two ends of a conversation do, and the length of the messages of each.
fn conversations() -> [[(Work, u32); 2]; 2] {
    let post = |bytes| Work::Reply { bytes };
    [[(ECHO, 8), (ECHO, 8)], [(Work::Ask { bytes: bytes(8), until: None }, 40_000), (post(bytes(40_000)), 8)]]
}

#[test]
fn sockets_are_closed_in_the_midst_of_a_bounce() {
    needs_root!();
    for (first, works) in [0, 1].into_iter().flat_map(|first| conversations().map(|works| (first, works))) {
        let mut pair = tcp_pair().map(Some);
        let ends = [0, 1].map(|i| attach(pair[i].as_ref().unwrap(), works[i].0, works[i].1));
        pair[0].as_mut().unwrap().write_all(&[7; 8]).unwrap();
        assert!(await_that(|| ends[0].messages() > 100), "{:?}", ends.each_ref().map(|end| end.report()));
        pair[first] = None;
        pair[1 - first] = None;
        for end in ends {
            assert!(end.detach().unwrap().messages > 0);
        }
    }
}

#[test]
fn ends_are_taken_away_in_the_midst_of_a_bounce() {
    needs_root!();
    for (first, works) in [0, 1].into_iter().flat_map(|first| conversations().map(|works| (first, works))) {
        let mut pair = tcp_pair();
        let mut ends = [0, 1].map(|i| Some(attach(&pair[i], works[i].0, works[i].1)));
        pair[0].write_all(&[7; 8]).unwrap();
        let goes_on = await_that(|| ends[0].as_ref().unwrap().messages() > 100);
        assert!(goes_on, "{:?}", ends.each_ref().map(|end| end.as_ref().unwrap().report()));
        for which in [first, 1 - first] {
            assert!(ends[which].take().unwrap().detach().unwrap().messages > 0);
        }
    }
}

/// What a process of this test program is to do before it is killed.
const VICTIM: &str = "NETFATHOM_TEST_MESSAGE_VICTIM";

/// The numbers of a program and a map of it.
fn loaded(end: &KernelEnd) -> [u32; 2] {
    let program = end.object.progs().find(|p| p.autoload()).unwrap();
    let map = SET.map(&end.object, SOCKETS).unwrap();
    [Program::id_from_fd(program.as_fd()).unwrap(), map.info().unwrap().info.id]
}

fn present(ids: &[[u32; 2]]) -> usize {
    let programs = ProgInfoIter::default().filter(|p| ids.iter().any(|id| id[0] == p.id));
    let maps = MapInfoIter::default().filter(|m| ids.iter().any(|id| id[1] == m.id));
    programs.count() + maps.count()
}

#[test]
fn a_process_that_is_killed_leaves_nothing() {
    const SAME: &str = "message::tests::ending::a_process_that_is_killed_leaves_nothing";
    needs_root!();
    if env::var_os(VICTIM).is_some() {
        return bounce_until_killed();
    }
    let mut victim = Command::new(env::current_exe().unwrap());
    victim.args([SAME, "--exact", "--nocapture"]).env(VICTIM, "1").stdout(Stdio::piped());
    let mut victim = victim.spawn().unwrap();
    let mut lines = std::io::BufReader::new(victim.stdout.take().unwrap());
    let mut ids = None;
    while ids.is_none() {
        let mut line = String::new();
        assert!(std::io::BufRead::read_line(&mut lines, &mut line).unwrap() > 0, "no numbers");
        ids = line.rsplit_once("bouncing ").map(|(_, ids)| {
            let ids: Vec<u32> = ids.split_whitespace().map(|id| id.parse().unwrap()).collect();
            ids.as_chunks::<2>().0.to_vec()
        });
    }
    let ids = ids.unwrap();
    let before = present(&ids);
    victim.kill().unwrap();
    victim.wait().unwrap();
    assert_eq!((ids.len(), before), (6, 12));
    assert!(await_that(|| present(&ids) == 0));
}

fn bounce_until_killed() {
    let conversations = conversations().map(|works| {
        let mut pair = tcp_pair();
        let ends = [0, 1].map(|i| attach(&pair[i], works[i].0, works[i].1));
        pair[0].write_all(&[7; 8]).unwrap();
        assert!(await_that(|| ends[0].messages() > 100));
        (pair, ends)
    });
    let in_driver = Conversation::new();
    let driver_ends = [in_driver.near_end(ECHO), in_driver.far_end(ECHO)];
    in_driver.near.send(&[7; 8]).unwrap();
    assert!(await_that(|| driver_ends[0].messages() > 100));
    let ids = conversations.iter().flat_map(|(_, ends)| ends).chain(&driver_ends).flat_map(loaded);
    println!("bouncing {}", ids.map(|id| id.to_string()).collect::<Vec<_>>().join(" "));
    thread::sleep(Duration::from_secs(60));
}

/// The part of the time that the kernel's workers ran while something was done.
fn workers_share(work: impl FnOnce()) -> f64 {
    let before = KernelWorkers::read().unwrap();
    let start = Instant::now();
    work();
    let passed = start.elapsed();
    let ran = KernelWorkers::read().unwrap().since(&before);
    println!("{ran:?} in {passed:?}");
    ran.ran_ns as f64 / passed.as_nanos() as f64
}

#[test]
fn a_bounce_is_worked_on_by_the_kernels_workers() {
    needs_root!();
    const MESSAGES: u64 = 50_000;
    let bounce = || {
        let [mut client, server] = tcp_pair();
        let near = attach(&client, Work::Echo { until: Some(MESSAGES) }, 8);
        let _far = attach(&server, ECHO, 8);
        client.write_all(&[7; 8]).unwrap();
        assert!(await_that(|| near.messages() == MESSAGES), "{}", near.messages());
        let report = near.report();
        let q = |q| report.intervals.quantile(q);
        println!("mean {:?} p50 {:?} p99 {:?}", report.mean_interval_ns(), q(0.5), q(0.99));
    };
    let busy = workers_share(bounce);
    // Other tests bounce too.
    let rests = [(); 10].map(|()| workers_share(|| thread::sleep(Duration::from_millis(100))));
    let rest = rests.into_iter().fold(f64::MAX, f64::min);
    assert!(busy > 0.2 && busy > 4.0 * rest, "{busy} of the time, at rest {rest}");
}
