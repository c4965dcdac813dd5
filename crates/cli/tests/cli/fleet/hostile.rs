//! A client of the NATS server that speaks its protocol, and means no good.

use std::fmt::Write as _;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread;
use std::time::Duration;

use netfathom_fleet::wire::VERSION;
use netfathom_sys::clock::realtime_ns;
use netfathom_testkit::Star;
use serde_json::{Value, json};

use super::{Fleet, PORT, needs_fleet, status_kb};
use crate::child::{Ended, beside, end, until_holds};

const FAKES: usize = 10_000;
/// What a fleet has at most.
const MOST_HOSTS: usize = 4096;
/// What a process may grow by, of the hundreds of megabytes that come.
const MOST_GROWN_KB: u64 = 64 << 10;

struct Client {
    stream: TcpStream,
    reader: BufReader<TcpStream>,
}

struct Message {
    subject: String,
    reply: Option<String>,
    payload: Vec<u8>,
}

impl Client {
    fn connect(fleet: &Fleet, subjects: &[&str]) -> Self {
        let to = || TcpStream::connect((Star::hub_address(), PORT)).unwrap();
        let stream = fleet.star.hub.run(to).unwrap();
        stream.set_read_timeout(Some(Duration::from_millis(100))).unwrap();
        let reader = BufReader::new(stream.try_clone().unwrap());
        let mut client = Self { stream, reader };
        let mut hello = String::from("CONNECT {\"verbose\":false}\r\n");
        for (number, subject) in subjects.iter().enumerate() {
            let _ = write!(hello, "SUB netfathom.default.{subject} {number}\r\n");
        }
        client.say(hello.as_bytes());
        client
    }

    fn say(&mut self, bytes: &[u8]) {
        self.stream.write_all(bytes).unwrap();
    }

    fn publish(&mut self, subject: &str, reply: &str, payload: &[u8]) {
        let mut bytes = format!("PUB {subject} {reply} {}\r\n", payload.len()).into_bytes();
        bytes.extend_from_slice(payload);
        bytes.extend_from_slice(b"\r\n");
        self.say(&bytes);
    }

    /// The next message, unless none comes until then.
    fn next(&mut self, stop: &AtomicBool) -> Option<Message> {
        let mut line = String::new();
        while !stop.load(Relaxed) {
            match self.reader.read_line(&mut line) {
                Ok(0) => panic!("the server has closed the connection"),
                Ok(_) => {}
                Err(_) => continue,
            }
            let words: Vec<&str> = line.split_whitespace().collect();
            if words.first() == Some(&"PING") {
                self.say(b"PONG\r\n");
            } else if words.first() == Some(&"MSG") {
                let mut payload = vec![0; words.last().unwrap().parse::<usize>().unwrap() + 2];
                let mut at = 0;
                while at < payload.len() {
                    at += self.reader.read(&mut payload[at..]).unwrap_or(0);
                }
                payload.truncate(at - 2);
                let reply = (words.len() == 5).then(|| words[3].to_owned());
                return Some(Message { subject: words[1].to_owned(), reply, payload });
            }
            line.clear();
        }
        None
    }

    fn garbage(&mut self, subject: &str) {
        let deep = "[".repeat(100_000);
        let long = format!("{{\"session\":\"{}\"}}", "x".repeat(900_000));
        for payload in ["", "{}", "\u{0}\u{1}", "{\"version\":1}", "null", &deep, &long] {
            self.publish(subject, "netfathom.nowhere", payload.as_bytes());
        }
    }
}

/// The most memory that a process has had.
fn most_kb(pid: u32) -> Option<u64> {
    status_kb(pid, "VmHWM:")
}

/// What comes of a command, and the most memory that it has had.
fn watched(fleet: &Fleet, args: &str) -> (Ended, u64) {
    let child = fleet.start_command(args);
    let pid = child.id();
    let most = thread::spawn(move || {
        let mut most = 0;
        // A process that has ended has none.
        while let Some(now) = most_kb(pid) {
            most = now.max(most);
            thread::sleep(Duration::from_millis(2));
        }
        most
    });
    (end(child), most.join().unwrap())
}

fn facts(name: &str) -> Value {
    json!({
        "version": VERSION, "name": name, "incarnation": "0", "labels": {}, "tool": "none", "kernel": "none", "cpus": 1,
        "address": "10.78.0.254", "now_utc_ns": realtime_ns(), "lacks": [], "busy": false,
    })
}

/// Takes each order, does nothing, and reports at once that it is done.
fn lie(client: &mut Client, stop: &AtomicBool) {
    while let Some(message) = client.next(stop) {
        let Some(reply) = message.reply else { continue };
        if !message.subject.contains(".order.") {
            client.publish(&reply, "netfathom.nowhere", facts("liar").to_string().as_bytes());
            continue;
        }
        let order: Value = serde_json::from_slice(&message.payload).unwrap();
        let answer = json!({"taken": {"port": 9}});
        client.publish(&reply, "netfathom.nowhere", answer.to_string().as_bytes());
        let outcome = if order["task"]["transfer"].is_object() {
            json!({"transferred": {
                "started_utc_ns": order["task"]["transfer"]["start_utc_ns"], "start_waited_ns": null, "peer": null,
                "bytes": 1000, "duration_ns": 1000, "retransmits": null, "rtt_us": null, "cause": null, "broken": null,
            }})
        } else {
            json!("served")
        };
        let report = json!({
            "from": ["liar", "0"], "session": order["session"], "number": order["number"], "outcome": outcome,
        });
        let subject = format!("netfathom.default.report.{}", order["session"].as_str().unwrap());
        client.publish(&subject, "netfathom.nowhere", report.to_string().as_bytes());
    }
}

#[test]
fn an_agent_that_only_says_that_it_sent_makes_no_other_one_missing() {
    needs_fleet!();
    let fleet = Fleet::start(1);
    let names = fleet.dir.path().join("names");
    std::fs::write(&names, "c00\nliar\n").unwrap();
    let mut client = Client::connect(&fleet, &["hello", "who.liar", "order.liar"]);
    let args = format!("fleet mesh throughput --time 200ms --hosts {}", names.display());
    let (ended, result) = beside(|stop| lie(&mut client, stop), || fleet.measure(&args, "lied"));
    let missing: Vec<_> = result.hosts.iter().filter(|host| host.missing.is_some()).collect();
    assert!(missing.is_empty(), "{missing:#?} {ended}");
    let failed: Vec<_> = result.pairs.iter().filter_map(|pair| pair.failed.as_deref()).collect();
    assert!(failed.iter().any(|why| why.contains("c00: ended before a sender came")), "{failed:#?}");
}

/// Answers a call for hosts as 10,000 of them, which take no order, with garbage between.
fn crowd(client: &mut Client, stop: &AtomicBool) {
    while let Some(message) = client.next(stop) {
        // A controller's: agents are called by garbage too.
        let Some(reply) = message.reply.filter(|reply| reply.starts_with("_INBOX")) else { continue };
        if !message.subject.ends_with(".hello") {
            continue;
        }
        for fake in 0..FAKES {
            let facts = facts(&format!("fake{fake:05}"));
            client.publish(&reply, "netfathom.nowhere", facts.to_string().as_bytes());
            if fake % 500 == 0 {
                client.garbage(&reply);
            }
        }
    }
}

#[test]
fn ten_thousand_fake_agents_are_left_out_and_do_no_harm() {
    needs_fleet!();
    let fleet = Fleet::start(2);
    let names = fleet.names(2);
    let (_, alone_kb) = watched(&fleet, "fleet hosts");
    let agent_kb = || fleet.agents.iter().map(|agent| most_kb(agent.id()).unwrap()).max().unwrap();
    let before_kb = agent_kb();
    let mut client = Client::connect(&fleet, &["hello", "order.*"]);
    for subject in ["hello", "who.c00", "order.c00", "beat"] {
        client.garbage(&format!("netfathom.default.{subject}"));
    }
    let besieged = || {
        let (hosts, crowded_kb) = watched(&fleet, "fleet hosts --json");
        let listed: Value = hosts.json();
        assert_eq!((hosts.status, listed.as_array().unwrap().len()), (5, MOST_HOSTS), "{hosts}");
        assert!(hosts.err.contains("more answers are left out"), "{hosts}");
        let left_out: usize = hosts.err.split_whitespace().next().unwrap().parse().unwrap();
        assert!(left_out >= FAKES - MOST_HOSTS, "{left_out}");
        // Nothing is measured with whoever comes first; hosts that are named are found in the crowd.
        let mesh = "fleet mesh throughput --time 200ms";
        fleet.run(mesh).exited(1).explains(&["answers are left out"]);
        fleet.run(&format!("{mesh} --hosts {names}")).exited(0);
        let grown_kb = (crowded_kb - alone_kb, agent_kb() - before_kb);
        eprintln!("grown: fleet hosts {} KB, an agent {} KB", grown_kb.0, grown_kb.1);
        assert!(grown_kb.0 < MOST_GROWN_KB && grown_kb.1 < MOST_GROWN_KB, "{grown_kb:?}");
    };
    beside(|stop| crowd(&mut client, stop), besieged);
}

#[test]
fn an_order_that_is_sent_again_or_from_the_future_is_refused() {
    needs_fleet!();
    let fleet = Fleet::start(2);
    let mut spy = Client::connect(&fleet, &["order.*"]);
    assert_eq!(fleet.run("fleet mesh throughput --time 200ms").status, 0);
    let mut client = Client::connect(&fleet, &["nowhere"]);
    let orders = Mutex::new(Vec::new());
    let spies = |stop: &AtomicBool| {
        while let Some(message) = spy.next(stop) {
            orders.lock().unwrap().push(message);
        }
    };
    beside(spies, || until_holds("the last order", || orders.lock().unwrap().len() >= 6));
    let mut refusal = |subject: &str, order: &[u8]| {
        client.publish(subject, "netfathom.default.nowhere", order);
        let answer: Value =
            serde_json::from_slice(&client.next(&AtomicBool::new(false)).unwrap().payload).unwrap();
        answer["refused"]["why"].as_str().unwrap_or_else(|| panic!("{answer}")).to_owned()
    };
    for message in orders.into_inner().unwrap() {
        let again = refusal(&message.subject, &message.payload);
        assert!(again.contains("a session that is over"), "{again}");
        // The same as another controller would give it, in an hour.
        let mut order: Value = serde_json::from_slice(&message.payload).unwrap();
        order["session"] = "another.1".into();
        order["expires_utc_ns"] = (order["expires_utc_ns"].as_u64().unwrap() + 3_600_000_000_000).into();
        let early = refusal(&message.subject, order.to_string().as_bytes());
        assert!(early.contains("from the future"), "{early}");
    }
}
