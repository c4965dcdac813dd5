//! `stack` between two hosts that share nothing but a wire: two network namespaces that
//! netfathom did not make, with the other side of the conversation in each.

use std::io::{self, BufRead, BufReader, Write};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpStream, UdpSocket};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use netfathom_measure::error::{MeasureError, RunError};
use netfathom_measure::load;
use netfathom_measure::load::control::words::{End, Hello, VERSION};
use netfathom_measure::load::control::{ControlError, Session};
use netfathom_measure::load::sender::Live;
use netfathom_measure::load::sink::{Event, SinkPlan, serve};
use netfathom_measure::observer::{Observer, Progressed, Step};
use netfathom_measure::stack;
use netfathom_model::accounting::Fate;
use netfathom_model::engine::Receive;
use netfathom_model::message::Header;
use netfathom_model::path::{Direction, Stage, Tap};
use netfathom_model::plan::{Family, LoadPlan, Place, StackPlan, TapChoice};
use netfathom_model::profile::Profile;
use netfathom_model::record::{LoadResult, PathTimes, StackResult, Trial, TrialKind};
use netfathom_sys::clock::monotonic_ns;
use netfathom_sys::link::{self, VethEnd};
use netfathom_sys::netns::Namespace;
use netfathom_testkit::privileged;

const NEAR: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 77, 0, 1));
const FAR: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 77, 0, 2));
const PREFIX_BITS: u8 = 30;
const NEAR_6: IpAddr = IpAddr::V6(Ipv6Addr::new(0xfd00, 0x77, 0, 0, 0, 0, 0, 1));
const FAR_6: IpAddr = IpAddr::V6(Ipv6Addr::new(0xfd00, 0x77, 0, 0, 0, 0, 0, 2));
const PREFIX_BITS_6: u8 = 64;
const PORT: u16 = 47_000;
const PROFILE: &str = "ramp:1k..5k/300ms";

/// Measurements do not share their processors with each other.
fn alone() -> MutexGuard<'static, ()> {
    static ONE: Mutex<()> = Mutex::new(());
    ONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The measured host, and the other one.
struct Hosts {
    near: Namespace,
    far: Namespace,
}

impl Hosts {
    /// Joined by a wire, on which they find each other as hosts do: by ARP.
    fn join() -> Self {
        let (near, far) = (Namespace::create().unwrap(), Namespace::create().unwrap());
        let ends = [VethEnd { name: "nfnear", index: 0 }, VethEnd { name: "nffar", index: 0 }];
        near.run(|| link::create_veth(ends[0], ends[1], &far)).unwrap().unwrap();
        for (host, end, address, six) in [(&near, ends[0], NEAR, NEAR_6), (&far, ends[1], FAR, FAR_6)] {
            let set_up = || {
                let device = link::read(end.name).unwrap();
                link::set_up(&device).unwrap();
                link::add_address(&device, address, PREFIX_BITS).unwrap();
                if link::ipv6_available() {
                    link::add_address(&device, six, PREFIX_BITS_6).unwrap();
                }
            };
            host.run(set_up).unwrap();
        }
        for (host, end) in [(&near, ends[0]), (&far, ends[1])] {
            host.run(|| link::await_running(end.name, Duration::from_secs(2))).unwrap().unwrap();
        }
        Self { near, far }
    }
}

/// Passes on that somebody is waited for, and counts how often.
struct Waiting(Sender<String>);

impl Observer<StackResult> for Waiting {
    fn begins(&mut self, step: Step, _: &Arc<Live>) {
        if step.name.starts_with("waiting for") {
            let _ = self.0.send(step.name);
        }
    }
    fn keep(&mut self, _: &Progressed<StackResult>) -> io::Result<()> {
        Ok(())
    }
}

struct Silent;

impl Observer<LoadResult> for Silent {
    fn begins(&mut self, _: Step, _: &Arc<Live>) {}
    fn keep(&mut self, _: &Progressed<LoadResult>) -> io::Result<()> {
        Ok(())
    }
}

fn plan(place: Place, direction: Direction) -> StackPlan {
    let plan = StackPlan::one_trial(PROFILE.parse().unwrap());
    StackPlan { place, directions: vec![direction], ..plan }
}

fn listening() -> StackPlan {
    plan(Place::Listen(SocketAddr::new(NEAR, PORT)), Direction::Rx)
}

/// What the other host is to send, so that it fits that plan.
fn sending(to: SocketAddr, trials: u32) -> LoadPlan {
    let plan = LoadPlan::one_trial(PROFILE.parse().unwrap());
    LoadPlan { place: Place::To(to), trials, ..plan }
}

fn send(plan: LoadPlan) -> Result<Progressed<LoadResult>, RunError> {
    load::run(&plan.validated().unwrap(), &mut Silent, &AtomicBool::new(false))
}

/// Measures on the near host what `others` send from the far one, once they are waited for.
fn listen<T: Send>(
    plan: StackPlan,
    stop: &AtomicBool,
    others: impl FnOnce(SocketAddr) -> T + Send,
) -> (Progressed<StackResult>, T, Vec<String>) {
    let hosts = Hosts::join();
    let plan = plan.validated().unwrap();
    let to = SocketAddr::new(if plan.family == Family::Ipv6 { NEAR_6 } else { NEAR }, PORT);
    let (waiting, waited_for) = channel();
    thread::scope(|scope| {
        let host = &hosts.far;
        let far = scope.spawn(move || {
            let first = waited_for.recv().unwrap();
            let others = host.run(|| others(to)).unwrap();
            (others, std::iter::once(first).chain(waited_for.iter()).collect())
        });
        let p = hosts.near.run(|| stack::run(&plan, &mut Waiting(waiting), stop)).unwrap();
        let (others, waits) = far.join().unwrap();
        (p.unwrap(), others, waits)
    })
}

fn assert_accounted(trial: &Trial) {
    let a = &trial.accounting;
    assert_eq!((a.gap(), a.count(&Fate::Unexplained)), (0, 0), "{a:?}");
    assert!(!a.counters.is_empty() && a.counters.iter().all(|c| c.agrees()), "{:?}", a.counters);
    assert_eq!((a.unjoined_tx, a.unjoined_rx), (0, 0), "{a:?}");
}

/// Times of two clocks would be anywhere, and mostly below zero.
fn assert_of_one_clock(path: &PathTimes) {
    assert!(path.total.n > 0 && path.total.negative == 0 && path.total.min_ns > 0, "{:?}", path.total);
    assert!(path.total.max_ns < 10_000_000_000, "{:?}", path.total);
    assert_eq!(path.series.n.iter().sum::<u64>(), path.total.n, "windows add up");
    assert!(path.series.n.len() > 60, "the windows lie in the sender's clock: {:?}", path.series.n);
}

fn has(path: &PathTimes, stage: Stage) -> bool {
    path.stages.iter().any(|s| s.stage == stage && s.times.distribution().is_some())
}

#[test]
fn the_way_in_of_what_another_host_sends() {
    if !privileged("the way in from another host") {
        return;
    }
    let _alone = alone();
    let plan = StackPlan { trials: 2, controls: 2, witnesses: 1, samples: 50, ..listening() };
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
fn the_way_in_by_timestamps_alone() {
    if !privileged("the way in by timestamps") {
        return;
    }
    let _alone = alone();
    let plan = StackPlan { tap: TapChoice::Only(Tap::Timestamping), ..listening() };
    let (p, sent, _) = listen(plan, &AtomicBool::new(false), |to| send(sending(to, 1)).unwrap());
    assert_accounted(&p.result.trials[0]);
    assert_of_one_clock(&p.result.trials[0].paths[0]);
    assert_eq!(sent.result.trials.len(), 1);
}

#[test]
fn the_way_in_over_ipv6_at_any_address() {
    if !privileged("the way in over IPv6") || !link::ipv6_available() {
        return;
    }
    let _alone = alone();
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

/// Of the messages of the plan every so many-th is never sent, though its sender says so.
const LOST_EVERY: u64 = 100;

/// A sender that is not netfathom's, and whose clock is ahead of this machine's by so much.
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
        let flow = session.welcome().flow;
        Header { flow, sequence, intended_ns, sent_ns: there_ns() }.write(&mut payload);
        if sequence % LOST_EVERY != LOST_EVERY / 2 {
            socket.send(&payload).unwrap();
        }
    }
    let (tried, accepted) = (hello().planned, hello().planned);
    let tally = session.end(End { tried, accepted, refused: 0 }).unwrap();
    assert_eq!(tally.delivered, accepted - accepted / LOST_EVERY);
}

#[test]
fn the_two_hosts_clocks_are_never_compared() {
    if !privileged("two clocks") {
        return;
    }
    let _alone = alone();
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
    if !privileged("senders that vanish") {
        return;
    }
    let _alone = alone();
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
        session.end(End { tried: 10, accepted: 10, refused: 0 }).unwrap();
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
fn a_load_of_another_plan_is_told_what_is_wanted() {
    if !privileged("loads of other plans") {
        return;
    }
    let _alone = alone();
    let (p, refused, _) = listen(listening(), &AtomicBool::new(false), |to| {
        let other = LoadPlan { profile: "constant:1k/100ms".parse().unwrap(), ..sending(to, 1) };
        let refused = send(other).unwrap_err();
        send(sending(to, 1)).unwrap();
        refused
    });
    assert!(
        matches!(&refused, RunError::Measure(MeasureError::Control(ControlError::Refused { .. }))),
        "{refused}"
    );
    let command = format!("--engine send --profile {PROFILE} --size 64 --trials 1");
    assert!(refused.to_string().contains(&command), "{refused}");
    assert_eq!(p.result.trials.len(), 1);
}

#[test]
fn who_waits_for_a_sender_can_be_stopped() {
    if !privileged("stopping the wait") {
        return;
    }
    let _alone = alone();
    let stop = AtomicBool::new(false);
    let (p, stopped_at, _) = listen(listening(), &stop, |_| {
        stop.store(true, Relaxed);
        Instant::now()
    });
    assert_eq!(p.result.trials.len(), 0);
    assert!(stopped_at.elapsed() < Duration::from_secs(5));
}

#[test]
fn the_way_out_to_another_host() {
    if !privileged("the way out to another host") {
        return;
    }
    let _alone = alone();
    let hosts = Hosts::join();
    let place = Place::To(SocketAddr::new(FAR, PORT));
    let plan = StackPlan {
        trials: 2,
        controls: 2,
        witnesses: 1,
        samples: 50,
        workers: 2,
        ..plan(place, Direction::Tx)
    };
    let plan = plan.validated().unwrap();
    let over = AtomicBool::new(false);
    let (told, events) = channel();
    let (p, events) = thread::scope(|scope| {
        let sink = SinkPlan {
            listen: SocketAddr::new(FAR, PORT),
            receive: Receive::Recv,
            most_loads: None,
            log: None,
        };
        let (far, over) = (&hosts.far, &over);
        scope.spawn(move || {
            far.run(|| serve(&sink, &mut |event| drop(told.send(event)), over)).unwrap().unwrap();
        });
        assert!(matches!(events.recv(), Ok(Event::Listening(_))));
        let (waiting, _) = channel();
        let run = || stack::run(&plan, &mut Waiting(waiting), &AtomicBool::new(false));
        let p = hosts.near.run(run).unwrap();
        over.store(true, Relaxed);
        (p.unwrap(), events.iter().collect::<Vec<_>>())
    });
    let arrived: Vec<u64> = events
        .iter()
        .filter_map(|event| match event {
            Event::Ended { read, .. } => Some(read.delivered),
            _ => None,
        })
        .collect();
    assert_eq!(arrived.len(), 5, "one load a trial, and no burst that nobody asked for: {events:?}");
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
    assert!(matches!(refused, RunError::Measure(MeasureError::NotAllowed(_))), "{refused}");
}
