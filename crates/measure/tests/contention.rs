//! Whoever takes the processors of a measurement has a name in its record. `stack` has more of that in its own tests.

use std::sync::atomic::AtomicBool;

use netfathom_measure::kind::{capacity, load, message, reverse};
use netfathom_model::engine::Engine;
use netfathom_model::plan::{
    CapacityPlan, Family, LoadPlan, MessagePlan, MessageTest, Place, ProcessorChoice, ReversePlan, Transport,
    Variant,
};
use netfathom_model::record::{Contention, Held, Holder, LoadThread};
use netfathom_testkit::{Burner, needs_root_alone};

static GO_ON: AtomicBool = AtomicBool::new(false);

/// Beside a burner on each of two processors. They have real-time priority: others of the load's own may be preempted
/// whenever it wants to run. In step they would leave messages that wait for neither.
struct Beside {
    cpus: [usize; 2],
    burners: [Burner; 2],
}

impl Beside {
    fn begin() -> Self {
        let all = netfathom_sys::cpu::allowed().unwrap();
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
