//! Two hosts, what is measured on one of them, and what every trial must hold.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::atomic::AtomicBool;
use std::sync::mpsc::{Sender, channel};
use std::thread;

use netfathom_measure::ground::error::RunError;
use netfathom_measure::ground::observer::{Observer, Progressed};
use netfathom_measure::kind::{load, stack};
use netfathom_model::accounting::Fate;
use netfathom_model::path::{Direction, Stage};
use netfathom_model::plan::{Family, LoadPlan, Place, StackPlan};
use netfathom_model::record::{LoadResult, PathTimes, StackResult, Trial};
use netfathom_testkit::TwoHosts;

/// The measured host, and the other one, as [`TwoHosts`] has them.
pub const NEAR: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 77, 0, 1));
pub const FAR: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 77, 0, 2));
const NEAR_6: IpAddr = IpAddr::V6(Ipv6Addr::new(0xfd00, 0x77, 0, 0, 0, 0, 0, 1));
pub const PORT: u16 = 47_000;
pub const PROFILE: &str = "ramp:1k..5k/300ms";

/// Passes on each command that is waited for.
pub struct Waiting(pub Sender<String>);

impl Observer<StackResult> for Waiting {
    fn awaits(&mut self, command: &str) {
        let _ = self.0.send(command.into());
    }
}

pub fn plan(place: Place, direction: Direction) -> StackPlan {
    let plan = StackPlan::one_trial(PROFILE.parse().unwrap());
    StackPlan { place, directions: vec![direction], ..plan }
}

pub fn listening() -> StackPlan {
    plan(Place::Listen(SocketAddr::new(NEAR, PORT)), Direction::Rx)
}

/// What the other host is to send, so that it fits that plan.
pub fn sending(to: SocketAddr, trials: u32) -> LoadPlan {
    let plan = LoadPlan::one_trial(PROFILE.parse().unwrap());
    LoadPlan { place: Place::To(to), trials, ..plan }
}

pub fn send(plan: LoadPlan) -> Result<Progressed<LoadResult>, RunError> {
    load::run(&plan.validated().unwrap(), &mut (), &AtomicBool::new(false))
}

/// Measures on the near host what `others` send from the far one, once they are waited for.
pub fn listen<T: Send>(
    plan: StackPlan,
    stop: &AtomicBool,
    others: impl FnOnce(SocketAddr) -> T + Send,
) -> (Progressed<StackResult>, T, Vec<String>) {
    let hosts = TwoHosts::create();
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

pub fn assert_accounted(trial: &Trial) {
    let a = &trial.accounting;
    assert_eq!((a.gap(), a.count(&Fate::Unexplained)), (0, 0), "{a:?}");
    assert!(!a.counters.is_empty() && a.counters.iter().all(|c| c.agrees()), "{:?}", a.counters);
    assert_eq!((a.unjoined_tx, a.unjoined_rx), (0, 0), "{a:?}");
}

/// Times of two clocks would be anywhere, and mostly below zero.
pub fn assert_of_one_clock(path: &PathTimes) {
    assert!(path.total.n > 0 && path.total.negative == 0 && path.total.min_ns > 0, "{:?}", path.total);
    assert!(path.total.max_ns < 10_000_000_000, "{:?}", path.total);
    assert_eq!(path.series.n.iter().sum::<u64>(), path.total.n, "windows add up");
    assert!(path.series.n.len() > 60, "the windows lie in the sender's clock: {:?}", path.series.n);
}

pub fn has(path: &PathTimes, stage: Stage) -> bool {
    path.stages.iter().any(|s| s.stage == stage && s.times.distribution().is_some())
}
