use netfathom_bpf::calls::Calls;
use netfathom_sys::cpu::thread_id;
use netfathom_testkit::{alone, needs_root_alone, skip, unless_disturbed};

use super::*;

static GO_ON: AtomicBool = AtomicBool::new(false);
const SILENT: fn(&str) = |_| {};

fn last_processor() -> usize {
    *cpu::allowed().unwrap().last().unwrap()
}

fn for_ms(ms: u64) -> BurnPlan {
    BurnPlan { on: Some(last_processor()), time_ns: Some(ms * 1_000_000), ..BurnPlan::default() }
}

/// It takes as much as it was asked for, as far as it could be first.
fn takes(share: f64) -> Result<(), String> {
    let burnt = burn(&BurnPlan { cpu_share: Some(share), ..for_ms(600) }, &GO_ON, &SILENT).unwrap();
    let took = burnt.share_ns as f64 / burnt.wall_ns as f64;
    // The kernel's account of the process: that, and starting two threads.
    assert!(burnt.cpu_ns >= burnt.share_ns, "{burnt:?}");
    // At any moment up to a period's share is yet to come.
    let enough = !burnt.first || took >= share - 0.03 && burnt.behind.is_empty();
    // Who is interrupted between two looks at its time has taken more.
    (enough && took <= share + 0.001).then_some(()).ok_or_else(|| format!("{share}: {took} {burnt:?}"))
}

#[test]
fn a_share_of_a_processor_is_what_was_asked_for() {
    let _alone = alone();
    for share in [0.1, 0.25, 0.8] {
        unless_disturbed(|| takes(share));
    }
}

#[test]
fn a_share_is_taken_beside_one_who_wants_all() {
    let _alone = alone();
    let stop = AtomicBool::new(false);
    let (all, most) = thread::scope(|scope| {
        let all = scope.spawn(|| {
            let plan = BurnPlan { cpu_share: Some(1.0), time_ns: None, ..for_ms(0) };
            burn(&plan, &stop, &SILENT).unwrap()
        });
        let most = burn(&BurnPlan { cpu_share: Some(0.8), ..for_ms(800) }, &GO_ON, &SILENT).unwrap();
        stop.store(true, std::sync::atomic::Ordering::Relaxed);
        (all.join().unwrap(), most)
    });
    // Who wants all cannot get it, and says so.
    assert!(!all.first && all.behind.len() == 1 && all.behind[0].contains("100 % of a CPU"), "{all:?}");
    let took = most.share_ns as f64 / most.wall_ns as f64;
    if most.first {
        assert!((0.77..=0.801).contains(&took), "{most:?}");
    } else {
        // A fair scheduler gives it half.
        assert!((0.1..=0.801).contains(&took), "{most:?}");
    }
}

/// Both rates are about reached; they are never exceeded.
fn reaches_rates() -> Result<(), String> {
    let plan = BurnPlan { memory_bytes_per_s: Some(50e6), calls_per_s: Some(20e3), ..for_ms(500) };
    let burnt = burn(&plan, &GO_ON, &SILENT).unwrap();
    assert_eq!((burnt.share_ns, burnt.first), (0, false));
    let wall_s = burnt.wall_ns as f64 / 1e9;
    let shares = [(burnt.bytes, 50e6), (burnt.calls, 20e3)].map(|(done, rate)| done as f64 / (rate * wall_s));
    assert!(shares.iter().all(|&share| share <= 1.0), "{shares:?}: {burnt:?}");
    let reached = shares.iter().all(|&share| share >= 0.8);
    reached.then_some(()).ok_or_else(|| format!("{shares:?}: {burnt:?}"))
}

#[test]
fn a_rate_is_never_exceeded_and_about_reached() {
    let _alone = alone();
    unless_disturbed(reaches_rates);
    let impossible = BurnPlan { calls_per_s: Some(1e12), ..for_ms(100) };
    let burnt = burn(&impossible, &GO_ON, &SILENT).unwrap();
    assert!(burnt.behind.len() == 1 && burnt.behind[0].starts_with("calls: 0.0 %"), "{burnt:?}");
}

#[test]
fn calls_are_those_that_the_kernel_counts() {
    needs_root_alone!();
    let calls = match Calls::attach() {
        Ok(calls) => calls,
        Err(error) => skip!("{error}"),
    };
    let mut kind = BurnKind::Calls { per_s: 30e3 };
    let start_ns = monotonic_ns();
    let pace = Pace { start_ns, end_ns: start_ns + 200_000_000, stop: &GO_ON };
    calls.follow(thread_id(), 0).unwrap();
    let paced = kind.burn(&pace);
    calls.let_go(thread_id()).unwrap();
    let counted = calls.counts();
    let ours = counted[0].iter().filter(|call| matches!(call.name(), Some("geteuid" | "clock_nanosleep")));
    assert_eq!(ours.map(|call| call.count).sum::<u64>(), paced.done);
    // Beside them, that it wants to wait punctually, and the end of counting.
    let all: u64 = counted[0].iter().map(|call| call.count).sum();
    assert!(all - paced.done <= 4, "{counted:?}");
}

#[test]
fn what_cannot_be_is_refused() {
    let refused = |plan: BurnPlan| burn(&plan, &GO_ON, &SILENT).unwrap_err().to_string();
    assert!(refused(for_ms(1)).contains("nothing to burn"));
    for share in [0.0, 1.01, -0.5, f64::NAN] {
        assert!(refused(BurnPlan { cpu_share: Some(share), ..for_ms(1) }).contains("above 0 up to 100"));
    }
    assert!(refused(BurnPlan { calls_per_s: Some(99.0), ..for_ms(1) }).contains("100 up to"));
    let nowhere = BurnPlan { on: Some(8_191), cpu_share: Some(0.5), ..for_ms(1) };
    assert!(refused(nowhere).contains("choose another with --on"));
}

#[test]
fn it_stops_on_request() {
    let _alone = alone();
    let stop = AtomicBool::new(true);
    // Without a time of its own: it comes back at all.
    burn(&BurnPlan { cpu_share: Some(0.5), time_ns: None, ..for_ms(0) }, &stop, &SILENT).unwrap();
}
