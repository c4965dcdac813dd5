//! Both sides over loopback, and each against a peer that does not behave.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::thread::{self, ScopedJoinHandle};
use std::time::Instant;

use netfathom_model::engine::Receive;

use super::protocol::{Hello, SendTotals, Tally, VERSION};
use super::*;

/// Far beyond every time-out here: whoever hangs is found out.
const HANGS: Duration = Duration::from_secs(20);
/// What a machine under test may take on top of a time-out.
const ROOM: Duration = Duration::from_millis(900);

fn hello() -> Hello {
    Hello {
        version: VERSION,
        size_bytes: 64,
        lanes: 2,
        echo: false,
        planned: 1000,
        duration_ns: 1_000_000_000,
    }
}

fn listener() -> Listener {
    Listener::bind(([127, 0, 0, 1], 0).into()).unwrap()
}

fn accept(listener: &Listener) -> Incoming {
    listener.accept(HANGS).unwrap().unwrap()
}

/// A sink up to the moment where it receives.
fn running(listener: &Listener) -> Conversation {
    let welcomed =
        accept(listener).welcome(draw_flow().unwrap(), Receive::Recvmmsg, "netfathom test").unwrap();
    welcomed.await_begin(&AtomicBool::new(false)).unwrap().ready().unwrap()
}

/// A sender that has begun its load, beside what a sink does.
fn between<S: Send>(
    sink: impl FnOnce(&Listener) -> S + Send,
    sender: impl FnOnce(Session, ScopedJoinHandle<'_, S>),
) {
    let listener = listener();
    thread::scope(|scope| {
        let sink = scope.spawn(|| sink(&listener));
        let mut session = Session::open(listener.local_addr(), hello()).unwrap();
        session.begin(0).unwrap();
        sender(session, sink);
    });
}

fn tally(delivered: u64) -> Tally {
    let mut tally = Tally { udp_in: Some(delivered), ..Tally::default() };
    tally.read.delivered = delivered;
    tally
}

const SENT: SendTotals = SendTotals { tried: 1000, accepted: 998, refused: 2 };

#[test]
fn the_whole_conversation() {
    let listener = listener();
    let to = listener.local_addr();
    let delivered = AtomicU64::new(990);
    thread::scope(|scope| {
        let sink = scope.spawn(|| {
            let incoming = accept(&listener);
            assert_eq!((incoming.hello(), incoming.peer().ip()), (&hello(), to.ip()));
            let welcomed =
                incoming.welcome(draw_flow().unwrap(), Receive::Gro, "netfathom\u{1b}[2J test").unwrap();
            let flow = welcomed.flow;
            let stop = AtomicBool::new(false);
            let begun = welcomed.await_begin(&stop).unwrap();
            assert_eq!(begun.start_ns, 77);
            let mut ended = begun.ready().unwrap().watch(|| delivered.load(Relaxed), &stop).unwrap();
            assert_eq!(ended.sent, SENT);
            // One comes late, and others never.
            let late = Instant::now();
            let arrives = || 990 + u64::from(late.elapsed() > QUIET_FOR / 2);
            ended.drain(arrives).unwrap();
            assert!((QUIET_FOR * 3 / 2..DRAIN_MOST).contains(&late.elapsed()));
            ended.tally(tally(991)).unwrap();
            flow
        });
        let mut session = Session::open(to, hello()).unwrap();
        let welcome = session.welcome.clone();
        assert_eq!((welcome.receive, welcome.tool.as_str()), (Receive::Gro, "netfathom[2J test"));
        session.begin(77).unwrap();
        let peer = std::sync::Arc::clone(&session.peer);
        // Longer than either side waits for a sign of life.
        thread::sleep(LOST_AFTER + Pulse::EVERY * 2);
        assert!(!peer.lost.load(Relaxed));
        assert_eq!(peer.delivered.load(Relaxed), 990);
        assert_eq!(session.end(SENT).unwrap(), tally(991));
        assert_eq!(sink.join().unwrap(), welcome.flow);
    });
}

#[test]
fn nothing_is_waited_for_when_all_has_arrived() {
    let sink = |listener: &Listener| {
        let mut ended = running(listener).watch(|| 0, &AtomicBool::new(false)).unwrap();
        let start = Instant::now();
        ended.drain(|| SENT.accepted).unwrap();
        let took = start.elapsed();
        ended.tally(tally(998)).unwrap();
        took
    };
    between(sink, |session, sink| {
        session.end(SENT).unwrap();
        assert!(sink.join().unwrap() < QUIET_FOR);
    });
}

#[test]
fn a_second_sender_is_refused_at_once() {
    let listener = listener();
    let to = listener.local_addr();
    thread::scope(|scope| {
        let sink = scope.spawn(|| running(&listener));
        let mut first = Session::open(to, hello()).unwrap();
        first.begin(0).unwrap();
        let running = sink.join().unwrap();
        for _ in 0..3 {
            let start = Instant::now();
            let error = Session::open(to, hello()).unwrap_err();
            assert!(matches!(error, ControlError::Refused { why: Why::Busy, .. }), "{error}");
            assert!(start.elapsed() < ANSWER_WITHIN, "it waited for a time-out");
        }
        drop(running);
        // The place is free again.
        scope.spawn(|| accept(&listener).refuse(Why::Limit { text: "at most 5 s".into() }).unwrap());
        let error = Session::open(to, hello()).unwrap_err().to_string();
        assert!(error.ends_with("refuses: at most 5 s"), "{error}");
    });
}

#[test]
fn a_sink_that_vanishes_is_noticed() {
    between(running, |session, sink| {
        let peer = std::sync::Arc::clone(&session.peer);
        drop(sink.join().unwrap());
        assert!(becomes(&peer.lost, LOST_AFTER));
        let error = session.end(SENT).unwrap_err();
        assert!(matches!(error, ControlError::Closed { .. }), "{error}");
    });
}

#[test]
fn a_sink_that_falls_silent_is_noticed() {
    between(running, |session, sink| {
        let _open_and_mute = sink.join().unwrap();
        assert!(becomes(&session.peer.lost, LOST_AFTER + ROOM));
        let error = session.end(SENT).unwrap_err();
        assert!(matches!(error, ControlError::Silent { .. }), "{error}");
        assert!(error.to_string().ends_with("or the round trip is longer"), "{error}");
    });
}

#[test]
fn a_sink_reports_at_once_so_that_an_answer_takes_a_round_trip_only() {
    let watches = |listener: &Listener| running(listener).watch(|| 7, &AtomicBool::new(true));
    between(watches, |session, sink| {
        assert!(matches!(sink.join().unwrap(), Err(ControlError::Stopped)));
        assert!(becomes(&session.peer.lost, HANGS));
        assert_eq!(session.peer.delivered.load(Relaxed), 7);
    });
}

fn becomes(state: &AtomicBool, within: Duration) -> bool {
    let start = Instant::now();
    while !state.load(Relaxed) && start.elapsed() < within {
        thread::sleep(Duration::from_millis(5));
    }
    state.load(Relaxed)
}

#[test]
fn a_sender_that_vanishes_is_noticed() {
    let watches = |listener: &Listener| running(listener).watch(|| 0, &AtomicBool::new(false));
    between(watches, |session, sink| {
        thread::sleep(Pulse::EVERY);
        drop(session);
        let error = sink.join().unwrap().unwrap_err();
        assert!(matches!(error, ControlError::Closed { .. }), "{error}");
    });
}

#[test]
fn silent_connections_keep_no_sender_out() {
    let listener = listener();
    let to = listener.local_addr();
    let silent: Vec<TcpStream> = (0..40).map(|_| TcpStream::connect(to).unwrap()).collect();
    thread::scope(|scope| {
        scope.spawn(|| {
            accept(&listener).welcome(draw_flow().unwrap(), Receive::Recvmmsg, "netfathom test").unwrap()
        });
        assert_eq!(Session::open(to, hello()).unwrap().welcome.receive, Receive::Recvmmsg);
    });
    drop(silent);
}

#[test]
fn a_sender_that_falls_silent_is_noticed() {
    let listener = listener();
    let to = listener.local_addr();
    thread::scope(|scope| {
        let sink = scope.spawn(|| running(&listener).watch(|| 0, &AtomicBool::new(false)));
        let mut mute = TcpStream::connect(to).unwrap();
        say(&mut mute, &format!("{}\n{{\"say\":\"begin\",\"start_ns\":1}}\n", hello_line(VERSION)));
        let start = Instant::now();
        let error = sink.join().unwrap().unwrap_err();
        assert!(matches!(error, ControlError::Silent { .. }), "{error}");
        assert!(start.elapsed() < LOST_AFTER + ROOM, "{:?}", start.elapsed());
    });
}

#[test]
fn a_sink_stops_on_request() {
    let stop = AtomicBool::new(false);
    let watches = |listener: &Listener| running(listener).watch(|| 0, &stop);
    between(watches, |session, sink| {
        stop.store(true, Relaxed);
        assert!(matches!(sink.join().unwrap(), Err(ControlError::Stopped)));
        assert!(becomes(&session.peer.lost, HANGS));
    });
}

fn hello_line(version: u32) -> String {
    serde_json::to_string(&protocol::FromSender::Hello(Hello { version, ..hello() })).unwrap()
}

fn say(stream: &mut TcpStream, text: &str) {
    stream.write_all(text.as_bytes()).unwrap();
}

/// Everything that the other side says until it closes.
fn heard(stream: &mut TcpStream) -> String {
    stream.set_read_timeout(Some(HANGS)).unwrap();
    let mut text = String::new();
    match stream.read_to_string(&mut text) {
        Ok(_) => text,
        // A reset: it closed with our bytes unread.
        Err(e) if e.kind() == std::io::ErrorKind::ConnectionReset => text,
        Err(e) => panic!("it hangs: {e}"),
    }
}

#[test]
fn strangers_get_no_answer_and_block_no_sender() {
    let listener = listener();
    let to = listener.local_addr();
    let (long, deep) = ("x".repeat(1 << 20), "[".repeat(4000) + "\n");
    let begin = "{\"say\":\"begin\",\"start_ns\":1}\n";
    for text in ["GET / HTTP/1.1\r\n\r\n", "\n", "{}\n", begin, "[[[[", &deep, &long, "\0\u{1}\n"] {
        let mut stream = TcpStream::connect(to).unwrap();
        // It may hang up while we still talk.
        let _ = stream.write_all(text.as_bytes());
        assert_eq!(heard(&mut stream), "", "{text:.20}");
    }
    let silent = TcpStream::connect(to).unwrap();
    thread::scope(|scope| {
        let sink =
            scope.spawn(|| accept(&listener).welcome(draw_flow().unwrap(), Receive::Recv, "").unwrap());
        Session::open(to, hello()).unwrap();
        sink.join().unwrap();
    });
    drop(silent);
}

#[test]
fn another_version_is_refused_with_the_reason() {
    let listener = listener();
    let mut stream = TcpStream::connect(listener.local_addr()).unwrap();
    say(&mut stream, "{\"say\":\"hello\",\"version\":999,\"all\":{\"else\":\"new\"}}\n");
    let answer = heard(&mut stream);
    assert_eq!(answer, "{\"say\":\"refused\",\"why\":{\"reason\":\"version\",\"speaks\":1}}\n");
    let error = Session::open(listener.local_addr(), Hello { version: 999, ..hello() }).unwrap_err();
    assert!(error.to_string().contains("use the same netfathom on both hosts"), "{error}");
    assert!(listener.accept(Duration::ZERO).unwrap().is_none());
}

#[test]
fn words_out_of_turn_end_the_session() {
    let listener = listener();
    let to = listener.local_addr();
    for text in ["{\"say\":\"alive\"}\n", "{\"say\":\"begin\"}\n", "nonsense\n", &"x".repeat(5000)] {
        let mut stream = TcpStream::connect(to).unwrap();
        say(&mut stream, &format!("{}\n{text}", hello_line(VERSION)));
        let welcomed = accept(&listener).welcome(draw_flow().unwrap(), Receive::Recv, "").unwrap();
        let error = welcomed.await_begin(&AtomicBool::new(false)).unwrap_err();
        assert!(matches!(error, ControlError::Garbage { .. }), "{text:.20}: {error}");
    }
}

/// What a sender makes of a sink that says this, and then nothing.
fn session_with(text: &str, close: bool) -> ControlError {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let to = listener.local_addr().unwrap();
    thread::scope(|scope| {
        let sink = scope.spawn(|| {
            let mut stream = listener.accept().unwrap().0;
            let _ = stream.write_all(text.as_bytes());
            (!close).then_some(stream)
        });
        let error = Session::open(to, hello()).and_then(|mut s| s.begin(0)).unwrap_err();
        drop(sink.join().unwrap());
        error
    })
}

#[test]
fn a_sink_that_is_none_is_found_out() {
    let welcome = "{\"say\":\"welcome\",\"flow\":1,\"receive\":\"recv\",\"tool\":\"t\"}\n";
    for (text, part) in [
        ("SSH-2.0-OpenSSH\u{1b}[31m\r\n".to_owned(), "`SSH-2.0-OpenSSH[31m` came"),
        ("x".repeat(1 << 16), "a line of more than 4 KiB came"),
        ("{\"say\":\"ready\"}\n".to_owned(), "`ready` came"),
        (welcome.to_owned() + welcome, "that it is ready was due, but a welcome came"),
        (
            "{\"say\":\"refused\",\"why\":{\"reason\":\"moon\"}}\n".to_owned(),
            "for a reason that this version of netfathom does not know",
        ),
    ] {
        let error = session_with(&text, false).to_string();
        assert!(error.contains(part), "{text:.20}: {error}");
    }
    let error = session_with("", true);
    assert!(matches!(error, ControlError::Closed { .. } | ControlError::Connection { .. }), "{error}");
}

#[test]
fn a_sink_that_trickles_has_no_more_time_than_others() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let to = listener.local_addr().unwrap();
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            let mut stream = listener.accept().unwrap().0;
            while !done.load(Relaxed) && stream.write_all(b" ").is_ok() {
                thread::sleep(Duration::from_millis(100));
            }
        });
        let start = Instant::now();
        let error = Session::open(to, hello()).unwrap_err();
        done.store(true, Relaxed);
        assert!(matches!(error, ControlError::Silent { .. }), "{error}");
        assert!(start.elapsed() < ANSWER_WITHIN + ROOM, "{:?}", start.elapsed());
    });
}

#[test]
fn one_port_serves_both_protocols() {
    let (listener, udp) =
        Listener::<Hello>::bind_with(([127, 0, 0, 1], 0).into(), None, 1, UdpSocket::bind).unwrap();
    assert_eq!(listener.local_addr(), udp.local_addr().unwrap());
    // A taken port is tried once, one that the kernel offers again and again.
    let mut tried = 0;
    let taken = |_| -> io::Result<()> {
        tried += 1;
        if tried < 5 { Err(io::ErrorKind::AddrInUse.into()) } else { Ok(()) }
    };
    Listener::<Hello>::bind_with(([127, 0, 0, 1], 0).into(), None, 1, taken).unwrap();
    assert_eq!(tried, 5);
    let error = Listener::bind(listener.local_addr()).unwrap_err().to_string();
    assert!(error.contains("cannot listen on 127.0.0.1") && error.contains("another port"), "{error}");
}

#[test]
fn a_listener_that_is_dropped_frees_its_port() {
    let listener = listener();
    let address = listener.local_addr();
    drop(listener);
    drop(Listener::bind(address).unwrap());
}
