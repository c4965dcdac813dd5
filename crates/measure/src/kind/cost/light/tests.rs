use std::ops::Range;

use netfathom_sys::clock::monotonic_ns;
use netfathom_sys::cpu::{scheduling, thread_id};
use netfathom_testkit::{alone, unless_disturbed};

use super::*;

static GO_ON: AtomicBool = AtomicBool::new(false);

/// What each phase took, in nanoseconds.
fn times(light: &mut Light) -> Vec<u64> {
    let mut at_ns = Vec::new();
    light.run(&GO_ON, &mut |_| at_ns.push(monotonic_ns())).unwrap();
    at_ns.windows(2).map(|pair| pair[1] - pair[0]).collect()
}

fn temporary() -> tempfile::TempDir {
    tempfile::tempdir().unwrap()
}

#[test]
fn every_phase_ends_and_is_marked_in_order() {
    let (_alone, dir) = (alone(), temporary());
    let all = Sizes::new(PHASES.iter().map(|phase| (phase, 3)).collect()).unwrap();
    let mut marks = Vec::new();
    let mut light = Light::prepare(dir.path(), &all).unwrap();
    light.run(&GO_ON, &mut |name| marks.push(name.to_owned())).unwrap();
    let names = ["start", "cpu", "memory", "calls", "switches", "metadata", "data", "loopback", "timers"];
    assert_eq!(marks, names);
    // And once more, and in another order.
    assert_eq!(times(&mut light).len(), PHASES.len());
    let mut marks = Vec::new();
    let some: Sizes = "timers=2,cpu=1".parse().unwrap();
    Light::prepare(dir.path(), &some).unwrap().run(&GO_ON, &mut |name| marks.push(name.to_owned())).unwrap();
    assert_eq!(marks, ["start", "timers", "cpu"]);
    drop(light);
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0, "nothing may stay");
}

/// Others can only slow a run down, so the fastest is that of the work, first of those in which this thread did not wait for a
/// CPU: other tests of this process run meanwhile. One after the other they find in the caches what the first of them
/// brought there, and a run of another size between them leaves them less.
fn fastest_ns(light: &mut Light) -> u64 {
    let waited_ns = || scheduling(thread_id()).map_or(0, |of_thread| of_thread.run_delay_ns);
    let run = |_| {
        let before = waited_ns();
        let took_ns = times(light)[0];
        (waited_ns() - before > took_ns / 50, took_ns)
    };
    (0..24).map(run).min().unwrap().1
}

#[test]
fn more_work_takes_longer_in_proportion() {
    let (_alone, dir) = (alone(), temporary());
    let within = |what: &str, expected: Range<f64>, once: u64, more: u64| {
        let ratio = more as f64 / once as f64;
        if expected.contains(&ratio) { Ok(()) } else { Err(format!("{what}: {once}, {more}: {ratio} times")) }
    };
    let is_in_proportion = |phase: &'static Phase| {
        let calibrated = |target_ns| {
            let size = |_| calibrate(dir.path(), &[phase], target_ns, &GO_ON).unwrap().phases()[0].1;
            (0..4).map(size).max().unwrap()
        };
        let (short, long) = (calibrated(5_000_000), calibrated(20_000_000));
        within("sizes", 1.5..12.0, short, long)?;
        let [once, fourfold] = [short, 4 * short].map(|size| {
            fastest_ns(&mut Light::prepare(dir.path(), &Sizes::new(vec![(phase, size)]).unwrap()).unwrap())
        });
        within("times", 2.5..6.5, once, fourfold)
    };
    for phase in &PHASES {
        unless_disturbed(|| is_in_proportion(phase).map_err(|why| format!("{}: {why}", phase.name)));
    }
}

#[test]
fn sleeps_last_at_least_what_was_asked_for() {
    let (_alone, dir) = (alone(), temporary());
    let took = times(&mut Light::prepare(dir.path(), &"timers=200".parse().unwrap()).unwrap());
    let timers = phase("timers").unwrap();
    assert!(took[0] > 200 * timers.constant_ns && timers.constant_ns > 0, "{took:?}");
    assert!(PHASES.iter().filter(|phase| phase.constant_ns > 0).count() == 1);
}

#[test]
fn it_stops_between_phases() {
    let (_alone, dir) = (alone(), temporary());
    let stop = AtomicBool::new(false);
    let mut marks = Vec::new();
    let mut light = Light::prepare(dir.path(), &"cpu=1,calls=1,timers=1".parse().unwrap()).unwrap();
    let stopped = light.run(&stop, &mut |name| {
        marks.push(name.to_owned());
        stop.store(name == "calls", Relaxed);
    });
    assert!(matches!(stopped, Err(LightError::Stopped)));
    assert_eq!(marks, ["start", "cpu", "calls"]);
}

#[test]
fn sizes_are_read_as_they_are_written() {
    let text = "cpu=1200,memory=64,timers=7";
    assert_eq!(text.parse::<Sizes>().unwrap().to_string(), text);
    let wrong = |text: &str| text.parse::<Sizes>().unwrap_err();
    assert!(wrong("disk=1").contains("there are cpu, memory, calls"));
    assert!(wrong("cpu=1,cpu=2").contains("twice"));
    assert!(wrong("cpu=0").contains("1 is the least"));
    assert!(wrong("").contains("write such as") && wrong("cpu").contains("cpu=1200"));
    assert!(wrong("cpu=-1").contains("`cpu=-1`"));
}
