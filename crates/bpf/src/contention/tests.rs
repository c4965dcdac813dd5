//! A thread that always wants its processor, beside processes that take it.

use std::fs::OpenOptions;
use std::io::{self, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;
use std::process::Command;
use std::sync::atomic::AtomicBool;
use std::time::Instant;
use std::{env, fs, thread};

use netfathom_model::record::{Held, Holder};
use netfathom_sys::clock::monotonic_ns;
use netfathom_sys::cpu;
use netfathom_testkit::{Burner, Group, again_in_pid_namespace, needs_root, needs_times, skip};

use super::*;
use crate::lab::tick_ns;

/// As in abi.h.
const LEAST_STINT_NS: u64 = 5000;
const LEAST_PAUSE_NS: u64 = 100_000;
const LONG: Duration = Duration::from_millis(600);
const ALL: Detail = Detail { interrupts: true, pauses: true };

/// What this thread waited so far, by the kernel's own account.
fn waited_ns() -> u64 {
    cpu::scheduling(thread_id()).unwrap().run_delay_ns
}

fn of_process(account: &Account, number: u32) -> &Held {
    let is_it = |held: &&Held| matches!(held.by, Holder::Process { pid, .. } if pid == number);
    account.holders.iter().find(is_it).expect("named")
}

/// Where this thread is from now on.
fn on_the_last_cpu() -> (Contention, usize) {
    let last = cpu::allowed().unwrap().into_iter().last().unwrap();
    cpu::pin(last).unwrap();
    (Contention::attach(ALL).unwrap(), last)
}

fn spin(time: Duration) {
    let start = Instant::now();
    while start.elapsed() < time {}
}

/// Not more than a tenth outside of what the kernel accounts for a shorter and for a longer time.
fn is_between(value: u64, least: u64, most: u64) -> bool {
    value * 10 >= least * 9 && value * 10 <= most * 11
}

#[test]
fn a_wait_has_the_names_and_the_times_of_those_who_had_the_processor() {
    needs_root!();
    needs_times!();
    let (contention, last) = on_the_last_cpu();
    let group = CpuGroup::new("netfathom-burner");
    let burners = [Burner::on(last), Burner::on(last)];
    let group = group.filter(|group| group.group.set("cgroup.procs", burners[1].pid()).is_some());
    // This thread waits between any two of these, too.
    let by_kernel = || [burners[0].ran_ns(), burners[1].ran_ns(), waited_ns()];
    let before = by_kernel();
    let followed = contention.follow().expect("followed");
    let begun = by_kernel();
    spin(LONG);
    let (ending, account, after) = (by_kernel(), followed.account().unwrap(), by_kernel());
    println!("{account:?}; by the kernel: {before:?} {begun:?} {ending:?} {after:?}");
    let fits = |value, i: usize| is_between(value, ending[i] - begun[i], after[i] - before[i]);
    assert!(account.waited_ns > LONG.as_nanos() as u64 / 4, "the burners did not burn");
    assert!(fits(account.waited_ns, 2));
    for (i, burner) in burners.iter().enumerate() {
        let Held { by: Holder::Process { name, cgroup, .. }, ns } = of_process(&account, burner.pid()) else {
            panic!("a process")
        };
        assert_eq!(name, Burner::NAME);
        if let Some(group) = group.as_ref().filter(|_| burner.pid() == burners[1].pid()) {
            assert_eq!(cgroup.as_deref().unwrap(), group.name());
        }
        assert!(fits(*ns, i), "{ns}");
    }
    // The kernel removes a cgroup only when it is empty.
    drop(burners);
    drop(group);
    let named: u64 = account.holders.iter().map(|holder| holder.ns).sum();
    let interrupted: u64 = account.interrupts.iter().map(|interrupt| interrupt.waiting_ns).sum();
    let all = named + account.stolen_waiting_ns + interrupted;
    assert!(all <= account.waited_ns + account.waited_ns / 1000, "more than it waited: {all}");
    assert!(
        is_between(all, account.waited_ns, account.waited_ns),
        "without a name: {}",
        account.waited_ns - all
    );
}

#[test]
fn a_thread_that_moves_is_followed_to_each_cpu() {
    needs_root!();
    needs_times!();
    let cpus = cpu::allowed().unwrap();
    let both = [cpus[0], cpus[cpus.len() - 1]];
    if both[0] == both[1] {
        skip!("needs two CPUs");
    }
    let contention = Contention::attach(ALL).unwrap();
    // Before it is bound to any CPU.
    let followed = contention.follow().expect("followed");
    let (burners, mut ran) = (both.map(Burner::on), [0, 0]);
    for i in [0, 1, 0, 1] {
        let before = burners[i].ran_ns();
        cpu::pin(both[i]).unwrap();
        spin(LONG / 2);
        ran[i] += burners[i].ran_ns() - before;
    }
    let account = followed.account().unwrap();
    println!("{account:?}; {ran:?} by the kernel");
    for (burner, ran) in burners.iter().zip(ran) {
        let ns = of_process(&account, burner.pid()).ns;
        assert!(is_between(ns, ran, ran), "{ns} of {ran}");
    }
}

#[test]
fn those_who_had_the_processor_have_the_numbers_of_this_pid_namespace() {
    needs_root!();
    again_in_pid_namespace("contention::tests::a_thread_that_moves_is_followed_to_each_cpu");
}

#[test]
fn a_thread_that_sleeps_waits_for_no_cpu() {
    needs_root!();
    let contention = Contention::attach(ALL).unwrap();
    let last = cpu::allowed().unwrap().into_iter().last().unwrap();
    let _burner = Burner::on(last);
    cpu::pin(last).unwrap();
    let followed = contention.follow().expect("followed");
    let before = followed.account().unwrap();
    std::thread::sleep(LONG);
    let slept_ns = LONG.as_nanos() as u64;
    let waited_ns = followed.account().unwrap().waited_ns - before.waited_ns;
    assert!(waited_ns < slept_ns / 4, "{waited_ns}");
    drop(followed);
    let again = contention.follow().expect("followed anew");
    assert!(again.account().unwrap().waited_ns < slept_ns / 4);
}

#[test]
fn what_others_had_the_processor_for_is_known_by_its_time() {
    needs_root!();
    let (contention, last) = on_the_last_cpu();
    let followed = contention.follow().expect("followed");
    let burner = Burner::on(last);
    // Pieces of a run, with what the kernel says that this thread waited in each.
    let (end, mut pieces) = (monotonic_ns() + 300_000_000, Vec::new());
    // In an emulator it takes long to ask what it waited: a wait may come before or after that, between the two clocks.
    let look = || {
        let before = monotonic_ns();
        (before, waited_ns(), monotonic_ns())
    };
    let mut last_seen = look();
    while last_seen.0 < end {
        spin(Duration::from_micros(100));
        let now = look();
        let disturbed = contention.is_disturbed(last, last_seen.0, now.2);
        pieces.push((disturbed, now.1 - last_seen.1));
        last_seen = now;
    }
    let account = followed.account().unwrap();
    // ksoftirqd is not foreign.
    let all: u64 = account.holders.iter().map(|held| held.ns).sum();
    let others = all - of_process(&account, burner.pid()).ns;
    drop(burner);
    let (waits, runs): (Vec<_>, Vec<_>) = pieces.into_iter().partition(|piece| piece.1 > 2 * LEAST_STINT_NS);
    let [of_waits, of_runs] = [&waits, &runs].map(|pieces| pieces.iter().filter(|piece| piece.0).count());
    let undisturbed: u64 = waits.iter().filter(|piece| !piece.0).map(|piece| piece.1).sum();
    println!("disturbed: {of_waits} of {} waits, {of_runs} of {} runs", waits.len(), runs.len());
    assert!(!waits.is_empty(), "the burner did not burn");
    // A switch that no program saw hides who came before it.
    assert!(undisturbed <= others + account.waited_ns / 10, "{undisturbed} {account:?}");
    assert!(of_runs * 2 < runs.len(), "{of_runs} of {}", runs.len());
    drop(followed);
    assert!(contention.is_disturbed(last + 1, end, end), "what is not followed is not known");
}

#[test]
fn a_thread_that_a_signal_stopped_waited_for_no_cpu() {
    needs_root!();
    let (contention, _) = on_the_last_cpu();
    let followed = contention.follow().expect("followed");
    let own = std::process::id();
    let stops = format!("kill -STOP {own}; sleep 0.3; kill -CONT {own}");
    let had =
        || cpu::scheduling(thread_id()).map(|account| account.on_cpu_ns + account.run_delay_ns).unwrap();
    let (begin, had_before) = (Instant::now(), had());
    let mut stopper = Command::new("sh").args(["-c", &stops]).spawn().unwrap();
    spin(LONG);
    // It never sleeps of its own will, but where it starts the program.
    let absent = begin.elapsed().as_nanos() as u64 - (had() - had_before);
    // A stop is counted at the next switch away from the thread.
    thread::sleep(Duration::from_millis(1));
    stopper.wait().unwrap();
    let account = followed.account().unwrap();
    println!("stopped {} of {absent} in which it neither ran nor waited", account.stopped_ns);
    assert!(account.stopped_ns >= 250_000_000, "{account:?}");
    assert!(is_between(account.stopped_ns, absent, absent), "{} of {absent}", account.stopped_ns);
}

/// A disk that is read past the kernel's memory, so that each read waits for it.
struct Disk {
    file: fs::File,
    length: u64,
    buffer: Vec<u8>,
}

impl Disk {
    const BLOCK: usize = 1 << 16;
    /// What O_DIRECT wants buffers and offsets to be multiples of, at most.
    const ALIGNED: usize = 4096;

    /// `None` where this program lies on no disk.
    fn open() -> Option<Self> {
        let itself = env::current_exe().unwrap();
        let file = OpenOptions::new().read(true).custom_flags(libc::O_DIRECT).open(itself).ok()?;
        let length = file.metadata().ok()?.len();
        let mut disk = Self { file, length, buffer: vec![0; Self::BLOCK + Self::ALIGNED] };
        disk.read(0).ok().map(|()| disk)
    }

    fn read(&mut self, offset: u64) -> io::Result<()> {
        let start = self.buffer.as_ptr().align_offset(Self::ALIGNED);
        self.file.read_at(&mut self.buffer[start..start + Self::BLOCK], offset).map(drop)
    }

    fn read_for(&mut self, time: Duration) {
        let (begin, mut offset) = (Instant::now(), 0);
        while begin.elapsed() < time {
            self.read(offset).unwrap();
            offset = (offset + Self::BLOCK as u64) % (self.length - Self::BLOCK as u64);
            offset -= offset % Self::ALIGNED as u64;
        }
    }
}

#[test]
fn a_thread_that_waits_for_a_disk_is_blocked() {
    needs_root!();
    let Some(mut disk) = Disk::open() else { skip!("needs a disk that can be read directly") };
    let (contention, _) = on_the_last_cpu();
    let followed = contention.follow().expect("followed");
    let had =
        || cpu::scheduling(thread_id()).map(|account| account.on_cpu_ns + account.run_delay_ns).unwrap();
    let (begin, had_before) = (Instant::now(), had());
    disk.read_for(LONG);
    let absent = (begin.elapsed().as_nanos() as u64).saturating_sub(had() - had_before);
    // A sleep is counted at the next switch away from the thread.
    thread::sleep(Duration::from_millis(1));
    let account = followed.account().unwrap();
    println!("blocked {} of {absent} in which it neither ran nor waited", account.blocked_ns);
    if absent < LONG.as_nanos() as u64 / 10 {
        skip!("needs a disk that is slower than a CPU");
    }
    assert!(is_between(account.blocked_ns, absent, absent), "{account:?}");
}

/// Interrupts of devices so far, by CPU and as the kernel describes them: the last words are their handlers.
fn device_interrupts() -> Vec<(Vec<u64>, String)> {
    let text = fs::read_to_string("/proc/interrupts").unwrap();
    let cpus = text.lines().next().unwrap().split_whitespace().count();
    let row = |line: &str| {
        let (number, rest) = line.trim().split_once(':')?;
        number.parse::<u32>().ok()?;
        let counts = rest.split_whitespace().take(cpus).map(str::parse).collect::<Result<_, _>>().ok()?;
        Some((counts, rest.to_owned()))
    };
    text.lines().filter_map(row).collect()
}

#[test]
fn interrupts_of_a_device_have_its_name() {
    needs_root!();
    let Some(mut disk) = Disk::open() else { skip!("needs a disk that can be read directly") };
    let cpus = cpu::allowed().unwrap();
    // Where a disk has a queue for each CPU, its interrupts go to whoever reads.
    cpu::pin(cpus[0]).unwrap();
    let grown = |before: &[(Vec<u64>, String)]| {
        let after = device_interrupts().into_iter().zip(before);
        let by_cpu = after.flat_map(|((now, row), (then, _))| {
            let grown: Vec<u64> = now.iter().zip(then).map(|(now, then)| now.saturating_sub(*then)).collect();
            grown.into_iter().enumerate().map(move |(cpu, n)| (n, cpu, row.clone()))
        });
        by_cpu.max_by_key(|(n, ..)| *n).expect("interrupts")
    };
    let before = device_interrupts();
    disk.read_for(LONG / 4);
    let (n, on, row) = grown(&before);
    if n < 50 || !cpus.contains(&on) {
        skip!("needs a disk with interrupts");
    }
    let (account, n, longest) = thread::scope(|scope| {
        let followed = scope.spawn(|| {
            cpu::pin(on).unwrap();
            let contention = Contention::attach(ALL).unwrap();
            let followed = contention.follow().expect("followed");
            let before = device_interrupts();
            let reader = scope.spawn(|| {
                cpu::pin(cpus[0]).unwrap();
                disk.read_for(LONG);
            });
            let begin = Instant::now();
            while !reader.is_finished() {
                std::hint::spin_loop();
            }
            (followed.account().unwrap(), grown(&before).0, begin.elapsed())
        });
        followed.join().unwrap()
    });
    println!("{n} interrupts of {row} in {longest:?}: {:?}", account.interrupts);
    let is_it = |i: &&Interrupt| match &i.source {
        Holder::Interrupt { name } => !name.is_empty() && row.ends_with(name.as_str()),
        _ => false,
    };
    let disk = account.interrupts.iter().find(is_it).expect("named");
    let took = u128::from(disk.waiting_ns + disk.running_ns);
    assert!(took > 0 && took < longest.as_nanos());
}

/// In an emulator that runs one CPU after the other, each stands still while the other has work. On a machine that is never
/// stopped nothing is to be seen.
#[test]
fn a_machine_that_stands_still_has_a_hypervisor() {
    needs_root!();
    let cpus = cpu::allowed().unwrap();
    let (first, last) = (cpus[0], cpus[cpus.len() - 1]);
    let contention = Contention::attach(ALL).unwrap();
    cpu::pin(last).unwrap();
    let followed = contention.follow().expect("followed");
    let end = AtomicBool::new(false);
    let [still_ns, sure_ns] = thread::scope(|scope| {
        scope.spawn(|| {
            cpu::pin(first).unwrap();
            while !end.load(Relaxed) {
                std::hint::spin_loop();
            }
        });
        // The clock is read between two reads of what was waited, so that a part of the time lies within those around it.
        let (begin, mut still_ns, mut sure_ns) = (Instant::now(), 0, 0);
        let mut before_ns = monotonic_ns();
        let mut waited = [waited_ns(); 2];
        let unseen_ns = tick_ns() as u64 + LEAST_PAUSE_NS;
        while begin.elapsed() < 4 * LONG {
            let now_ns = monotonic_ns();
            let around = [waited[1], waited_ns()];
            let absent = (now_ns - before_ns).saturating_sub(around[1] - waited[0]);
            still_ns += if absent > LEAST_PAUSE_NS { absent } else { 0 };
            sure_ns += absent.saturating_sub(unseen_ns);
            (before_ns, waited) = (now_ns, around);
        }
        end.store(true, Relaxed);
        [still_ns, sure_ns]
    });
    let account = followed.account().unwrap();
    let seen_ns = account.stolen_waiting_ns + account.stolen_running_ns;
    println!("stood still for {still_ns}, {sure_ns} beyond ticks, and {seen_ns} were seen");
    if first != last && env::var_os("NETFATHOM_EMULATED").is_some() {
        assert!(still_ns > 0, "it never stood still");
        // A pause is seen from the tick on that was due.
        assert!(seen_ns >= sure_ns, "{seen_ns} of {sure_ns}");
    }
    let all = (4 * LONG).as_nanos() as u64;
    assert!(seen_ns <= still_ns + all / 5, "{seen_ns} of {still_ns}");
}

/// A cgroup of the CPU controller.
pub(crate) struct CpuGroup {
    group: Group,
    is_of_first_version: bool,
}

impl CpuGroup {
    /// `None` where no cgroup can be made.
    pub(crate) fn new(name: &str) -> Option<Self> {
        let first = Path::new("/sys/fs/cgroup/cpu");
        let is_of_first_version = first.join("cpu.cfs_quota_us").exists() || first.join("tasks").exists();
        let root = if is_of_first_version { first } else { Path::new("/sys/fs/cgroup") };
        let group = Group::below(root, &format!("{name}-{}", std::process::id()))?;
        Some(Self { group, is_of_first_version })
    }

    fn name(&self) -> String {
        self.group.path().file_name().unwrap().to_string_lossy().into_owned()
    }

    /// A twenty-fifth of a CPU for this thread: less than it has beside many others.
    pub(crate) fn limit(&self) -> Option<()> {
        self.limit_to(2000, 50_000)
    }

    pub(crate) fn limit_to(&self, quota_us: u64, period_us: u64) -> Option<()> {
        if self.is_of_first_version {
            self.group.set("cpu.cfs_period_us", period_us)?;
            self.group.set("cpu.cfs_quota_us", quota_us)?;
            self.group.set("tasks", thread_id())
        } else {
            self.group.set("cgroup.type", "threaded")?;
            self.group.set("cpu.max", format!("{quota_us} {period_us}"))?;
            self.group.set("cgroup.threads", thread_id())
        }
    }

    pub(crate) fn throttled_ns(&self) -> u64 {
        let text = fs::read_to_string(self.group.path().join("cpu.stat")).unwrap();
        let of = |name| text.lines().find_map(|line| line.strip_prefix(name)?.trim().parse::<u64>().ok());
        of("throttled_time ").or_else(|| of("throttled_usec ").map(|us| us * 1000)).unwrap()
    }
}

#[test]
fn a_quota_that_is_used_up_is_no_other_task() {
    needs_root!();
    let (contention, _) = on_the_last_cpu();
    let Some(quota) = CpuGroup::new("netfathom-quota").filter(|group| group.limit().is_some()) else {
        skip!("needs a cgroup with the CPU controller")
    };
    let followed = contention.follow().expect("followed");
    spin(Duration::from_millis(100));
    // The quota may stop this thread between any two of these, too.
    let look = || [quota.throttled_ns(), followed.account().unwrap().throttled_ns, quota.throttled_ns()];
    let first = look();
    spin(2 * LONG);
    let last = look();
    let (least, seen, most) = (last[0] - first[2], last[1] - first[1], last[2] - first[0]);
    println!("throttled {seen}, by the kernel {least} to {most}; {:?}", followed.account());
    assert!(least > LONG.as_nanos() as u64 / 4, "the quota stopped nothing");
    assert!(is_between(seen, least, most), "{seen} of {least} to {most}");
}

#[test]
fn packets_of_others_are_a_softirq() {
    /// To which /proc/stat rounds.
    const STAT_NS: u64 = 10_000_000;
    needs_root!();
    needs_times!();
    let (contention, last) = on_the_last_cpu();
    let followed = contention.follow().expect("followed");
    let (end, listener) = (AtomicBool::new(false), TcpListener::bind("127.0.0.1:0").unwrap());
    let mut sender = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    let (mut receiver, _) = listener.accept().unwrap();
    sender.set_nonblocking(true).unwrap();
    receiver.set_nonblocking(true).unwrap();
    let ran = || cpu::scheduling(thread_id()).unwrap().on_cpu_ns;
    let mut flood = || {
        cpu::pin(last).unwrap();
        let mut buffer = vec![0; 1 << 16];
        let before = ran();
        while !end.load(Relaxed) {
            let _ = (sender.write(&buffer[..1400]), receiver.read(&mut buffer));
        }
        ran() - before
    };
    let times = || cpu::processor_times(last).unwrap();
    netfathom_testkit::unless_disturbed(|| {
        let before = times();
        let ran_ns = thread::scope(|scope| {
            let flood = scope.spawn(&mut flood);
            spin(4 * LONG);
            end.store(true, Relaxed);
            flood.join().unwrap()
        });
        let (account, by_kernel) = (followed.account().unwrap(), times().since(&before));
        let of = |is: fn(&Holder) -> bool| {
            let of_it = account.interrupts.iter().filter(|i| is(&i.source));
            of_it.fold((0, 0), |sum, i| (sum.0 + i.waiting_ns, sum.1 + i.running_ns))
        };
        let packets = of(|source| matches!(source, Holder::Softirq { vector } if vector == "NET_RX"));
        let softirqs = of(|source| matches!(source, Holder::Softirq { .. }));
        let own = account.holders.iter().find(|held| held.by == Holder::Netfathom).expect("the flood").ns;
        println!("NET_RX {packets:?} of {softirqs:?}, by the kernel {by_kernel:?}; {own} of {ran_ns}");
        assert!(packets.0 * 10 > softirqs.0 * 9, "the flood is NET_RX");
        assert!(packets.0 * 10 > ran_ns, "{packets:?}");
        // What the kernel says that the thread ran includes the softirqs that interrupted it.
        // Packets of others come while others have the CPU.
        if !is_between(own + packets.0, ran_ns, ran_ns) {
            return Err(format!("{own} and {packets:?} of {ran_ns}"));
        }
        // Without CONFIG_IRQ_TIME_ACCOUNTING it counts softirqs by ticks, which slide into them from sections without
        // interrupts, and the programs are in its count. How many ticks hit a softirq has the variance of a binomial
        // distribution. The clock, unlike the ticks, also counts what the hypervisor takes from a softirq.
        let (all, counted) = (softirqs.0 + softirqs.1, by_kernel.softirq_ns);
        let missed = 1.0 - all as f64 / by_kernel.busy_ns() as f64;
        let spread = (all as f64 * missed * tick_ns() as f64).sqrt();
        let most = (counted + by_kernel.steal_ns + STAT_NS) as f64 + 4.0 * spread;
        assert!((all as f64) < most && all * 5 > counted * 2, "{all} of {by_kernel:?}, at most {most}");
        Ok(())
    });
}
