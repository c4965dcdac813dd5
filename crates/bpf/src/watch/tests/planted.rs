//! Delays of a known size, one kind at a time: the right stage has them, and no other.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use netfathom_model::record::Holder;
use netfathom_sys::cpu::{self, scheduling, thread_id};
use netfathom_testkit::Burner;

use super::*;

const MS: u64 = 1_000_000;
const SIZES_MS: [u64; 3] = [1, 3, 10];
/// A message each; the first one's reader is not known yet.
const EACH: u64 = 16;

/// What the reader did, as it knows itself.
#[derive(Clone, Copy, Debug, Default)]
struct Truth {
    elapsed_ns: u64,
    ran_ns: u64,
    waited_ns: u64,
}

/// The reader does `before` each read but the first, once there is something to read.
fn planted(before: impl Fn() + Sync, at_start: impl Fn() + Sync) -> (Watch, Truth) {
    let sums: [AtomicU64; 3] = Default::default();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let watch = attach(Some(listener.local_addr().unwrap().port()));
    let waited = || scheduling(thread_id()).unwrap().run_delay_ns;
    thread::scope(|scope| {
        scope.spawn(|| {
            at_start();
            let mut message = [0; 64];
            let mut stream = listener.accept().unwrap().0;
            stream.read_exact(&mut message).unwrap();
            stream.write_all(&message).unwrap();
            while stream.peek(&mut message).unwrap() > 0 {
                let since = (std::time::Instant::now(), thread_time_ns(), waited());
                before();
                sums[0].fetch_add(since.0.elapsed().as_nanos() as u64, Relaxed);
                sums[1].fetch_add(thread_time_ns() - since.1, Relaxed);
                sums[2].fetch_add(waited() - since.2, Relaxed);
                stream.read_exact(&mut message).unwrap();
                stream.write_all(&message).unwrap();
            }
        });
        let mut stream = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        stream.set_nodelay(true).unwrap();
        let mut message = [7; 64];
        for _ in 0..=EACH {
            stream.write_all(&message).unwrap();
            stream.read_exact(&mut message).unwrap();
        }
    });
    holds(&watch, EACH + 1);
    let [elapsed_ns, ran_ns, waited_ns] = sums.map(AtomicU64::into_inner);
    (watch, Truth { elapsed_ns, ran_ns, waited_ns })
}

fn sum(watch: &Watch, stage: WatchStage) -> u64 {
    watch.stage(stage).unwrap().moments.sum as u64
}

/// Within 5 %, and within what a call of the reader takes beside it.
fn is_about(stage_ns: u64, truth_ns: u64) -> bool {
    stage_ns.abs_diff(truth_ns) < truth_ns / 20 + EACH * MS / 20
}

/// Those that are neither `stage` nor the machine's own waits.
fn others(watch: &Watch, stage: WatchStage) -> u64 {
    let of = |of: &WatchStage| *of != stage && *of != WatchStage::Runqueue;
    rx().iter().filter(|s| of(s)).map(|&s| sum(watch, s)).sum()
}

#[test]
fn a_sleep_of_the_reader_is_in_blocked_by_its_size() {
    needs_root!();
    for ms in SIZES_MS {
        let (watch, truth) = planted(|| thread::sleep(Duration::from_millis(ms)), || ());
        println!("{truth:?}");
        let (blocked, runqueue) = (sum(&watch, WatchStage::Blocked), sum(&watch, WatchStage::Runqueue));
        assert!(blocked >= EACH * ms * MS * 19 / 20, "{ms} ms: {blocked}");
        assert!(is_about(blocked + runqueue, truth.elapsed_ns), "{ms} ms: {blocked} {runqueue} {truth:?}");
        assert!(others(&watch, WatchStage::Blocked) < EACH * MS / 2, "{ms} ms");
    }
}

#[test]
fn work_of_the_reader_is_in_sockqueue_by_its_size() {
    needs_root!();
    for ms in SIZES_MS {
        let work = || {
            let end = thread_time_ns() + ms * MS;
            while thread_time_ns() < end {}
        };
        let (watch, truth) = planted(work, || ());
        let sockqueue = sum(&watch, WatchStage::Sockqueue);
        // Interrupts and the hypervisor take time from it that is not its own.
        assert!(sockqueue >= truth.ran_ns * 19 / 20, "{ms} ms: {sockqueue} {truth:?}");
        assert!(is_about(sockqueue + sum(&watch, WatchStage::Runqueue), truth.elapsed_ns), "{ms} ms: {truth:?}");
        assert!(others(&watch, WatchStage::Sockqueue) < EACH * MS / 2, "{ms} ms");
    }
}

/// It shares its CPU with another process, which has a name.
#[test]
fn a_busy_cpu_is_in_runqueue_by_what_the_reader_waited_and_who_had_it_is_known() {
    needs_root!();
    let last = cpu::allowed().unwrap().into_iter().last().unwrap();
    let burners = [Burner::on(last), Burner::on(last)];
    let work = || {
        let end = thread_time_ns() + 5 * MS;
        while thread_time_ns() < end {}
    };
    let (watch, truth) = planted(work, || cpu::pin(last).unwrap());
    let runqueue = sum(&watch, WatchStage::Runqueue);
    println!("{runqueue} {truth:?}");
    assert!(truth.waited_ns > EACH * MS, "the burners did not burn: {truth:?}");
    // It also waits after a wake-up, before it peeks.
    assert!(runqueue * 20 >= truth.waited_ns * 19, "{runqueue} {truth:?}");
    let waits = watch.waits().unwrap();
    println!("{waits:?}");
    let of_burners = waits.holders.iter().filter(|held| {
        matches!(&held.by, Holder::Process { name, pid }
            if name == Burner::NAME && burners.iter().any(|burner| burner.pid() == *pid))
    });
    let had: u64 = of_burners.map(|held| held.ns).sum();
    // Others may be busy there too.
    assert!(had * 3 > waits.waited_ns, "{waits:?}");
    assert_eq!(waits.holders.iter().map(|held| held.ns).sum::<u64>(), waits.waited_ns);
}
