//! `load` against truths that it did not produce: counters of the interface, a receiver that
//! is not netfathom, devices that it did not make.

mod capture;
mod far;
mod sink;

use std::net::{SocketAddr, UdpSocket};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use netfathom_measure::ground::observer::Progressed;
use netfathom_measure::kind::load::run;
use netfathom_model::accounting::Fate;
use netfathom_model::engine::{Engine, Receive};
use netfathom_model::plan::{EngineChoice, LoadPlan, Place, ReceiveChoice, Spin};
use netfathom_model::record::{LoadResult, LoadThread, LoadTrialKind};
use netfathom_model::verdict::Level;
use netfathom_sys::offload;
use netfathom_testkit::{
    DEVICE, TwoHosts, alone, needs_programs, needs_root, needs_root_alone, unless_disturbed,
};

use capture::{Capture, arrive};
use far::Far;

fn plan(profile: &str, engine: Engine) -> LoadPlan {
    LoadPlan { engine: EngineChoice::Only(engine), ..LoadPlan::one_trial(profile.parse().unwrap()) }
}

fn measure(plan: LoadPlan) -> Progressed<LoadResult> {
    run(&plan.validated().unwrap(), &mut (), &AtomicBool::new(false)).unwrap()
}

/// Whatever way in is chosen, what left by any engine is accounted for, and the counters of
/// the devices say the same.
#[test]
fn every_engine_reaches_every_receiver() {
    needs_root_alone!();
    let receivers = [Receive::Recv, Receive::Recvmmsg, Receive::Gro, Receive::AfXdp, Receive::Xdp];
    for engine in Engine::LADDER {
        for receive in receivers {
            let plan =
                LoadPlan { receive: ReceiveChoice::Only(receive), ..plan("constant:5k/200ms", engine) };
            let p = measure(plan);
            let (a, load) = (&p.result.trials[0].accounting, &p.result.trials[0].load);
            let pair = format!("{} to {}", engine.name(), receive.name());
            // A sender that had no CPU at the end leaves out its last messages: no more than were due meanwhile.
            assert_eq!((a.sent, a.sent + load.unsent), (load.sent, 1000), "{pair}");
            let senders = load.contention.iter().filter(|of| of.thread == LoadThread::Sender);
            let without_cpu_ns: u64 = senders.map(|of| of.waited_ns + of.stolen_ns).sum();
            assert!(
                load.unsent * 200_000 <= without_cpu_ns,
                "{pair}: {} in {without_cpu_ns} ns",
                load.unsent
            );
            assert_eq!((a.gap(), a.count(&Fate::Unexplained)), (0, 0), "{pair}: {:?}", a.fates);
            assert!(a.count(&Fate::Delivered) > 0, "{pair}: {:?}", a.fates);
            assert_eq!((a.truncated, a.garbage, a.duplicates), (0, 0, 0), "{pair}");
        }
    }
}

/// A capture by somebody else holds the same messages, in order, each whole and with right
/// checksums, whatever engine sent them.
#[test]
fn a_foreign_receiver_reads_what_every_engine_sends() {
    needs_root!();
    needs_programs!(["tcpdump"], "tcpdump");
    let _alone = alone();
    let sent = Engine::LADDER.map(|engine| {
        let hosts = TwoHosts::create();
        let far = Far::open(&hosts, engine);
        // The kernel leaves checksums and splitting to a device that offers it, and a veth
        // does neither: the capture would see them undone.
        let alone = || {
            for feature in ["tx-checksum-ip-generic", "tx-udp-segmentation"] {
                offload::set_feature(DEVICE, feature, false).unwrap();
            }
        };
        hosts.near.run(alone).unwrap();
        let capture = Capture::begin(&hosts.far, far.address.port()).unwrap();
        let p = hosts.near.run(|| measure(to(far.address, "constant:5k/200ms", engine))).unwrap();
        (engine.name(), p, capture, (far, hosts))
    });
    arrive();
    for (name, p, capture, _ends) in sent {
        let captured = capture.end().unwrap();
        assert_eq!(p.result.trials[0].load.sent, 1000, "{name}");
        let ours = captured.iter().filter(|c| c.header.intended_ns != 0);
        let sequences: Vec<u64> = ours.clone().map(|c| c.header.sequence).collect();
        assert_eq!(sequences, (0..1000).collect::<Vec<_>>(), "{name}");
        let wrong = ours.clone().filter(|c| !c.checksums_are_right).count();
        assert_eq!(wrong, 0, "{name}: wrong checksums");
        assert!(ours.into_iter().all(|c| c.header.sent_ns >= c.header.intended_ns), "{name}");
    }
}

/// A veth says that it splits buffers and does not: what seems to leave never does so singly.
#[test]
fn unsplit_buffers_are_caught() {
    needs_root_alone!();
    let verdict = |split: bool| {
        let hosts = TwoHosts::create();
        let far = Far::open(&hosts, Engine::Gso);
        let prepare = || offload::set_feature(DEVICE, "tx-udp-segmentation", !split).unwrap();
        hosts.near.run(prepare).unwrap();
        // Far faster than one message at a time can be sent, so that buffers hold several.
        let p = hosts.near.run(|| measure(to(far.address, "constant:2M/200ms", Engine::Gso))).unwrap();
        let caught = p.verdict.reasons.iter().any(|r| r.text.contains("GSO super-packets"));
        (caught, p.verdict.level)
    };
    let (caught, level) = verdict(false);
    assert!(caught && level >= Level::Degraded);
    assert!(!verdict(true).0);
}

/// A few buffers of two among many of one change no counter that others move as well.
#[test]
fn a_few_unsplit_buffers_are_caught() {
    needs_root_alone!();
    let hosts = TwoHosts::create();
    let far = Far::open(&hosts, Engine::Gso);
    // Other packets than ours cross the device, more than are missing of ours.
    let over = AtomicBool::new(false);
    let p = std::thread::scope(|scope| {
        scope.spawn(|| {
            let beside = hosts.near.run(|| UdpSocket::bind("0.0.0.0:0").unwrap()).unwrap();
            while !over.load(Relaxed) {
                beside.send_to(b"beside", far.address).unwrap();
            }
        });
        // A thousand messages faster than they can be sent one by one, for a millisecond of a hundred.
        let mut steps = ["10k"; 100];
        steps[50] = "1M";
        let profile = format!("steps:{}/100ms", steps.join(","));
        let p = hosts.near.run(|| measure(to(far.address, &profile, Engine::Gso)));
        over.store(true, Relaxed);
        p.unwrap()
    });
    let trial = &p.result.trials[0];
    assert!(trial.unsplit && trial.intervals.min_ns == 0, "{:?}", trial.intervals.min_ns);
    assert!(p.verdict.level >= Level::Degraded);
    assert!(p.verdict.reasons.iter().any(|r| r.text.contains("GSO super-packets")), "{:?}", p.verdict);
}

/// A veth drops frames of the engine xdp unless its other end has a program or GRO.
#[test]
fn a_veth_that_takes_no_frames_is_named() {
    needs_root_alone!();
    let hosts = TwoHosts::create();
    // The far end of another engine: nothing that lets frames in.
    let far = Far::open(&hosts, Engine::Send);
    hosts.far.run(|| offload::set_feature(DEVICE, "rx-gro", false).unwrap()).unwrap();
    let p = hosts.near.run(|| measure(to(far.address, "constant:5k/100ms", Engine::Xdp))).unwrap();
    assert_eq!((p.result.trials[0].load.sent, p.verdict.level), (0, Level::Void));
    let named = p.verdict.reasons.iter().any(|r| r.text.contains("gro on"));
    assert!(named, "{:?}", p.verdict);
}

/// The plan of a load to another host without a sink.
fn to(address: SocketAddr, profile: &str, engine: Engine) -> LoadPlan {
    LoadPlan {
        place: Place::To(address),
        one_way: true,
        allow: vec![address.ip().to_string()],
        ..plan(profile, engine)
    }
}

#[test]
fn several_senders_share_the_profile() {
    needs_root_alone!();
    let p = measure(LoadPlan { workers: 3, ..plan("ramp:1k..9k/300ms", Engine::Send) });
    let trial = &p.result.trials[0];
    let shares: Vec<u64> = trial.workers.iter().map(|w| w.sent).collect();
    assert_eq!(shares, [500, 500, 500]);
    let a = &trial.accounting;
    assert_eq!((a.count(&Fate::Delivered), a.reordered, a.duplicates), (1500, 0, 0));
}

/// Response begins at the intended departure, so it is never below service; at rest they
/// hardly differ, and under a load that cannot be sustained they do.
#[test]
fn an_echo_shows_what_a_closed_loop_would_omit() {
    needs_root_alone!();
    let p = measure(LoadPlan { echo: true, ..plan("constant:1M/300ms", Engine::Send) });
    let kinds: Vec<LoadTrialKind> = p.result.trials.iter().map(|t| t.kind).collect();
    assert_eq!(kinds, [LoadTrialKind::Idle, LoadTrialKind::Loaded]);
    let summary = p.result.summary.unwrap();
    let (idle, loaded) = (summary.echo_idle.unwrap(), summary.echo_loaded.unwrap());
    assert!(idle.answered > 0 && loaded.answered > 0);
    for echo in [&idle, &loaded] {
        assert_eq!((echo.response.n, echo.service.n), (echo.answered, echo.answered));
        assert!(echo.response.mean_ns >= echo.service.mean_ns && echo.service.min_ns > 0);
    }
    let omitted = loaded.response.mean_ns - loaded.service.mean_ns;
    assert!(omitted > 10.0 * (idle.response.mean_ns - idle.service.mean_ns), "{omitted}");
}

#[test]
fn a_sender_that_may_not_spin_only_sleeps() {
    let _alone = alone();
    let run = |spin| {
        let plan = LoadPlan { place: Place::Loopback, spin, ..plan("constant:2k/1s", Engine::Send) };
        let trial = measure(plan).result.trials.remove(0);
        assert_eq!(trial.accounting.count(&Fate::Delivered), 2000);
        trial.workers[0].cpu_ns
    };
    // What others do to the caches takes time of both, and a processor that is taken away need not be spun on.
    unless_disturbed(|| {
        let (slept, spun) = (run(Spin::Never), run(Spin::Auto));
        if slept * 2 < spun { Ok(()) } else { Err(format!("{slept} ns asleep, {spun} ns spinning")) }
    });
}
