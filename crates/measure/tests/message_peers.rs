//! Other projects' libraries as layers of `message`, where they are installed.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread;
use std::time::Duration;

use netfathom_measure::ground::observer::Progressed;
use netfathom_measure::kind::message::run;
use netfathom_model::layer::{Layer, Peer};
use netfathom_model::plan::{MessagePlan, MessageTest, Place, ProcessorChoice};
use netfathom_model::record::MessageResult;
use netfathom_model::verdict::Level;
use netfathom_sys::peer::{Nng, PeerError, Zmq};
use netfathom_testkit::{privileged, skipped};

const TESTS: [MessageTest; 3] = [MessageTest::Oneway, MessageTest::Pingpong, MessageTest::Post];

/// Those that are installed.
fn installed(test: &str) -> Vec<Layer> {
    let here = |&name: &Peer| {
        let loaded: Result<(), PeerError> = match name {
            Peer::Zmq => Zmq::load().map(drop),
            Peer::Nng => Nng::load().map(drop),
        };
        loaded.map_err(|error| skipped(test, &error.to_string())).is_ok()
    };
    Peer::ALL.iter().copied().filter(here).map(|name| Layer::Peer { name }).collect()
}

fn plan(test: MessageTest, place: Place, layers: Vec<Layer>) -> MessagePlan {
    MessagePlan {
        sizes_bytes: vec![4, 100_000],
        layers,
        processors: ProcessorChoice::Same,
        messages: 50,
        least_ns: 0,
        trials: 1,
        remedies: false,
        ..MessagePlan::paper(test, place)
    }
}

fn measured(plan: &MessagePlan) -> Progressed<MessageResult> {
    run(plan, &mut (), &AtomicBool::new(false)).unwrap()
}

/// What was sent has come, in every test, and both ends have costs of their own.
fn arrives(place: Place, layers: &[Layer]) {
    for test in TESTS {
        let plan = plan(test, place, layers.to_vec());
        let p = measured(&plan);
        assert_eq!(p.result.cells.len(), 2 * layers.len(), "{:?}", p.result.absent);
        for cell in &p.result.cells {
            for trial in &cell.trials {
                assert_eq!(trial.lost, 0, "{} {test:?}", cell.layer);
                // One way it is the last sample whose time is known.
                assert!(trial.messages > 0 && !trial.cut_short, "{} {test:?} {trial:?}", cell.layer);
                let busy = [trial.client, trial.server].map(|end| end.cpu_ns.unwrap());
                assert!(busy.iter().all(|&ns| ns > 0), "{} {test:?} {busy:?}", cell.layer);
            }
        }
        assert!(p.verdict.level < Level::Void, "{:?}", p.verdict);
    }
}

#[test]
fn all_messages_arrive_over_loopback() {
    arrives(Place::Loopback, &installed("all_messages_arrive_over_loopback"));
}

#[test]
fn all_messages_arrive_in_the_lab() {
    if privileged("all_messages_arrive_in_the_lab") {
        arrives(Place::Lab, &installed("all_messages_arrive_in_the_lab"));
    }
}

#[test]
fn a_run_that_is_stopped_ends_soon_though_its_ends_wait() {
    let layers = installed("a_run_that_is_stopped_ends_soon_though_its_ends_wait");
    for layer in layers {
        // A message a second: the server waits for it, and only a cut ends that.
        let plan = MessagePlan {
            rate_per_s: Some(1.0),
            messages: 1000,
            most_ns: 100_000_000_000,
            least_ns: 100_000_000_000,
            ..plan(MessageTest::Oneway, Place::Loopback, vec![layer.clone()])
        };
        let stop = Arc::new(AtomicBool::new(false));
        let (stopped, done) = (Arc::clone(&stop), Arc::new(AtomicBool::new(false)));
        let finished = Arc::clone(&done);
        let running = thread::spawn(move || {
            let p = run(&plan, &mut (), &stopped);
            finished.store(true, Relaxed);
            p.unwrap()
        });
        thread::sleep(Duration::from_millis(500));
        assert!(!done.load(Relaxed), "{layer}: there was nothing to stop");
        stop.store(true, Relaxed);
        // Bounded only so that a failure is one: the trial itself would take a hundred seconds.
        let soon = (0..600).any(|_| {
            thread::sleep(Duration::from_millis(50));
            done.load(Relaxed)
        });
        assert!(soon, "{layer} goes on");
        assert!(running.join().unwrap().result.cells.is_empty());
    }
}

#[test]
fn with_peers_those_take_part_that_are_here_and_the_others_are_told() {
    let here = installed("with_peers_those_take_part_that_are_here_and_the_others_are_told");
    let mut plan = plan(MessageTest::Pingpong, Place::Loopback, vec![Layer::reference()]);
    plan.peers = true;
    let p = measured(&plan);
    for &name in Peer::ALL {
        let layer = Layer::Peer { name };
        let measured = p.result.cells.iter().any(|cell| cell.layer == layer && !cell.trials.is_empty());
        assert_eq!(measured, here.contains(&layer), "{layer}");
        let told = p.result.absent.iter().find(|absent| absent.layer.as_ref() == Some(&layer));
        assert_eq!(told.is_some(), !measured, "{layer}");
        assert!(told.is_none_or(|absent| absent.why.contains("apt install")), "{layer}");
    }
}
