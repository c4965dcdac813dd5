//! A host and a counterpart by hand: what the other side makes of those that break off, flood, lie, or are strangers.

use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};

use netfathom_model::verdict::Reason;
use serde_json::{Value, json};

use super::*;

/// A host by hand: up to where the counterpart has made its sockets.
fn by_hand(server: &Server, flow: u32) -> BufReader<TcpStream> {
    by_hand_in(server, flow, Variant::Ignored)
}

fn by_hand_in(server: &Server, flow: u32, variant: Variant) -> BufReader<TcpStream> {
    let mut stream = TcpStream::connect(server.address).unwrap();
    stream.set_read_timeout(Some(NOTICES)).unwrap();
    let plan = json!({
        "family": "ipv4", "variants": ["ignored"], "trials": 1, "duration_ns": 400_000_000_u64,
        "inbound_from_per_s": 100.0, "inbound_peak_per_s": 1000.0, "size_bytes": 64, "tapped": false, "cpus": null,
    });
    let trial = json!({"say": "trial", "plan": plan, "variant": variant, "flow": flow, "takes": true});
    writeln!(stream, "{}\n{trial}", json!({"say": "reverse", "version": 1})).unwrap();
    let mut lines = BufReader::new(stream);
    for word in ["welcome", "bound"] {
        assert_eq!(heard(&mut lines)["say"], word);
    }
    lines
}

fn tell(lines: &BufReader<TcpStream>, word: &Value) {
    writeln!(lines.get_ref(), "{word}").unwrap();
}

/// The next word that is no sign of life.
fn answer(lines: &mut BufReader<TcpStream>) -> Value {
    loop {
        let word = heard(lines);
        if word["say"] != "alive" {
            return word;
        }
    }
}

/// The sockets of a host by hand, which the counterpart has met.
fn met(server: &Server, lines: &mut BufReader<TcpStream>, flow: u32) -> [UdpSocket; 2] {
    let sockets = [flow, flow + 1].map(|flow| {
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        socket.connect(server.address).unwrap();
        socket.send(&greeting(flow)).unwrap();
        socket
    });
    assert_eq!(answer(lines)["say"], "met");
    sockets
}

fn heard(lines: &mut BufReader<TcpStream>) -> Value {
    let mut line = String::new();
    lines.read_line(&mut line).unwrap();
    serde_json::from_str(&line).unwrap()
}

fn greeting(flow: u32) -> [u8; 32] {
    let mut payload = [0; 32];
    netfathom_model::message::Header { flow, sequence: 0, intended_ns: 0, sent_ns: 0 }.write(&mut payload);
    payload
}

#[test]
fn who_has_not_shown_its_address_is_sent_nothing() {
    let server = local("");
    // Another host than that of the conversation, which knows the numbers.
    let mut lines = by_hand(&server, 7);
    let other = UdpSocket::bind("127.0.0.2:0").unwrap();
    for flow in [7, 8] {
        other.send_to(&greeting(flow), server.address).unwrap();
    }
    let failed = answer(&mut lines);
    assert!(
        failed["say"] == "failed" && failed["text"].as_str().unwrap().contains("no datagram"),
        "{failed}"
    );
    other.set_nonblocking(true).unwrap();
    assert!(other.recv(&mut [0; 64]).is_err());
    server.next("no datagram of your host came");
    // The same host without the numbers.
    let mut lines = by_hand(&server, 7);
    let same = UdpSocket::bind("127.0.0.1:0").unwrap();
    same.send_to(&greeting(9), server.address).unwrap();
    assert_eq!(answer(&mut lines)["say"], "failed");
    same.set_nonblocking(true).unwrap();
    assert!(same.recv(&mut [0; 64]).is_err());
    server.next("no datagram of your host came");
    // With them it is met, and is let go when it does not live.
    let mut lines = by_hand(&server, 7);
    for flow in [7, 8] {
        same.send_to(&greeting(flow), server.address).unwrap();
    }
    assert_eq!(answer(&mut lines)["say"], "met");
    writeln!(lines.get_ref(), "{}", json!({"say": "begin", "after_ns": 0})).unwrap();
    server.next("was silent for 3s");
    for words in ["what?\n", "{\"say\":\"begin\",\"after_ns\":99000000000}\n", "{\"say\":\"over\"}\n"] {
        let mut stream = TcpStream::connect(server.address).unwrap();
        writeln!(stream, "{}", json!({"say": "reverse", "version": 1})).unwrap();
        stream.write_all(words.as_bytes()).unwrap();
        server.next("after 0 trials: ");
    }
    still_serves(&server);
    assert_eq!(server.end().status, 0);
}

#[test]
fn a_host_that_goes_on_sending_does_not_keep_a_counterpart() {
    let server = local("");
    let mut lines = by_hand_in(&server, 7, Variant::Echo);
    let [load, _] = met(&server, &mut lines, 7);
    for word in ["ready", "begin", "over"] {
        tell(&lines, &json!({"say": word, "after_ns": 0}));
    }
    let mut message = [0; 64];
    message[..32].copy_from_slice(&greeting(7));
    let floods = |done: &AtomicBool| {
        while !done.load(Relaxed) {
            // Refused while the counterpart has no socket.
            let _ = load.send(&message);
        }
    };
    beside(floods, || {
        assert_eq!(answer(&mut lines)["say"], "ready");
        // Before a client would call it silent.
        lines.get_ref().set_read_timeout(Some(Duration::from_secs(3))).unwrap();
        assert_eq!(answer(&mut lines)["say"], "ended");
    });
    drop(lines);
    server.next("after 1 trial");
    still_serves(&server);
    assert_eq!(server.end().status, 0);
}

/// A path with a queue delivers after the word that comes by another way.
#[test]
fn what_comes_late_of_the_load_before_a_trial_is_not_counted() {
    let server = local("");
    let mut lines = by_hand(&server, 7);
    let [load, _inbound] = met(&server, &mut lines, 7);
    let on_the_way = AtomicBool::new(true);
    thread::scope(|scope| {
        scope.spawn(|| {
            for _ in 0..300 {
                load.send(&greeting(0)).unwrap();
                thread::sleep(Duration::from_millis(1));
            }
            on_the_way.store(false, Relaxed);
        });
        tell(&lines, &json!({"say": "ready"}));
        assert_eq!(answer(&mut lines)["say"], "ready");
        assert!(!on_the_way.load(Relaxed));
    });
    tell(&lines, &json!({"say": "begin", "after_ns": 0}));
    tell(&lines, &json!({"say": "over"}));
    let ended = answer(&mut lines);
    assert_eq!((&ended["say"], &ended["arrived"]), (&"ended".into(), &0.into()));
    tell(&lines, &json!({"say": "bye"}));
    server.next("ended after 1 trial");
    assert_eq!(server.end().status, 0);
}

#[test]
fn a_host_that_leaves_is_noticed_at_once() {
    let server = local("");
    drop(by_hand(&server, 7));
    assert!(server.next("after 0 trials").contains("has closed the connection"));
    let mut lines = by_hand(&server, 7);
    met(&server, &mut lines, 7);
    tell(&lines, &json!({"say": "bye"}));
    server.next("ended after 0 trials");
    assert_eq!(server.end().status, 0);
}

/// A counterpart by hand that is silent from one of its words on, or claims what it sent.
struct FakeServer {
    listener: TcpListener,
    socket: UdpSocket,
}

impl FakeServer {
    fn new() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let socket = UdpSocket::bind(listener.local_addr().unwrap()).unwrap();
        Self { listener, socket }
    }

    fn client(&self, dir: &Path) -> Command {
        let at = self.listener.local_addr().unwrap();
        let args = "reverse --variant ignored --trials 1 --no-tap --time 400ms --inbound 10..1k --quiet";
        netfathom_to(dir, &format!("{args} --to {at}"))
    }

    /// Serves one host. `strangers` is called with where its messages come in, once the trial has begun.
    fn serve(&self, silent_from: &str, in_windows: u64, strangers: impl Fn(SocketAddr)) {
        let (stream, _) = self.listener.accept().unwrap();
        stream.set_read_timeout(Some(NOTICES)).unwrap();
        let mut lines = BufReader::new(stream);
        let (mut flow, mut inbound) = (0, self.socket.local_addr().unwrap());
        let mut line = String::new();
        while matches!(lines.read_line(&mut line), Ok(1..)) {
            let word: Value = serde_json::from_str(&std::mem::take(&mut line)).unwrap();
            let kind = word["say"].as_str().unwrap();
            let identity = json!({"boot": "", "network": ""});
            let reply = match kind {
                "reverse" => {
                    json!({"say": "welcome", "tool": "t", "host": "h", "kernel": "k", "cpu": 0, "identity": identity})
                }
                "trial" => {
                    flow = word["flow"].as_u64().unwrap() as u32;
                    json!({"say": "bound", "port": self.socket.local_addr().unwrap().port()})
                }
                "ready" => json!({"say": "ready"}),
                "over" => json!({"say": "ended", "inbound_sent": 0, "windows": [in_windows], "arrived": 0}),
                "begin" => {
                    strangers(inbound);
                    continue;
                }
                "alive" => json!({"say": "alive"}),
                _ => return,
            };
            if reply["say"] == silent_from {
                continue;
            }
            tell(&lines, &reply);
            if kind == "trial" && silent_from != "met" {
                let mut payload = [0; 32];
                while payload != greeting(flow.wrapping_add(1)) {
                    inbound = self.socket.recv_from(&mut payload).unwrap().1;
                }
                tell(&lines, &json!({"say": "met"}));
                self.socket.send_to(&payload, inbound).unwrap();
            }
        }
    }
}

#[test]
fn a_stopped_run_does_not_wait_for_a_silent_counterpart() {
    for silent_from in ["welcome", "bound", "met", "ready"] {
        let (server, dir) = (FakeServer::new(), out());
        let client = start(&mut server.client(dir.path()));
        thread::scope(|scope| {
            scope.spawn(|| server.serve(silent_from, 0, |_| ()));
            thread::sleep(Duration::from_millis(1500));
            signal("INT", &client);
            // Its answers may take five.
            let ended = end_within(client, Duration::from_secs(3));
            assert!(!ended.err.contains("lost"), "{silent_from}: {ended}");
            assert_eq!(record(dir.path()).unwrap().state, State::Interrupted, "{silent_from}");
        });
    }
}

#[test]
fn what_a_stranger_sends_is_no_inbound_load() {
    let (server, dir) = (FakeServer::new(), out());
    let client = start(&mut server.client(dir.path()));
    server.serve("", 0, |inbound| {
        assert_eq!(inbound.ip(), server.socket.local_addr().unwrap().ip());
        let stranger = UdpSocket::bind("127.0.0.2:0").unwrap();
        for _ in 0..100 {
            stranger.send_to(&[0; 64], inbound).unwrap();
        }
    });
    end(client);
    let record = record(dir.path()).unwrap();
    let reasons = &record.verdict.reasons;
    assert!(reasons.iter().all(|reason| !reason.text.contains("another program")), "{reasons:?}");
    // Nor did the counterpart send any.
    let absent = |reason: &Reason| reason.level == Level::Void && reason.text.contains("did not come in");
    assert!(reasons.iter().any(absent), "{reasons:?}");
    let between = trials(&record).next().unwrap().1.between.unwrap();
    assert_eq!((between.inbound_overflowed, between.inbound_left), (0, 0));
}

#[test]
fn windows_that_do_not_add_up_are_not_believed() {
    let (server, dir) = (FakeServer::new(), out());
    let client = start(&mut server.client(dir.path()));
    server.serve("", 1 << 44, |_| ());
    end(client).exited(1).explains(&["reports what cannot be"]);
}
