//! Whoever takes the processors of a measurement has a name in its record. `stack` has more of that in its own tests.

use std::io::{Read, pipe};
use std::net::{SocketAddr, TcpListener};
use std::os::fd::AsFd;
use std::sync::atomic::AtomicBool;
use std::thread;

use netfathom_measure::kind::transfer::{Around, Live, Standard};
use netfathom_measure::kind::{capacity, load, message, reverse, transfer};
use netfathom_model::engine::Engine;
use netfathom_model::plan::{
    CapacityPlan, Family, LoadPlan, MessagePlan, MessageTest, Place, ProcessorChoice, ReversePlan, Role,
    TransferPlan, Transport, Variant,
};
use netfathom_model::record::{Contention, Held, Holder, LoadThread, TransferStream};
use netfathom_sys::cpu;
use netfathom_testkit::{Burner, needs, needs_root_alone};

static GO_ON: AtomicBool = AtomicBool::new(false);

/// Beside a burner on each of two processors. They have real-time priority: others of the load's own may be preempted
/// whenever it wants to run. In step they would leave messages that wait for neither.
struct Beside {
    cpus: [usize; 2],
    burners: [Burner; 2],
}

impl Beside {
    fn begin() -> Self {
        let all = cpu::allowed().unwrap();
        let cpus = [all[0], all[all.len() - 1]];
        Self { cpus, burners: [Burner::alternating(cpus[0], 15), Burner::alternating(cpus[1], 9)] }
    }

    /// That the burner on the processor of this thread had it most while the thread waited.
    fn assert_named<'a>(&self, threads: impl IntoIterator<Item = &'a Contention>, of: LoadThread) {
        let threads = Contention::pooled(threads);
        let thread =
            threads.iter().find(|c| c.thread == of).unwrap_or_else(|| panic!("{of:?} is not observed"));
        let on_it = self.cpus.iter().zip(&self.burners).find(|(cpu, _)| **cpu == thread.cpu);
        let (_, burner) = on_it.unwrap_or_else(|| panic!("{of:?} is on another CPU: {thread:?}"));
        let is_the_burner =
            |held: &&Held| matches!(held.by, Holder::Process { pid, .. } if pid == burner.pid());
        let had =
            thread.holders.iter().find(is_the_burner).unwrap_or_else(|| panic!("not named: {thread:?}"));
        assert!(had.ns <= burner.ran_ns(), "{had:?}");
        let foreign = thread.holders.iter().filter(|held| held.by.is_foreign());
        assert!(foreign.map(|held| held.ns).max() == Some(had.ns), "{thread:?}");
    }
}

#[test]
fn of_a_load() {
    needs_root_alone!();
    let beside = Beside::begin();
    let plan =
        LoadPlan { cpus: beside.cpus.into(), ..LoadPlan::one_trial("constant:1k/500ms".parse().unwrap()) };
    let p = load::run(&plan.validated().unwrap(), &mut (), &GO_ON).unwrap();
    for thread in [LoadThread::Sender, LoadThread::Reader] {
        beside.assert_named(p.result.trials.iter().flat_map(|t| &t.load.contention), thread);
    }
}

#[test]
fn of_a_capacity() {
    needs_root_alone!();
    let beside = Beside::begin();
    let plan = CapacityPlan {
        transport: Transport::Udp,
        place: Place::Lab,
        family: Family::Ipv4,
        engines: vec![Engine::Send],
        workers: vec![1],
        hold_ns: 50_000_000,
        trials: 1,
        size_bytes: 64,
        cpus: beside.cpus.into(),
        allow: vec![],
    };
    let p = capacity::run(&plan.validated().unwrap(), &mut (), &GO_ON).unwrap();
    beside.assert_named(p.result.rows.iter().flat_map(|row| &row.contention), LoadThread::Sender);
}

#[test]
fn of_a_load_out_and_one_in() {
    needs_root_alone!();
    for tapped in [false, true] {
        let beside = Beside::begin();
        let plan = ReversePlan {
            family: Family::Ipv4,
            variants: vec![Variant::OtherThread],
            trials: 1,
            duration_ns: 1_200_000_000,
            inbound_from_per_s: 1000.0,
            inbound_peak_per_s: 20_000.0,
            size_bytes: 64,
            tapped,
            cpus: Some((beside.cpus[0], beside.cpus[1])),
            to: None,
            allow: None,
        };
        let p = reverse::run(&plan.validated().unwrap(), &mut (), &GO_ON).unwrap();
        for thread in [LoadThread::Sender, LoadThread::Reader, LoadThread::FarEnd] {
            let trials = p.result.variants.iter().flat_map(|variant| &variant.trials);
            beside.assert_named(trials.flat_map(|trial| &trial.contention), thread);
        }
    }
}

#[test]
fn of_both_ends_of_messages() {
    needs_root_alone!();
    let beside = Beside::begin();
    let plan = MessagePlan {
        sizes_bytes: vec![64],
        layers: vec!["write".parse().unwrap()],
        processors: ProcessorChoice::Cross,
        cpus: beside.cpus.into(),
        messages: 300,
        least_ns: 500_000_000,
        trials: 1,
        ..MessagePlan::paper(MessageTest::Pingpong, Place::Loopback)
    };
    let p = message::run(&plan.validated().unwrap(), &mut (), &GO_ON).unwrap();
    for thread in [LoadThread::Client, LoadThread::Server] {
        beside.assert_named(&p.result.contention, thread);
    }
}

/// A stream of a second, by an end that explains itself.
fn explained(to: SocketAddr) -> TransferStream {
    let mut plan = TransferPlan::classic(Role::Transmit);
    (plan.host, plan.port) = (Some(to.ip().to_string()), to.port());
    (plan.generated, plan.explain, plan.time_ns) = (true, true, Some(1_000_000_000));
    // bbr, which may be the system's, paces itself.
    plan.congestion = Some("cubic".into());
    let (input, output) = pipe().unwrap();
    let standard = Standard { input: input.as_fd(), output: output.as_fd() };
    let (live, stop) = (Live::default(), AtomicBool::new(false));
    let p = transfer::run(&plan, Around { standard, live: &live, stop: &stop, tell: &|_| {} }).unwrap();
    p.result.streams[0].clone()
}

/// Takes all that one sender sends; what the burner ran from the first byte to the last.
fn ran_meanwhile(listener: &TcpListener, burner: &Burner) -> u64 {
    let (mut from, _) = listener.accept().unwrap();
    let mut buffer = vec![0; 1 << 16];
    let mut before = None;
    while from.read(&mut buffer).unwrap() > 0 {
        before.get_or_insert_with(|| burner.ran_ns());
    }
    burner.ran_ns() - before.expect("bytes")
}

#[test]
fn of_an_explained_transfer() {
    needs_root_alone!();
    let cpus = cpu::allowed().unwrap();
    needs!(cpus.len() > 1, "needs two CPUs");
    let burner = Burner::on(cpus[0]);
    let before_ns = burner.ran_ns();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let to = listener.local_addr().unwrap();
    let (stream, ran_ns) = thread::scope(|scope| {
        let receiver = scope.spawn(|| {
            cpu::pin(cpus[cpus.len() - 1]).unwrap();
            ran_meanwhile(&listener, &burner)
        });
        let sender = scope.spawn(|| {
            cpu::pin(cpus[0]).unwrap();
            explained(to)
        });
        (sender.join().unwrap(), receiver.join().unwrap())
    });
    let most_ns = burner.ran_ns() - before_ns;
    let waits = stream.waits.as_ref().expect("its thread is followed");
    let is_the_burner = |held: &&Held| matches!(held.by, Holder::Process { pid, .. } if pid == burner.pid());
    let had_ns = waits.holders.iter().find(is_the_burner).expect("named").ns;
    let awake_ns = stream.cpu_ns() + stream.calls_took.expect("timed").runqueue_ns;
    let slept_ns = stream.closed_ns.expect("closed").saturating_sub(awake_ns);
    println!("{had_ns} of {ran_ns} to {most_ns}, slept {slept_ns}: {waits:?}");
    // What it ran while the sender slept kept that from nothing.
    assert!(had_ns * 10 >= ran_ns.saturating_sub(slept_ns) * 9 && had_ns * 10 <= most_ns * 11);
}
