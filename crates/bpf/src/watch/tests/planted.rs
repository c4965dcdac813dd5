//! Delays of a known size, one kind at a time: the right stage has them, and no other.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

use netfathom_model::record::Holder;
use netfathom_stats::{Distribution, bucket_index};
use netfathom_sys::cpu::{self, scheduling, thread_id};
use netfathom_testkit::{Burner, skip, unless_disturbed};

use super::*;
use crate::contention::tests::CpuGroup;

pub(super) const MS: u64 = 1_000_000;
pub(super) const SIZES_MS: [u64; 3] = [1, 3, 10];
/// A message each; the first one's reader is not known yet.
pub(super) const EACH: u64 = 16;

/// What the reader did, as it knows itself.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Truth {
    pub waited_ns: u64,
    /// And from the message before on.
    pub all_waited_ns: u64,
    /// On no CPU without a wait for one, and all the time but for such waits.
    pub slept_ns: u64,
    pub held_ns: u64,
    /// The same until it has read.
    pub held_until_read_ns: u64,
}

/// The reader does `before` each read but the first, once there is something to read.
pub(super) fn planted(before: impl Fn() + Sync, at_start: impl Fn() + Sync) -> (Watch, Truth) {
    let truth = Mutex::new(Truth::default());
    let (listener, watch) = listening();
    let waited = || scheduling(thread_id()).unwrap().run_delay_ns;
    thread::scope(|scope| {
        scope.spawn(|| {
            at_start();
            let mut message = [0; 64];
            let mut stream = listener.accept().unwrap().0;
            stream.read_exact(&mut message).unwrap();
            stream.write_all(&message).unwrap();
            let mut last_ns = waited();
            while stream.peek(&mut message).unwrap() > 0 {
                let since = (std::time::Instant::now(), thread_time_ns(), waited());
                before();
                let elapsed_ns = since.0.elapsed().as_nanos() as u64;
                let (ran_ns, waited_ns) = (thread_time_ns() - since.1, waited() - since.2);
                stream.read_exact(&mut message).unwrap();
                let until_read_ns = since.0.elapsed().as_nanos() as u64;
                stream.write_all(&message).unwrap();
                let mut truth = truth.lock().unwrap();
                truth.waited_ns += waited_ns;
                truth.all_waited_ns += since.2 + waited_ns - last_ns;
                truth.slept_ns += elapsed_ns.saturating_sub(ran_ns + waited_ns);
                truth.held_ns += elapsed_ns.saturating_sub(waited_ns);
                truth.held_until_read_ns += until_read_ns.saturating_sub(waited_ns);
                last_ns = since.2 + waited_ns;
            }
        });
        let stream = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        stream.set_nodelay(true).unwrap();
        ask(stream, EACH + 1);
    });
    holds(&watch, EACH + 1);
    (watch, truth.into_inner().unwrap())
}

/// Takes so much of its CPU.
pub(super) fn work(ms: u64) {
    let end = thread_time_ns() + ms * MS;
    while thread_time_ns() < end {}
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
        assert_eq!(watch.account().unwrap().stopped_ns, 0, "{ms} ms");
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
    let (listener, watch) = listening();
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
        let (watch, truth) = planted(|| work(ms), || ());
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
    let ran = || burners.each_ref().map(Burner::ran_ns);
    let before: std::sync::OnceLock<[u64; 2]> = Default::default();
    let at_start = || {
        cpu::pin(last).unwrap();
        before.set(ran()).unwrap();
    };
    let (watch, truth) = planted(|| work(5), at_start);
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

/// The reader and a neighbor on its CPU both send datagrams over loopback, which come in softirqs there.
#[test]
fn softirqs_on_the_cpu_of_a_reader_are_holders_by_what_the_kernel_counts() {
    /// Of /proc/stat; those of the kernel itself are no longer.
    const TICK_NS: u64 = 10 * MS;
    const FEWEST_NS: u64 = 50 * TICK_NS;
    const MOST: Duration = Duration::from_secs(60);
    needs_root!();
    needs_times!();
    needs!(holders::sums_from_rq() != 0, "needs BTF with the variables that each CPU has");
    let last = cpu::allowed().unwrap().into_iter().last().unwrap();
    let sink = UdpSocket::bind("127.0.0.1:0").unwrap();
    let flood = |is_over: &dyn Fn() -> bool| {
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        socket.connect(sink.local_addr().unwrap()).unwrap();
        while !is_over() {
            (0..16).for_each(|_| assert_eq!(socket.send(&[7; 64]).unwrap(), 64));
        }
    };
    let work = || {
        let end = thread_time_ns() + 100 * MS;
        flood(&|| thread_time_ns() >= end);
    };
    let of_cpu = || cpu::processor_times(last).unwrap();
    let softirq_ns = unless_disturbed(|| {
        let before = std::sync::OnceLock::new();
        let at_start = || {
            cpu::pin(last).unwrap();
            before.set(of_cpu()).unwrap();
        };
        let (stop, began) = (AtomicBool::new(false), std::time::Instant::now());
        let (watch, times) = thread::scope(|scope| {
            scope.spawn(|| {
                cpu::pin(last).unwrap();
                flood(&|| stop.load(Relaxed) || began.elapsed() > MOST);
            });
            let (watch, _) = planted(work, at_start);
            let times = of_cpu().since(before.get().unwrap());
            stop.store(true, Relaxed);
            (watch, times)
        });
        let waits = watch.waits().unwrap();
        println!("{waits:?} {times:?}");
        assert_eq!(waits.holders.iter().map(|held| held.ns).sum::<u64>(), waits.waited_ns);
        let had = waits.holders.iter().find(|held| held.by == Holder::Softirqs).map_or(0, |held| held.ns);
        if times.softirq_ns < FEWEST_NS {
            return Ok(times.softirq_ns);
        }
        // No more than all that the kernel counted, which /proc/stat rounds to ticks.
        assert!(had > 0 && had <= times.softirq_ns + 3 * TICK_NS, "{had} of {}", times.softirq_ns);
        // The neighbor does as the reader does: a tick that hits a softirq is of a wait by that part of the time. How many are
        // has the variance of a binomial distribution.
        let waiting = waits.waited_ns as f64 / times.busy_ns() as f64;
        let variance = waiting * (1.0 - waiting) * times.softirq_ns as f64 * TICK_NS as f64;
        let expected = waiting * times.softirq_ns as f64;
        let most = 4.0 * variance.sqrt() + 2.0 * TICK_NS as f64;
        if (had as f64 - expected).abs() > most {
            return Err(format!("{had}, expected {expected} ± {most}"));
        }
        Ok(times.softirq_ns)
    });
    if let Some(ns) = softirq_ns.filter(|ns| *ns < FEWEST_NS) {
        skip!("needs a CPU where /proc/stat counts softirqs: {ns} ns of them");
    }
}

#[test]
fn a_quota_that_is_used_up_is_in_runqueue() {
    needs_root!();
    let Some(group) = CpuGroup::new("netfathom-watch-quota") else {
        skip!("needs a cgroup with the CPU controller")
    };
    // Only while a message waits: the reader is also stopped before the first and after the last.
    let stopped = [AtomicU64::new(u64::MAX), AtomicU64::new(0)];
    let before = || {
        stopped[0].fetch_min(group.throttled_ns(), Relaxed);
        work(1);
        stopped[1].store(group.throttled_ns(), Relaxed);
    };
    let (watch, truth) = planted(before, || group.limit().unwrap());
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

pub(super) const ECHO: &str = "import socket
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

/// A server, its client, and what watches it, once it has read.
pub(super) fn stoppable() -> Option<(netfathom_testkit::Killed, TcpStream, Watch)> {
    let Some((server, port)) = serving(ECHO) else {
        skipped("watch::tests::planted", "needs python3");
        return None;
    };
    let mut client = TcpStream::connect(("127.0.0.1", port)).unwrap();
    let watch = attach(Some(port));
    client.write_all(&[7; 64]).unwrap();
    client.read_exact(&mut [0; 64]).unwrap();
    Some((server, client, watch))
}

/// Each message comes while its reader is stopped by a signal, for so long. Returns how long messages waited for that, at
/// least and at most.
pub(super) fn stop(pid: u32, client: &mut TcpStream, ms: u64) -> [u64; 2] {
    let process = netfathom_sys::process::Process::open(pid).unwrap();
    let (mut message, mut least, mut most) = ([7; 64], 0, 0);
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
    [least, most]
}

#[test]
fn a_server_that_is_stopped_by_a_signal_shows_as_blocked_by_how_long() {
    needs_root!();
    let Some((server, mut client, watch)) = stoppable() else { return };
    let mut before = 0;
    for ms in SIZES_MS {
        let [least, most] = stop(server.id(), &mut client, ms);
        let blocked = sum(&watch, WatchStage::Blocked);
        println!("{ms} ms: {} in blocked, from {least} to {most}", blocked - before);
        assert!((least..most).contains(&(blocked - before)), "{ms} ms");
        before = blocked;
    }
    assert!(others(&watch, WatchStage::Blocked) * 20 < before);
    let stopped = watch.account().unwrap().stopped_ns;
    assert!((before * 19 / 20..=before).contains(&stopped), "{stopped} of {before} in blocked");
}
