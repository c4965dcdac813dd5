//! A sweep finds what limits transfers over a path with a known delay and rate.

use std::io;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use netfathom_measure::ground::observer::{Live, Observer, Progressed, Step};
use netfathom_measure::kind::sweep;
use netfathom_model::plan::{SweepEnds, SweepPlan, Wire};
use netfathom_model::record::{Cause, SweepPoint, SweepResult};
use netfathom_model::verdict::Level;
use netfathom_testkit::needs_root;

const DELAY_NS: u64 = 10_000_000;
const RATE_BITS_PER_S: u64 = 50_000_000;

#[derive(Default)]
struct Watcher {
    steps: Vec<String>,
    kept: Vec<usize>,
}

impl Observer<SweepResult> for Watcher {
    fn begins(&mut self, step: Step, _: &Arc<Live>) {
        self.steps.push(step.name);
    }

    fn keep(&mut self, so_far: &Progressed<SweepResult>) -> io::Result<()> {
        self.kept.push(so_far.result.points.iter().map(|point| point.trials.len()).sum());
        Ok(())
    }
}

fn plan(ends: SweepEnds, socket_buffers_bytes: Vec<Option<u32>>, time_ns: u64) -> SweepPlan {
    SweepPlan {
        ends,
        socket_buffers_bytes,
        receive_buffer_bytes: None,
        writes_bytes: vec![8192],
        no_delay: vec![false],
        time_ns,
        trials: 2,
        seed: 3,
    }
}

fn over_path() -> SweepPlan {
    let wire = Wire { rate_bits_per_s: Some(RATE_BITS_PER_S), ..Wire::long(DELAY_NS) };
    plan(SweepEnds::Lab { wire: Some(wire) }, vec![Some(4096), None], 800_000_000)
}

fn rate(point: &SweepPoint) -> f64 {
    point.rate.expect("a transfer came to its end").median_bytes_per_s
}

#[test]
fn a_small_buffer_over_a_delay_is_found_and_a_large_one_is_not() {
    needs_root!();
    let (stop, mut watcher) = (AtomicBool::new(false), Watcher::default());
    let progressed = sweep::run(&over_path().validated().unwrap(), &mut watcher, &stop).unwrap();
    assert_eq!(progressed.verdict.level, Level::Valid, "{:?}", progressed.verdict);
    assert_eq!((watcher.kept, watcher.steps.len()), (vec![0, 1, 2, 3, 4], 4));
    let [small, large] = progressed.result.points.as_slice() else { panic!("two points") };
    assert_eq!((small.granted_buffer_bytes, large.granted_buffer_bytes), (Some(4096), None));
    // The truth is the path's: a round trip takes two delays, and no more goes than its rate.
    for trial in small.trials.iter().chain(&large.trials) {
        assert!(trial.tcp.unwrap().min_rtt_us.unwrap() >= 20_000);
    }
    assert!(rate(large) < RATE_BITS_PER_S as f64 / 8.0);
    assert!(rate(large) > 2.0 * rate(small), "{} {}", rate(large), rate(small));
    let cause = |p: &SweepPoint| p.cause.map(|(cause, _)| cause);
    assert_eq!(cause(small), Some(Cause::SendBuffer), "{:?}", small.trials[0].explanation);
    assert!(cause(large).is_some_and(|c| c != Cause::SendBuffer), "{:?}", large.trials[0].explanation);
}

#[test]
fn a_small_receive_buffer_holds_a_transfer_back() {
    needs_root!();
    let of = |receive_buffer_bytes| {
        let plan =
            SweepPlan { socket_buffers_bytes: vec![None], receive_buffer_bytes, trials: 1, ..over_path() };
        let (stop, mut watcher) = (AtomicBool::new(false), Watcher::default());
        rate(&sweep::run(&plan, &mut watcher, &stop).unwrap().result.points[0])
    };
    let (small, kernels) = (of(Some(4096)), of(None));
    assert!(kernels > 2.0 * small, "{kernels} {small}");
}

#[test]
fn a_missing_receiver_is_an_error_with_a_remedy() {
    let (stop, mut watcher) = (AtomicBool::new(false), Watcher::default());
    // Of the discard port of this host's own address; nothing listens there in a test.
    let ends = SweepEnds::Host { name: "127.0.0.1".into(), port: 9 };
    let error = sweep::run(&plan(ends, vec![None], 50_000_000), &mut watcher, &stop).unwrap_err();
    assert!(error.to_string().contains("netfathom ttcp -rs --serve"), "{error}");
}
