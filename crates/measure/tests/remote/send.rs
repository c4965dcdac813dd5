//! The way out to another host.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc::channel;
use std::thread;

use netfathom_measure::kind::load::sink::{MOST_NS, SinkEvent, SinkPlan, serve};
use netfathom_measure::kind::stack;
use netfathom_measure::load::error::FlightError;
use netfathom_model::accounting::Fate;
use netfathom_model::engine::Receive;
use netfathom_model::path::{Direction, Stage};
use netfathom_model::plan::{Place, StackPlan};
use netfathom_model::record::TrialKind;
use netfathom_testkit::{TwoHosts, needs_root_alone};

use crate::two::{FAR, PORT, Waiting, assert_accounted, assert_of_one_clock, has, plan};

#[test]
fn the_way_out_to_another_host() {
    needs_root_alone!();
    let hosts = TwoHosts::create();
    let place = Place::To(SocketAddr::new(FAR, PORT));
    let plan = StackPlan {
        trials: 2,
        baselines: 2,
        cross_checks: 1,
        samples: 50,
        workers: 2,
        ..plan(place, Direction::Tx)
    };
    let plan = plan.validated().unwrap();
    let over = AtomicBool::new(false);
    let (notify, events) = channel();
    let (p, events) = thread::scope(|scope| {
        let sink = SinkPlan {
            listen: SocketAddr::new(FAR, PORT),
            receive: Receive::Recv,
            allow: Vec::new(),
            most_ns: MOST_NS,
            most_echo_per_s: f64::INFINITY,
            most_senders: 1,
            most_loads: None,
            log: None,
        };
        let (far, over) = (&hosts.far, &over);
        scope.spawn(move || {
            far.run(|| serve(&sink, &mut |event| drop(notify.send(event)), over)).unwrap().unwrap();
        });
        assert!(matches!(events.recv(), Ok(SinkEvent::Listening { .. })));
        let (waiting, _) = channel();
        let run = || stack::run(&plan, &mut Waiting(waiting), &AtomicBool::new(false));
        let p = hosts.near.run(run).unwrap();
        over.store(true, Relaxed);
        (p.unwrap(), events.iter().collect::<Vec<_>>())
    });
    let arrived: Vec<u64> = events
        .iter()
        .filter_map(|event| match event {
            SinkEvent::Ended { read, .. } => Some(read.delivered),
            _ => None,
        })
        .collect();
    assert_eq!(arrived.len(), 5, "one load a trial, and no unrequested burst: {events:?}");
    for (trial, arrived) in p.result.trials.iter().zip(arrived) {
        assert_accounted(trial);
        assert_eq!((trial.load.sent, trial.flat_out_per_s), (plan.profile.messages(), None));
        assert_eq!(trial.accounting.count(&Fate::Delivered), arrived);
        assert!(trial.accounting.counters.iter().any(|c| c.counter.starts_with("sink:")));
        for path in &trial.paths {
            assert_of_one_clock(path);
            assert_eq!((path.direction, path.total.n), (Direction::Tx, trial.load.sent));
        }
    }
    let measured = p.result.trials.iter().find(|t| t.kind == TrialKind::Measured).unwrap();
    assert!(has(&measured.paths[0], Stage::Socket) && has(&measured.paths[0], Stage::Driver));
    assert!((25..=50).contains(&p.samples.len()), "{}", p.samples.len());
    for s in &p.samples {
        let way = [Some(s.intended_ns), Some(s.sent_ns), s.net_dev_queue_ns, s.net_dev_start_xmit_ns];
        let times: Vec<u64> = way.into_iter().map(|t| t.expect("every hook saw it")).collect();
        assert!(times.is_sorted() && s.received_ns.is_none(), "{s:?}");
    }
}

#[test]
fn load_goes_to_no_stranger() {
    let place = Place::To("192.0.2.1:9".parse().unwrap());
    let plan = plan(place, Direction::Tx).validated().unwrap();
    let (waiting, _) = channel();
    let refused = stack::run(&plan, &mut Waiting(waiting), &AtomicBool::new(false)).unwrap_err();
    assert!(matches!(refused.reason(), Some(FlightError::NotAllowed(_))), "{refused}");
}
