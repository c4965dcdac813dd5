//! A sink: what it counts, what it tells, and what it does not let itself be used for.

use std::net::{SocketAddr, UdpSocket};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use netfathom_measure::kind::load::sink::{MOST_NS, SinkEvent, SinkPlan, serve};
use netfathom_measure::load::error::FlightError;
use netfathom_model::accounting::Fate;
use netfathom_model::engine::{Engine, Receive};
use netfathom_model::message::Header;
use netfathom_model::plan::{LoadPlan, Place};
use netfathom_testkit::{alone, nearly};

use super::{measure, plan};

/// A sink that runs in a thread, over loopback.
struct Running {
    address: SocketAddr,
    events: Receiver<SinkEvent>,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<Result<(), FlightError>>>,
}

impl Running {
    fn start() -> Self {
        let (sender, events) = channel();
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = Arc::clone(&stop);
        let sender = Mutex::new(sender);
        let thread = thread::spawn(move || {
            let listen = "127.0.0.1:0".parse().unwrap();
            let plan = SinkPlan {
                listen,
                receive: Receive::Recvmmsg,
                allow: Vec::new(),
                most_ns: MOST_NS,
                most_echo_per_s: f64::INFINITY,
                most_senders: 8,
                most_loads: None,
                log: None,
            };
            // A test that has seen enough listens no more.
            serve(&plan, &mut |event| drop(sender.lock().unwrap().send(event)), &stopped)
        });
        let Ok(SinkEvent::Listening { at: address, .. }) = events.recv() else {
            panic!("it does not listen")
        };
        Self { address, events, stop, thread: Some(thread) }
    }

    fn to(&self, profile: &str) -> LoadPlan {
        LoadPlan { place: Place::To(self.address), ..plan(profile, Engine::Send) }
    }

    fn stop(&mut self) {
        self.stop.store(true, Relaxed);
        if let Some(thread) = self.thread.take() {
            thread.join().unwrap().unwrap();
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.stop.store(true, Relaxed);
    }
}

#[test]
fn each_of_several_senders_has_its_own_account() {
    let _alone = alone();
    let sink = Running::start();
    let sent = |load: LoadPlan| {
        let p = measure(load);
        let a = &p.result.trials[0].accounting;
        assert_eq!((a.gap(), a.foreign, a.reordered, a.duplicates), (0, 0, 0, 0), "{a:?}");
        assert!(a.counters.iter().any(|c| c.counter.starts_with("sink: ")), "{:?}", a.counters);
        assert!(a.counters.iter().all(|c| c.agrees()), "{:?}", a.counters);
        assert_eq!((a.sent, p.result.receive), (a.count(&Fate::Delivered), Some(Receive::Recvmmsg)));
        a.sent
    };
    let loads =
        ["constant:1k/400ms", "constant:2k/400ms", "constant:3k/400ms"].map(|profile| sink.to(profile));
    let counts = thread::scope(|scope| {
        let senders = loads.map(|load| scope.spawn(|| sent(load)));
        senders.map(|sender| sender.join().unwrap())
    });
    // A sender that has no processor at the end leaves out its last messages.
    assert!(counts.iter().zip([400, 800, 1200]).all(|(&sent, planned)| nearly(sent, planned)), "{counts:?}");
    let mut under_way = 0;
    let mut most = 0;
    let mut read = Vec::new();
    for event in sink.events.try_iter() {
        match event {
            SinkEvent::Begins { .. } => under_way += 1,
            SinkEvent::Ended { sent, read: r, .. } => {
                under_way -= 1;
                assert_eq!(sent.accepted, r.delivered);
                read.push(r.delivered);
            }
            other => panic!("{other:?}"),
        }
        most = most.max(under_way);
    }
    read.sort_unstable();
    assert!(most > 1, "they were served one after the other");
    assert_eq!(read, counts);
}

#[test]
fn a_sink_answers_only_where_it_was_asked_to() {
    let _alone = alone();
    let sink = Running::start();
    let p = measure(LoadPlan { echo: true, ..sink.to("constant:1k/200ms") });
    assert_eq!(p.result.summary.unwrap().echo_loaded.unwrap().answered, 200);
    // An unannounced message is not answered, however complete it is.
    let stranger = UdpSocket::bind("127.0.0.1:0").unwrap();
    stranger.set_read_timeout(Some(Duration::from_millis(300))).unwrap();
    stranger.send_to(&message(9, 0), sink.address).unwrap();
    assert!(stranger.recv(&mut [0; 64]).is_err());
}

#[test]
fn whatever_comes_is_counted_as_what_it_is() {
    let mut sink = Running::start();
    let stranger = UdpSocket::bind("127.0.0.1:0").unwrap();
    stranger.connect(sink.address).unwrap();
    let datagrams = [
        message(9, 0),
        message(9, 2),
        message(9, 2),
        message(9, 1),
        message(9, 3)[..20].to_vec(),
        vec![],
        vec![0xff; 60_000],
        b"GET / HTTP/1.0\r\n\r\n".to_vec(),
    ];
    datagrams.iter().for_each(|d| assert_eq!(stranger.send(d).unwrap(), d.len()));
    thread::sleep(Duration::from_millis(100));
    sink.stop();
    let strays: Vec<_> = sink
        .events
        .try_iter()
        .filter_map(|e| if let SinkEvent::Strays { flow, read, .. } = e { Some((flow, read)) } else { None })
        .collect();
    let of = |flow| strays.iter().find(|s| s.0 == flow).map(|s| s.1.clone()).unwrap();
    let flow = of(Some(9));
    assert_eq!((flow.delivered, flow.duplicates, flow.reordered), (3, 1, 1));
    let none = of(None);
    assert_eq!((none.truncated, none.garbage), (1, 3));
}

fn message(flow: u32, sequence: u64) -> Vec<u8> {
    let mut payload = vec![0; 64];
    Header { flow, sequence, intended_ns: 1, sent_ns: 2 }.write(&mut payload);
    payload
}
