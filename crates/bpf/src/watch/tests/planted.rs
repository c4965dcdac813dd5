//! Delays of a known size, one kind at a time: the right stage has them, and no other.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use netfathom_model::record::Holder;
use netfathom_stats::{Distribution, bucket_index};
use netfathom_sys::cpu::{self, scheduling, thread_id};
use netfathom_testkit::{Burner, skip};

use super::*;
use crate::contention::tests::CpuGroup;

pub(super) const MS: u64 = 1_000_000;
pub(super) const SIZES_MS: [u64; 3] = [1, 3, 10];
/// A message each; the first one's reader is not known yet.
pub(super) const EACH: u64 = 16;

/// What the reader did, as it knows itself.
#[derive(Clone, Copy, Debug, Default)]
struct Truth {
    waited_ns: u64,
    /// On no CPU without a wait for one, and all the time but for such waits.
    slept_ns: u64,
    held_ns: u64,
}

/// The reader does `before` each read but the first, once there is something to read.
fn planted(before: impl Fn() + Sync, at_start: impl Fn() + Sync) -> (Watch, Truth) {
    let each = Mutex::new(Vec::new());
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
                let elapsed_ns = since.0.elapsed().as_nanos() as u64;
                each.lock().unwrap().push([elapsed_ns, thread_time_ns() - since.1, waited() - since.2]);
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
    let each = each.into_inner().unwrap();
    let waited_ns = each.iter().map(|[.., waited]| waited).sum();
    let total = |of: fn(&[u64; 3]) -> u64| each.iter().map(of).sum();
    let slept_ns = total(|[elapsed, ran, waited]| elapsed.saturating_sub(ran + waited));
    let held_ns = total(|[elapsed, _, waited]| elapsed.saturating_sub(*waited));
    (watch, Truth { waited_ns, slept_ns, held_ns })
}

pub(super) fn sum(watch: &Watch, stage: WatchStage) -> u64 {
    watch.stage(stage).unwrap().moments.sum as u64
}

/// A machine that stands still for a while leaves it as it is.
pub(super) fn median(watch: &Watch, stage: WatchStage) -> u64 {
    watch.stage(stage).unwrap().quantile(0.5).unwrap_or(0) as u64
}

/// Within 5 %, and within what the calls of the reader take beside it.
fn is_about(stage_ns: u64, truth_ns: u64) -> bool {
    stage_ns.abs_diff(truth_ns) < truth_ns / 20 + EACH * MS / 20
}

/// Those that are neither `stage` nor the machine's own waits.
pub(super) fn beside(watch: &Watch, stage: WatchStage) -> u64 {
    of_others(stage).map(|stage| median(watch, stage)).sum()
}

/// The same of all messages together.
pub(super) fn others(watch: &Watch, stage: WatchStage) -> u64 {
    of_others(stage).map(|stage| sum(watch, stage)).sum()
}

fn of_others(stage: WatchStage) -> impl Iterator<Item = WatchStage> {
    rx().into_iter().filter(move |of| *of != stage && *of != WatchStage::Runqueue)
}

#[test]
fn a_sleep_of_the_reader_is_in_blocked_by_its_size() {
    needs_root!();
    needs_times!();
    for ms in SIZES_MS {
        let (watch, truth) = planted(|| thread::sleep(Duration::from_millis(ms)), || ());
        let blocked = sum(&watch, WatchStage::Blocked);
        assert!(blocked >= EACH * ms * MS * 19 / 20, "{ms} ms: {blocked}");
        assert!(is_about(blocked, truth.slept_ns), "{ms} ms: {blocked} {truth:?}");
        let beside = beside(&watch, WatchStage::Blocked);
        assert!(beside < MS / 2, "{ms} ms: {beside}");
    }
}

/// How many are in the bucket of this time, or in one above it.
fn at_least(times: &Distribution, ns: u64) -> u64 {
    let first = bucket_index(ns, times.histogram.grain());
    times.histogram.buckets().filter(|(index, _)| *index >= first).map(|(_, n)| n).sum()
}

/// One message in ten waits longer than the others.
#[test]
fn a_server_with_two_speeds_shows_as_two_humps() {
    const MESSAGES: u64 = 200;
    const SHORT_NS: u64 = 1_900_000;
    const LONG_NS: u64 = 7_700_000;
    /// Between both; a bucket begins there.
    const GAP_NS: u64 = 1 << 22;
    needs_root!();
    needs_times!();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let watch = attach(Some(listener.local_addr().unwrap().port()));
    // By the client's clock, which begins before a message and ends after it: on a busy machine more than are planted.
    let mut beyond_gap = 0;
    thread::scope(|scope| {
        scope.spawn(|| {
            let mut stream = listener.accept().unwrap().0;
            let mut message = [0; 64];
            for n in 0..=MESSAGES {
                stream.peek(&mut message).unwrap();
                thread::sleep(Duration::from_nanos(if n % 10 == 0 { LONG_NS } else { SHORT_NS }));
                stream.read_exact(&mut message).unwrap();
                stream.write_all(&message).unwrap();
            }
        });
        let mut stream = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        stream.set_nodelay(true).unwrap();
        let mut message = [7; 64];
        for n in 0..=MESSAGES {
            let since = std::time::Instant::now();
            stream.write_all(&message).unwrap();
            stream.read_exact(&mut message).unwrap();
            // The first has no times.
            beyond_gap += u64::from(n > 0 && since.elapsed().as_nanos() as u64 >= GAP_NS);
        }
    });
    holds(&watch, 1 + MESSAGES);
    let untimed = MESSAGES - watch.account().unwrap().timed;
    let [short, long] = [SHORT_NS, LONG_NS].map(|ns| ns * 9 / 10);
    for times in [watch.stage(WatchStage::Blocked).unwrap(), watch.total().unwrap()] {
        let [all, above, upper] = [short, GAP_NS, long].map(|ns| at_least(&times, ns));
        println!(
            "{all}: {above} beyond the gap, {upper} long; the client had {beyond_gap}, {untimed} untimed"
        );
        assert_eq!((all, times.moments.n), (MESSAGES - untimed, all));
        assert!(
            upper + untimed >= MESSAGES / 10 && above <= beyond_gap,
            "{upper} to {above} of {beyond_gap}"
        );
        let [p50, p99] = [0.5, 0.99].map(|part| times.quantile(part).unwrap() as u64);
        assert!((short..GAP_NS).contains(&p50) && p99 >= long, "{p50} {p99}");
    }
}

#[test]
fn work_of_the_reader_is_in_sockqueue_by_its_size() {
    needs_root!();
    needs_times!();
    for ms in SIZES_MS {
        let work = || {
            let end = thread_time_ns() + ms * MS;
            while thread_time_ns() < end {}
        };
        let (watch, truth) = planted(work, || ());
        let sockqueue = sum(&watch, WatchStage::Sockqueue);
        // Interrupts and the hypervisor take time from it that is not its own.
        assert!(sockqueue >= EACH * ms * MS * 19 / 20, "{ms} ms: {sockqueue} {truth:?}");
        // Of one that was switched away often, the first waits count as sockqueue, and the account has it.
        let is_long = watch.account().unwrap().long > 0;
        assert!(is_long || is_about(sockqueue, truth.held_ns), "{ms} ms: {sockqueue} {truth:?}");
        let beside = beside(&watch, WatchStage::Sockqueue);
        assert!(beside < MS / 2, "{ms} ms: {beside}");
    }
}

/// It shares its CPU with another process, which has a name.
#[test]
fn a_busy_cpu_is_in_runqueue_by_what_the_reader_waited_and_who_had_it_is_known() {
    needs_root!();
    needs_times!();
    let last = cpu::allowed().unwrap().into_iter().last().unwrap();
    let burners = [Burner::on(last), Burner::on(last)];
    let work = || {
        let end = thread_time_ns() + 5 * MS;
        while thread_time_ns() < end {}
    };
    let ran = || burners.each_ref().map(Burner::ran_ns);
    let before: std::sync::OnceLock<[u64; 2]> = Default::default();
    let at_start = || {
        cpu::pin(last).unwrap();
        before.set(ran()).unwrap();
    };
    let (watch, truth) = planted(work, at_start);
    let (runqueue, after) = (sum(&watch, WatchStage::Runqueue), ran());
    println!("{runqueue} {truth:?}");
    assert!(truth.waited_ns > EACH * MS, "the burners did not burn: {truth:?}");
    // It also waits after a wake-up, before it peeks.
    assert!(runqueue * 20 >= truth.waited_ns * 19, "{runqueue} {truth:?}");
    let waits = watch.waits().unwrap();
    println!("{waits:?}");
    for ((burner, before), after) in burners.iter().zip(before.get().unwrap()).zip(after) {
        let by = Holder::Process { name: Burner::NAME.into(), pid: burner.pid(), cgroup: None };
        let had = waits.holders.iter().find(|held| held.by == by).expect("named").ns;
        // At times the reader has nothing to read, and waits for no CPU.
        assert!(
            (after - before) / 2 < had && had <= (after - before) * 51 / 50,
            "{had} of {}",
            after - before
        );
    }
    assert_eq!(waits.holders.iter().map(|held| held.ns).sum::<u64>(), waits.waited_ns);
}

#[test]
fn a_quota_that_is_used_up_is_in_runqueue() {
    needs_root!();
    let Some(group) = CpuGroup::new("netfathom-watch-quota") else {
        skip!("needs a cgroup with the CPU controller")
    };
    // Only while a message waits: the reader is also stopped before the first and after the last.
    let stopped = [AtomicU64::new(u64::MAX), AtomicU64::new(0)];
    let work = || {
        stopped[0].fetch_min(group.throttled_ns(), Relaxed);
        let end = thread_time_ns() + MS;
        while thread_time_ns() < end {}
        stopped[1].store(group.throttled_ns(), Relaxed);
    };
    let (watch, truth) = planted(work, || group.limit().unwrap());
    let [first, last] = stopped.map(AtomicU64::into_inner);
    let (runqueue, throttled) = (sum(&watch, WatchStage::Runqueue), last - first);
    println!("{runqueue}, throttled {throttled}, {truth:?}");
    assert!(throttled > EACH * MS, "the quota stopped nothing: {throttled}");
    assert!(runqueue * 20 >= truth.waited_ns * 19, "{runqueue} {truth:?}");
    assert!(runqueue * 20 >= throttled * 19, "{runqueue} of {throttled}");
    assert!(sum(&watch, WatchStage::Blocked) * 20 < throttled, "{}", sum(&watch, WatchStage::Blocked));
    let waits = watch.waits().unwrap();
    let quota = waits.holders.iter().find(|held| held.by == Holder::Quota).expect("named").ns;
    // What it waited for others once it was free again is in there.
    assert!(quota * 20 >= throttled * 19 && quota <= waits.waited_ns, "{quota} of {throttled} {waits:?}");
}

const ECHO: &str = "import socket
listener = socket.create_server(('127.0.0.1', 0))
print(listener.getsockname()[1], flush=True)
connection, _ = listener.accept()
while message := connection.recv(64):
    connection.sendall(message)";

/// A server in Python that prints its port, and that port.
pub(super) fn serving(script: &str) -> Option<(netfathom_testkit::Killed, u16)> {
    use std::io::{BufRead, BufReader};
    use std::process::{Command, Stdio};

    let server = Command::new("python3").args(["-c", script]).stdout(Stdio::piped()).spawn();
    let mut server = netfathom_testkit::Killed(server.ok()?);
    let mut port = String::new();
    BufReader::new(server.stdout.as_mut().unwrap()).read_line(&mut port).unwrap();
    Some((server, port.trim().parse().unwrap()))
}

#[test]
fn a_server_that_is_stopped_by_a_signal_shows_as_blocked_by_how_long() {
    needs_root!();
    let Some((server, port)) = serving(ECHO) else { skip!("needs python3") };
    let mut client = TcpStream::connect(("127.0.0.1", port)).unwrap();
    let (pid, watch) = (server.id(), attach(Some(port)));
    let process = netfathom_sys::process::Process::open(pid).unwrap();
    let mut message = [7; 64];
    client.write_all(&message).unwrap();
    client.read_exact(&mut message).unwrap();
    let mut before = 0;
    for ms in SIZES_MS {
        let (mut least, mut most) = (0, 0);
        for _ in 0..EACH {
            process.signal(netfathom_sys::process::SIGSTOP).unwrap();
            while !netfathom_sys::process::is_stopped(pid) {
                thread::yield_now();
            }
            let since = std::time::Instant::now();
            client.write_all(&message).unwrap();
            let sent = std::time::Instant::now();
            thread::sleep(Duration::from_millis(ms));
            least += sent.elapsed().as_nanos() as u64;
            process.signal(netfathom_sys::process::SIGCONT).unwrap();
            client.read_exact(&mut message).unwrap();
            most += since.elapsed().as_nanos() as u64;
        }
        let blocked = sum(&watch, WatchStage::Blocked);
        println!("{ms} ms: {} in blocked, from {least} to {most}", blocked - before);
        assert!((least..most).contains(&(blocked - before)), "{ms} ms");
        before = blocked;
    }
    assert!(others(&watch, WatchStage::Blocked) * 20 < before);
}
