//! Senders that are not as they should be, and a wait that ends without any.

use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpStream, UdpSocket};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread;
use std::time::{Duration, Instant};

use netfathom_measure::load::control::protocol::{Hello, SendTotals, VERSION};
use netfathom_measure::load::control::{ControlError, Session};
use netfathom_measure::load::error::FlightError;
use netfathom_model::accounting::Fate;
use netfathom_model::message::Header;
use netfathom_model::path::Tap;
use netfathom_model::plan::{LoadPlan, StackPlan, TapChoice};
use netfathom_model::profile::Profile;
use netfathom_sys::clock::monotonic_ns;
use netfathom_testkit::needs_root_alone;

use crate::two::{FAR, PROFILE, assert_accounted, assert_of_one_clock, listen, listening, send, sending};

fn hello() -> Hello {
    let profile: Profile = PROFILE.parse().unwrap();
    Hello {
        version: VERSION,
        size_bytes: 64,
        lanes: 1,
        echo: false,
        planned: profile.messages(),
        duration_ns: profile.duration_ns(),
    }
}

/// One message of the plan in this many is never sent, though its sender reports it as sent.
const LOST_EVERY: u64 = 100;

/// A sender that is not netfathom's, with a clock `ahead_ns` ahead of this machine's.
fn send_by_hand(to: SocketAddr, ahead_ns: i64) {
    let there_ns = || monotonic_ns().wrapping_add_signed(ahead_ns);
    let mut session = Session::open(to, hello()).unwrap();
    let socket = UdpSocket::bind((FAR, 0)).unwrap();
    socket.connect(to).unwrap();
    let start_ns = there_ns() + 50_000_000;
    session.begin(start_ns).unwrap();
    let profile: Profile = PROFILE.parse().unwrap();
    for (sequence, due_ns) in (0..).zip(profile.schedule(1)) {
        let intended_ns = start_ns + due_ns;
        while there_ns() < intended_ns {
            thread::yield_now();
        }
        let mut payload = [0; 64];
        let flow = session.welcome.flow;
        Header { flow, sequence, intended_ns, sent_ns: there_ns() }.write(&mut payload);
        if sequence % LOST_EVERY != LOST_EVERY / 2 {
            socket.send(&payload).unwrap();
        }
    }
    let (tried, accepted) = (hello().planned, hello().planned);
    let tally = session.end(SendTotals { tried, accepted, refused: 0 }).unwrap();
    assert_eq!(tally.read.delivered, accepted - accepted / LOST_EVERY);
}

#[test]
fn the_two_hosts_clocks_are_never_compared() {
    needs_root_alone!();
    const DAY_NS: i64 = 24 * 3600 * 1_000_000_000;
    for tap in [Tap::Bpf, Tap::Timestamping] {
        // A host that runs for longer, and one that was started a moment ago.
        let younger_ns = 1_000_000_000 - monotonic_ns() as i64;
        for ahead_ns in [DAY_NS, younger_ns] {
            let plan = StackPlan { tap: TapChoice::Only(tap), ..listening() };
            let (p, (), _) = listen(plan, &AtomicBool::new(false), |to| send_by_hand(to, ahead_ns));
            let trial = &p.result.trials[0];
            assert_accounted(trial);
            assert_of_one_clock(&trial.paths[0]);
            assert_eq!(trial.accounting.count(&Fate::OnTheWay), hello().planned / LOST_EVERY);
            assert!(
                trial.load.lag.min_ns >= 0 && trial.load.lag.max_ns < DAY_NS / 24,
                "{:?}",
                trial.load.lag
            );
            assert!(trial.load.span_ns < 10_000_000_000, "{}", trial.load.span_ns);
        }
    }
}

/// Begins a load and then says nothing more, but does not go either.
fn fall_silent(to: SocketAddr) -> TcpStream {
    let mut stream = TcpStream::connect(to).unwrap();
    let mut answers = BufReader::new(stream.try_clone().unwrap()).lines();
    let hello = serde_json::to_value(hello()).unwrap();
    let mut first = serde_json::json!({ "say": "hello" });
    first.as_object_mut().unwrap().extend(hello.as_object().unwrap().clone());
    writeln!(stream, "{first}").unwrap();
    assert!(answers.next().unwrap().unwrap().contains("welcome"));
    writeln!(stream, "{}", serde_json::json!({ "say": "begin", "start_ns": 1 })).unwrap();
    assert!(answers.next().unwrap().unwrap().contains("ready"));
    stream
}

#[test]
fn a_sender_that_vanishes_leaves_no_trial() {
    needs_root_alone!();
    let (p, sent, waits) = listen(listening(), &AtomicBool::new(false), |to| {
        // Before its load begins, while it runs, without a word, and stopped by its user.
        drop(Session::open(to, hello()).unwrap());
        let mut session = Session::open(to, hello()).unwrap();
        session.begin(1).unwrap();
        drop(session);
        let _silent = fall_silent(to);
        thread::sleep(Duration::from_millis(1500));
        let mut session = Session::open(to, hello()).unwrap();
        session.begin(1).unwrap();
        session.end(SendTotals { tried: 10, accepted: 10, refused: 0 }).unwrap();
        send(sending(to, 1)).unwrap()
    });
    assert_eq!(waits.len(), 5, "{waits:?}");
    assert_eq!((p.result.trials.len(), sent.result.trials.len()), (1, 1));
    assert_accounted(&p.result.trials[0]);
    assert_eq!(p.result.trials[0].load.sent, hello().planned);
    let thrown = p.findings.iter().find(|f| f.seen.contains("thrown away")).unwrap();
    assert!(thrown.seen.starts_with('4') && thrown.evidence.contains("10 of 900"), "{thrown:?}");
}

#[test]
fn a_load_of_another_plan_is_refused_with_the_required_plan() {
    needs_root_alone!();
    let (p, refused, _) = listen(listening(), &AtomicBool::new(false), |to| {
        let other = LoadPlan { profile: "constant:1k/100ms".parse().unwrap(), ..sending(to, 1) };
        let refused = send(other).unwrap_err();
        send(sending(to, 1)).unwrap();
        refused
    });
    assert!(
        matches!(refused.reason(), Some(FlightError::Control(ControlError::Refused { .. }))),
        "{refused}"
    );
    let command = format!("--engine send --profile {PROFILE} --size 64 --trials 1");
    assert!(refused.to_string().contains(&command), "{refused}");
    assert_eq!(p.result.trials.len(), 1);
}

#[test]
fn who_waits_for_a_sender_can_be_stopped() {
    needs_root_alone!();
    let stop = AtomicBool::new(false);
    let (p, stopped_at, _) = listen(listening(), &stop, |_| {
        stop.store(true, Relaxed);
        Instant::now()
    });
    assert_eq!(p.result.trials.len(), 0);
    assert!(stopped_at.elapsed() < Duration::from_secs(5));
}
