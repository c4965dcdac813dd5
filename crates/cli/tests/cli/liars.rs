//! Hosts that tell what cannot be: a sink of its counts, a sender of what it sent. Neither gets into a record.

use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::thread;
use std::time::Duration;

use netfathom_model::message::Header;
use netfathom_model::record::State;
use netfathom_testkit::{TwoHosts, needs_root, privileged, test_name};
use serde_json::{Value, json};

use crate::child::{Ended, end as end_of, netfathom, out, record, run, start, until};
use crate::load_sink::{hello, sink};
use crate::server::Server;

const MOST: u64 = u64::MAX;

/// Makes an answer of a message.
type Answer = fn(Header) -> Header;

/// What a sink says that is not true.
#[derive(Clone)]
struct Lies {
    seen: u64,
    tally: Value,
    answer: Option<Answer>,
}

impl Lies {
    fn none() -> Self {
        let tally = json!({"say": "tally", "delivered": 0, "duplicates": 0, "reordered": 0, "foreign": 0,
            "truncated": 0, "garbage": 0, "socket_drops": 0, "cpu_ns": 0, "device_packets": 0, "udp_in": 0});
        Self { seen: 0, tally, answer: None }
    }

    fn shown(field: &str, value: u64) -> Self {
        let mut lies = Self::none();
        lies.tally[field] = value.into();
        lies
    }
}

/// A sink that speaks as one does, for as long as the test lives.
fn lying_sink(lies: Lies) -> SocketAddr {
    let (door, socket) = loop {
        let door = TcpListener::bind("127.0.0.1:0").unwrap();
        if let Ok(socket) = UdpSocket::bind(door.local_addr().unwrap()) {
            break (door, socket);
        }
    };
    let address = door.local_addr().unwrap();
    if let Some(answer) = lies.answer {
        thread::spawn(move || {
            let mut buffer = [0; 2048];
            while let Ok((bytes, from)) = socket.recv_from(&mut buffer) {
                let header = Header::read(&buffer[..bytes]).unwrap();
                answer(header).write(&mut buffer);
                socket.send_to(&buffer[..bytes], from).unwrap();
            }
        });
    } else {
        // Kept open, so that nothing is refused.
        std::mem::forget(socket);
    }
    thread::spawn(move || {
        for stream in door.incoming().map_while(Result::ok) {
            let _ = converse(&stream, &lies);
        }
    });
    address
}

fn converse(stream: &TcpStream, lies: &Lies) -> std::io::Result<()> {
    let mut lines = BufReader::new(stream).lines();
    let say = |word: &Value| (&mut &*stream).write_all(format!("{word}\n").as_bytes());
    lines.next();
    say(&json!({"say": "welcome", "flow": 7, "receive": "recvmmsg", "tool": "a liar"}))?;
    lines.next();
    say(&json!({"say": "ready"}))?;
    loop {
        say(&json!({"say": "seen", "delivered": lies.seen}))?;
        stream.set_read_timeout(Some(Duration::from_millis(200)))?;
        while let Some(Ok(line)) = lines.next() {
            if line.contains("end") {
                return say(&lies.tally);
            }
        }
    }
}

fn is_named(ended: &Ended, peer: &str, what: &str) {
    assert_eq!((ended.status, ended.out.as_str()), (1, ""), "{what}: {ended}");
    assert!(ended.err.contains(&format!("{peer} reports what cannot be: ")), "{what}: {ended}");
    assert!(ended.err.contains(what) && !ended.err.contains("defect"), "{what}: {ended}");
}

#[test]
fn a_sink_that_counts_what_cannot_be_is_named() {
    for (lies, what) in [
        (Lies::shown("delivered", MOST), "18446744073709551615 messages delivered of 200"),
        (Lies::shown("delivered", 201), "201 messages delivered of 200"),
        (Lies::shown("duplicates", 1 << 43), "8796093022208 duplicates where a link carries"),
        (Lies::shown("reordered", 2), "2 messages reordered of 0 delivered"),
        (Lies::shown("foreign", 1 << 54), "foreign messages"),
        (Lies::shown("garbage", 1 << 54), "datagrams that are no messages"),
        (Lies::shown("socket_drops", MOST), "dropped at the socket"),
        (Lies::shown("corrupted", MOST), "datagrams with a wrong checksum"),
        (Lies::shown("cpu_ns", MOST), "ns of CPU time"),
        (Lies::shown("device_packets", MOST), "packets at the device"),
        (Lies::shown("udp_in", 1 << 63), "datagrams delivered by UDP"),
        (Lies { seen: MOST, ..Lies::none() }, "18446744073709551615 messages delivered of 200"),
        (Lies { seen: 5, ..Lies::none() }, "0 messages delivered after 5"),
    ] {
        let (to, dir) = (lying_sink(lies), out());
        let send = format!("load send --to {to} --profile constant:1k/200ms --quiet --out");
        is_named(&run(netfathom(&send).arg(dir.path())), &to.to_string(), what);
    }
}

#[test]
fn a_tally_that_cannot_be_read_is_shown_with_the_reason() {
    let mut lies = Lies::none();
    lies.tally["delivered"] = json!(-1);
    let (to, dir) = (lying_sink(lies), out());
    let send = format!("load send --to {to} --profile constant:1k/200ms --quiet --out");
    let cause = format!("netfathom: cannot read what {to} sent: its report of what arrived was due, but `");
    run(netfathom(&send).arg(dir.path())).exited(1).explains(&[&cause, "`-1`, expected u64"]);
}

#[test]
fn every_command_that_asks_a_sink_finds_a_lie_out() {
    let (to, dir) = (lying_sink(Lies::shown("delivered", MOST)), out());
    let quick = "--quiet --profile constant:1k/200ms --trials 1";
    let mut commands = vec![format!("capacity --engine send --to {to} --quiet")];
    if privileged(test_name!()) {
        commands.push(format!("stack tx --to {to} {quick}"));
    }
    for command in commands {
        let ended = run(netfathom(&command).arg("--out").arg(dir.path()));
        is_named(&ended, &to.to_string(), "18446744073709551615 messages delivered");
    }
}

#[test]
fn answers_to_what_was_never_sent_are_named() {
    let answers: [(Answer, &str); 4] = [
        (|h| Header { intended_ns: 0, ..h }, "sent at 0 ns"),
        (|h| Header { sent_ns: 1 << 63, ..h }, "sent at 9223372036854775808 ns"),
        (|h| Header { sent_ns: h.sent_ns + (1 << 40), ..h }, "an answer to message 0, sent at"),
        (|h| Header { sequence: h.sequence + (1 << 60), ..h }, "an answer to message 1152921504606846976 of"),
    ];
    for (answer, what) in answers {
        let (to, dir) = (lying_sink(Lies { answer: Some(answer), ..Lies::none() }), out());
        let send = format!("load send --to {to} --echo --profile constant:1k/200ms --quiet --out");
        is_named(&run(netfathom(&send).arg(dir.path())), &to.to_string(), what);
    }
}

/// Says to a sink what its sender would, and sends it what `messages` makes of the flow; whether the sink was there.
fn sender_says(
    to: SocketAddr,
    hello: &str,
    begin_ns: u64,
    messages: impl Fn(u32) -> Vec<Header>,
    end: &Value,
) -> Option<()> {
    let stream = TcpStream::connect(to).ok()?;
    stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    let mut lines = BufReader::new(&stream).lines();
    let say = |text: String| (&mut &stream).write_all(text.as_bytes());
    say(hello.into()).unwrap();
    let welcome: Value = serde_json::from_str(&lines.next()?.unwrap()).unwrap();
    let flow = welcome["flow"].as_u64().unwrap_or_else(|| panic!("{welcome}"));
    let _ = say(format!("{{\"say\":\"begin\",\"start_ns\":{begin_ns}}}\n"));
    if lines.next().is_some_and(|line| line.is_ok_and(|line| line.contains("ready"))) {
        let udp = UdpSocket::bind("127.0.0.1:0").unwrap();
        for header in messages(flow as u32) {
            let mut payload = [0; 64];
            header.write(&mut payload);
            udp.send_to(&payload, to).unwrap();
        }
        let _ = say(format!("{end}\n"));
        // Until the sink has hung up, or has reported what came.
        while lines.next().is_some_and(|line| line.is_ok_and(|line| !line.contains("tally"))) {}
    }
    Some(())
}

#[test]
fn a_sender_that_sent_more_than_there_is_is_named() {
    let sink = sink("");
    for (begin_ns, tried, accepted, refused, what) in [
        (1, MOST, 10, 0, "18446744073709551615 messages tried of 10"),
        (1, 10, 11, 0, "11 messages accepted of 10"),
        (1, 10, 5, 1_u64 << 60, "1152921504606846976 messages refused of 10"),
        (MOST, 10, 10, 0, "a clock of 18446744073709551615 ns"),
    ] {
        let end = json!({"say": "end", "tried": tried, "accepted": accepted, "refused": refused});
        sender_says(sink.address, &hello(1, 10, 200_000_000), begin_ns, |_| Vec::new(), &end).unwrap();
        let why = sink.event("lost")["why"].as_str().unwrap().to_owned();
        assert!(why.contains(&format!(" reports what cannot be: {what}")), "{why}");
    }
    assert_eq!(sink.end().status, 0);
}

#[test]
fn who_measures_the_way_in_of_a_liar_goes_on_without_it() {
    needs_root!();
    // A free port, chosen here: the sink prints its own only in the table at the end.
    let at = UdpSocket::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let dirs = [out(), out()];
    let way_in = format!("stack rx --listen {at} --profile constant:1k/200ms --trials 1 --quiet --out");
    let reader = start(netfathom(&way_in).arg(dirs[0].path()));
    const BEGIN: u64 = 1 << 50;
    let hello = hello(1, 200, 200_000_000);
    let none = |_| Vec::new();
    let end = |tried| json!({"say": "end", "tried": tried, "accepted": 200, "refused": 0});
    until("the reader to listen", || sender_says(at, &hello, BEGIN, none, &end(MOST)));
    sender_says(at, &hello, MOST, none, &end(200)).unwrap();
    let late = |flow| {
        let header = |sequence| Header { flow, sequence, intended_ns: BEGIN, sent_ns: 1 << 63 };
        (0..200).map(header).collect()
    };
    sender_says(at, &hello, BEGIN, late, &end(200)).unwrap();
    let way_out = format!("load send --to {at} --profile constant:1k/200ms --quiet --out");
    run(netfathom(&way_out).arg(dirs[1].path())).measured();
    end_of(reader).measured();
    let record = record(dirs[0].path()).unwrap();
    assert_eq!(record.state, State::Complete);
    assert_eq!(crate::child::result(&record).trials[0].accounting.gap(), 0);
    let shown = record.findings.iter().find(|f| f.seen == "3 trials were begun and thrown away").unwrap();
    let last =
        "message 0 was due at 1125899906842624 ns and sent at 9223372036854775808 ns by its own account";
    assert!(shown.evidence.contains(last), "{shown:?}");
}

#[test]
fn a_sink_takes_load_from_allowed_senders_only() {
    const PUBLIC: [&str; 2] = ["203.0.113.1", "203.0.113.2"];
    needs_root!();
    let hosts = TwoHosts::create();
    for (host, address) in [(&hosts.near, PUBLIC[0]), (&hosts.far, PUBLIC[1])] {
        let add = format!("ip address add {address}/24 dev {}", netfathom_testkit::DEVICE);
        host.run(|| assert!(crate::child::shell(&add).status().unwrap().success())).unwrap();
    }
    let dir = out();
    let send = |sink: &Server| {
        let mut load = netfathom(&format!(
            "load send --to {} --allow {} --profile constant:1k/200ms --quiet --out",
            sink.address, PUBLIC[1]
        ));
        hosts.near.run(|| run(load.arg(dir.path()))).unwrap()
    };
    // All in the thread that starts the sink: it ends with that.
    let sent = |allow: &str| {
        let served = || {
            let listen = format!("load sink --json --listen {}:0 {allow}", PUBLIC[1]);
            let sink = Server::of(start(&mut netfathom(&listen)));
            let (ended, address) = (send(&sink), sink.address);
            assert_eq!(sink.end().status, 0);
            (ended, address)
        };
        hosts.far.run(served).unwrap()
    };
    let (refused, address) = sent("");
    let reply = format!("the sink at {address} refuses: your address {} is not in a private", PUBLIC[0]);
    refused.exited(1).explains(&[&reply, &format!("--allow {}/32", PUBLIC[0])]);
    sent(&format!("--allow {}/32", PUBLIC[0])).0.measured();
}
