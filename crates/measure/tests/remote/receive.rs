//! The way in of what another host sends.

use std::net::{Ipv6Addr, SocketAddr};
use std::sync::atomic::AtomicBool;

use netfathom_model::accounting::Fate;
use netfathom_model::path::{Direction, Stage, Tap};
use netfathom_model::plan::{Family, LoadPlan, Place, StackPlan};
use netfathom_model::record::TrialKind;
use netfathom_sys::link;
use netfathom_testkit::{needs, needs_root_alone};

use crate::two::{PORT, assert_accounted, assert_of_one_clock, has, listen, listening, plan, send, sending};

#[test]
fn the_way_in_of_what_another_host_sends() {
    needs_root_alone!();
    let plan = StackPlan { trials: 2, baselines: 2, cross_checks: 1, samples: 50, ..listening() };
    let stop = AtomicBool::new(false);
    let (p, sent, waits) =
        listen(plan.clone(), &stop, |to| send(LoadPlan { workers: 2, ..sending(to, 5) }).unwrap());
    assert!(waits[0].contains("load send --to 10.77.0.1:47000"), "{waits:?}");
    assert!(waits[0].contains("--trials 5"), "{waits:?}");
    assert_eq!((p.result.trials.len(), p.result.plan.workers), (5, 2));
    for (trial, theirs) in p.result.trials.iter().zip(&sent.result.trials) {
        assert_accounted(trial);
        assert_eq!(trial.load.sent, plan.profile.messages());
        assert_eq!(trial.accounting.count(&Fate::Delivered), theirs.accounting.count(&Fate::Delivered));
        assert!(theirs.accounting.counters.iter().all(|c| c.agrees()), "{:?}", theirs.accounting.counters);
        // What the messages say of their sender is what the sender says of itself.
        assert_eq!(trial.load.lag.n, trial.accounting.count(&Fate::Delivered));
        assert_eq!(trial.load.lag.max_ns, theirs.load.lag.max_ns);
        assert_eq!(trial.load.span_ns, theirs.load.span_ns);
        assert_eq!(trial.flat_out_per_s, None);
        for path in &trial.paths {
            assert_of_one_clock(path);
        }
    }
    let measured = p.result.trials.iter().find(|t| t.kind == TrialKind::Measured).unwrap();
    let path = &measured.paths[0];
    assert_eq!(path.direction, Direction::Rx);
    for stage in [Stage::Backlog, Stage::Protocol, Stage::Read, Stage::Return] {
        assert!(has(path, stage), "{stage:?} of {:?}", path.stages);
    }
    assert!(path.peak.is_some_and(|peak| peak.count > 0));
    assert_eq!(p.result.trials.iter().filter(|t| t.tap == Some(Tap::Timestamping)).count(), 1);
    assert!((25..=50).contains(&p.samples.len()), "{}", p.samples.len());
    assert!(p.samples.iter().all(|s| s.netif_receive_skb_ns < s.received_ns));
}

#[test]
fn the_way_in_over_ipv6_at_any_address() {
    needs_root_alone!();
    needs!(link::ipv6_available(), "needs IPv6");
    let any = Place::Listen(SocketAddr::new(Ipv6Addr::UNSPECIFIED.into(), PORT));
    let plan = StackPlan { family: Family::Ipv6, ..plan(any, Direction::Rx) };
    let (p, sent, waits) = listen(plan, &AtomicBool::new(false), |to| {
        send(LoadPlan { family: Family::Ipv6, ..sending(to, 1) }).unwrap()
    });
    assert!(waits[0].contains("--to ADDR:47000"), "{waits:?}");
    let (ours, theirs) = (&p.result.trials[0].accounting, &sent.result.trials[0].accounting);
    assert_accounted(&p.result.trials[0]);
    assert_of_one_clock(&p.result.trials[0].paths[0]);
    assert_eq!(ours.count(&Fate::Delivered), theirs.count(&Fate::Delivered));
}
