//! `capacity` against truths that it did not produce: counters of the kernel, and the order
//! that its own numbers must have.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use netfathom_measure::ground::observer::{Live, Observer, Progressed, Step};
use netfathom_measure::ground::processors::spread;
use netfathom_measure::ground::rig::Rig;
use netfathom_measure::kind::capacity::run;
use netfathom_measure::load::flight::Departures;
use netfathom_measure::load::shot::Shot;
use netfathom_model::engine::{Engine, Receive};
use netfathom_model::plan::{CapacityPlan, Family, Place, Spin, Transport};
use netfathom_model::profile::Profile;
use netfathom_model::record::{CapacityResult, CapacityRow};
use netfathom_model::verdict::Level;
use netfathom_testkit::{alone, needs_root_alone};

/// Keeps the steps' names and the number of rows at each record.
#[derive(Default)]
struct Watcher {
    steps: Vec<String>,
    rows: Vec<usize>,
}

impl Observer<CapacityResult> for Watcher {
    fn begins(&mut self, step: Step, _: &Arc<Live>) {
        self.steps.push(step.name);
    }
    fn keep(&mut self, so_far: &Progressed<CapacityResult>) -> io::Result<()> {
        self.rows.push(so_far.result.rows.len());
        Ok(())
    }
}

fn plan(engines: &[Engine], workers: &[u32]) -> CapacityPlan {
    CapacityPlan {
        transport: Transport::Udp,
        place: Place::Lab,
        family: Family::Ipv4,
        engines: engines.to_vec(),
        workers: workers.to_vec(),
        hold_ns: 50_000_000,
        trials: 2,
        size_bytes: 64,
        cpus: Vec::new(),
        allow: vec![],
    }
}

fn measure(plan: CapacityPlan, watcher: &mut Watcher) -> Progressed<CapacityResult> {
    run(&plan.validated().unwrap(), watcher, &AtomicBool::new(false)).unwrap()
}

/// What must hold of any row, whatever the machine did meanwhile.
fn assert_sound(row: &CapacityRow) {
    let name = row.engine.name();
    // Whoever had the CPUs can make two searches differ by their mean, and is named: else more searches are advised.
    let mut void = row.verdict.reasons.iter().filter(|reason| reason.level == Level::Void).map(|r| &*r.text);
    let is_others = |why: &str| why.starts_with("sustained rates differ by") && !why.contains("take more");
    assert!(void.all(is_others), "{name}: {:?}", row.verdict);
    let reasons = || row.verdict.reasons.iter().map(|r| r.text.as_str());
    assert!(!reasons().any(|r| r.contains("counters disagree")), "{name}: {:?}", row.verdict);
    for search in &row.searches {
        let sustained = search.sustained_per_s.unwrap_or(0.0);
        assert!(search.capacity_per_s.unwrap_or(0.0) <= sustained, "{name}");
        for probe in &search.probes {
            // What is on schedule is sustained as well, and what is sustained is what was found.
            assert!(!probe.in_time || probe.sustained, "{name}: {probe:?}");
            assert!(!probe.sustained || probe.wanted_per_s <= sustained, "{name}: {probe:?}");
            // No schedule lets more leave than was wanted.
            assert!(probe.reached_per_s <= 1.001 * probe.wanted_per_s, "{name}: {probe:?}");
        }
        let failed = search.probes.iter().filter(|p| !p.sustained && p.wanted_per_s < sustained);
        let mut times: BTreeMap<u64, usize> = BTreeMap::new();
        failed.for_each(|p| *times.entry(p.wanted_per_s as u64).or_default() += 1);
        // A rate below what held was tried until it held, or failed as often as is allowed.
        for (rate, n) in times {
            let held = search.probes.iter().any(|p| p.sustained && p.wanted_per_s as u64 == rate);
            assert!(held || n >= 3, "{name}: {rate} failed {n} times");
        }
    }
}

#[test]
fn two_engines_are_searched_and_held_against_the_stack_time() {
    needs_root_alone!();
    let mut watcher = Watcher::default();
    let p = measure(plan(&[Engine::Send, Engine::Sendmmsg], &[1]), &mut watcher);
    assert_eq!(watcher.rows, [0, 1, 2, 2]);
    assert!(
        watcher.steps.iter().any(|s| s.starts_with("sendmmsg, 1 worker, search 2/2: ") && s.ends_with("/s"))
    );
    assert_eq!(p.result.rows.len(), 2);
    for row in &p.result.rows {
        assert_sound(row);
        assert_eq!(row.searches.len(), 2);
        let (flat_out, sustained) = (row.flat_out_per_s.unwrap(), row.sustained_per_s.unwrap());
        assert_eq!((flat_out.n, sustained.n), (2, 2));
        // The search goes up to four times the first upper end, if a burst was disturbed.
        assert!(sustained.mean_per_s <= 4.0 * 1.1 * flat_out.mean_per_s * 1.1);
    }
    let inferred = p.result.inferred.as_ref().unwrap();
    let of = (inferred.theoretical_per_s * inferred.peak.mean_ns / 1e9 - 1.0).abs();
    assert!(of < 1e-9, "{inferred:?}");
    let is_trusted = p.result.trusted_inference().is_some();
    assert!(p.result.rows.iter().all(|r| r.of_inferred.is_some() == is_trusted), "{inferred:?}");
    for row in &p.result.rows {
        // Two searches have no interval; with the ordinary receiver there is one.
        assert_eq!((row.sustained_per_s.unwrap().half_width_per_s, row.blocking_per_s.unwrap().n), (None, 1));
        let blocking = row.blocking.as_ref().unwrap();
        assert!(blocking.capacity_per_s.is_none() && blocking.probes.iter().all(|p| p.sleeps.is_some()));
    }
}

/// How often the receiver's thread slept per message, as the kernel counts it.
fn sleeps(receive: Receive) -> f64 {
    let rig = Rig::build(Place::Lab, Family::Ipv4).unwrap();
    let cpus = spread(1).unwrap();
    let shot = Shot {
        rig: &rig,
        engine: Engine::Send,
        transport: Transport::Udp,
        receive,
        cpus: &cpus,
        size: 64,
        port: 0,
        spin: Spin::Auto,
        echo: false,
        flow: 7,
        stop: &AtomicBool::new(false),
        live: &Live::default(),
        log: None,
        contention: None,
    };
    // A message every 33 µs: before a receiver that asks for 50 µs sleeps.
    let profile = Profile::Constant { rate_per_s: 30_000.0, duration_ns: 500_000_000 };
    let outcome = shot.fly(profile.duration_ns(), Departures::Planned(&profile, 1)).unwrap();
    assert!(outcome.read.delivered > 10_000, "{:?}", outcome.read);
    outcome.receiver_sleeps().unwrap()
}

#[test]
fn one_receiver_sleeps_for_each_message_and_the_other_polls() {
    needs_root_alone!();
    let (blocking, polling) = (sleeps(Receive::Recv), sleeps(Receive::Recvmmsg));
    assert!(blocking > polling, "{blocking} and {polling} a message");
}

/// The kernel's count of datagrams that were handed to sockets, over all of this machine.
fn datagrams_in() -> u64 {
    let text = fs::read_to_string("/proc/net/snmp").unwrap();
    let udp: Vec<&str> = text.lines().filter(|l| l.starts_with("Udp:")).collect();
    let column = udp[0].split_whitespace().position(|c| c == "InDatagrams").unwrap();
    udp[1].split_whitespace().nth(column).unwrap().parse().unwrap()
}

/// Needs no privilege: every message that a probe claims was handed to a socket by the kernel.
#[test]
fn what_was_sustained_was_delivered_by_the_kernels_own_count() {
    let _alone = alone();
    let plan = CapacityPlan { place: Place::Loopback, trials: 1, ..plan(&[Engine::Sendmmsg], &[1]) };
    let hold_s = plan.hold_ns as f64 / 1e9;
    let before = datagrams_in();
    let p = measure(plan, &mut Watcher::default());
    let counted = (datagrams_in() - before) as f64;
    assert_sound(&p.result.rows[0]);
    let sustained = p.result.rows[0].searches[0].probes.iter().filter(|p| p.sustained);
    let claimed: f64 = sustained.map(|p| p.wanted_per_s * hold_s * (1.0 - p.lost.unwrap())).sum();
    assert!(claimed > 0.0 && counted >= 0.998 * claimed, "{claimed} claimed, {counted} counted");
    // One that cannot be compared says so.
    assert!(p.result.inferred.is_none());
    assert!(p.result.left_out.iter().any(|l| l.what == "what the paper infers"), "{:?}", p.result.left_out);
}

/// Needs no privilege: one form of run, and an account of all messages, whatever carries them.
#[test]
fn both_transports_sustain_a_rate_and_tcp_loses_nothing() {
    let _alone = alone();
    for transport in [Transport::Udp, Transport::Tcp] {
        let plan =
            CapacityPlan { transport, place: Place::Loopback, trials: 1, ..plan(&[Engine::Send], &[1]) };
        let p = measure(plan, &mut Watcher::default());
        let row = &p.result.rows[0];
        assert_sound(row);
        assert!(row.sustained_per_s.unwrap().mean_per_s > 0.0, "{transport:?}: {row:?}");
        let mut sustained = row.searches[0].probes.iter().filter(|probe| probe.sustained);
        let is_whole = sustained.all(|probe| probe.lost == Some(0.0));
        assert!(is_whole || transport == Transport::Udp, "{row:?}");
    }
}

#[test]
fn an_engine_that_does_not_work_here_is_left_out_and_the_rest_goes_on() {
    needs_root_alone!();
    let plan = CapacityPlan { trials: 1, ..plan(&[Engine::AfXdp, Engine::Sendmmsg], &[2]) };
    let p = measure(plan, &mut Watcher::default());
    assert_eq!(p.result.left_out[0].what, "af_xdp, 2 workers");
    assert!(p.result.left_out[0].remedy.contains("queue of its own"), "{:?}", p.result.left_out);
    assert_eq!(p.result.rows.len(), 1);
    assert_sound(&p.result.rows[0]);
    assert!(!p.verdict.reasons.iter().any(|r| r.text.contains("combinations")), "{:?}", p.verdict);
}

#[test]
fn a_stop_keeps_the_finished_rows() {
    let _alone = alone();
    struct Stopper<'a> {
        stop: &'a AtomicBool,
        at: &'a str,
    }
    impl Observer<CapacityResult> for Stopper<'_> {
        fn begins(&mut self, step: Step, _: &Arc<Live>) {
            if step.name.starts_with(self.at) {
                self.stop.store(true, Relaxed);
            }
        }
    }
    let plan = CapacityPlan { place: Place::Loopback, ..plan(&[Engine::Send, Engine::Sendmmsg], &[1]) };
    // In the first search of the second row, and in the second of the first.
    for (at, searches) in
        [("sendmmsg, 1 worker, search 1/2: unpaced", 2), ("send, 1 worker, search 2/2: unpaced", 1)]
    {
        let stop = AtomicBool::new(false);
        let p = run(&plan, &mut Stopper { stop: &stop, at }, &stop).unwrap();
        assert_eq!(p.result.rows.len(), 1, "{at}");
        assert_eq!((p.result.rows[0].engine, p.result.rows[0].searches.len()), (Engine::Send, searches));
        assert_sound(&p.result.rows[0]);
        assert!(p.verdict.reasons.iter().any(|r| r.text.contains("1 of 2")), "{:?}", p.verdict);
    }
}
