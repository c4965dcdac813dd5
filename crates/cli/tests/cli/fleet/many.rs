//! What only many hosts and many runs show. Each test takes minutes; what they print stands in docs/fleet.md.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::thread;
use std::time::{Duration, Instant};

use netfathom_testkit::{alone, needs_root};

use super::{Fleet, has_nats, lost, name, result, tc};
use crate::child::end_within;

const RUNS: usize = 20;
/// Hosts; one is slow.
const HOSTS: u8 = 24;
/// Far beyond what one run takes on a busy machine.
const HANGS: Duration = Duration::from_secs(240);

#[test]
#[ignore = "takes minutes: what it prints stands in docs/fleet.md"]
fn a_host_with_a_limited_rate_is_named_and_no_host_without() {
    needs_root!();
    let plan = "throughput --peers 4 --time 150ms --no-explain";
    runs("rate", plan, |fleet, host| {
        tc(fleet, host, "qdisc add dev wire0 root tbf rate 200mbit burst 32k latency 50ms");
        Box::new(move |fleet| tc(fleet, host, "qdisc del dev wire0 root"))
    });
}

#[test]
#[ignore = "takes minutes: what it prints stands in docs/fleet.md"]
fn a_host_that_loses_one_percent_is_named_and_no_host_without() {
    needs_root!();
    runs("loss", "loss --peers 4 --time 300ms --rate 3k", |fleet, host| {
        // Of a random number of 32 bits the lowest hundredth goes to a class in which nothing is sent.
        const CHANCE: &str = "4,32 0 0 4294963256,37 1 0 42949672,6 0 0 4294967295,6 0 0 0";
        let port = format!("port{host}");
        for (on, device) in [(&fleet.star.hosts[host], "wire0"), (&fleet.star.hub, &*port)] {
            let tc = |args: &str, more: &[&str]| {
                let run = || Command::new("tc").args(args.split(' ')).args(more).output();
                let done = on.run(run).unwrap().unwrap();
                assert!(done.status.success(), "tc {args}: {}", String::from_utf8_lossy(&done.stderr));
            };
            tc(&format!("qdisc add dev {device} root handle 1: htb default 1"), &[]);
            for class in 1..=2 {
                let of = format!("dev {device} parent 1: classid 1:{class}");
                tc(&format!("class add {of} htb rate 10gbit quantum 60000"), &[]);
            }
            tc(&format!("qdisc add dev {device} parent 1:2 handle 2: blackhole"), &[]);
            tc(&format!("filter add dev {device} parent 1: bpf bytecode"), &[CHANCE, "flowid", "1:2"]);
        }
        Box::new(move |fleet| {
            tc(fleet, host, "qdisc del dev wire0 root");
            let args = ["qdisc", "del", "dev", &port, "root"];
            fleet.star.hub.run(|| Command::new("tc").args(args).status()).unwrap().unwrap();
        })
    });
}

#[test]
#[ignore = "takes minutes: what it prints stands in docs/fleet.md"]
fn a_host_with_a_cpu_quota_is_named_and_no_host_without() {
    needs_root!();
    let Some(group) = Group::with_quota() else {
        return netfathom_testkit::skipped("cli::fleet::many", "needs cgroups of the first version");
    };
    runs("quota", "latency --peers 6 --time 300ms --rate 1k", |fleet, host| {
        group.take(fleet.agents[host].id());
        let group = group.0.clone();
        Box::new(move |fleet| {
            fs::write(group.join("../cgroup.procs"), fleet.agents[host].id().to_string()).unwrap();
        })
    });
}

/// A cgroup that may use 2.5 % of a CPU. It is gone with the value, after the agents in it.
struct Group(PathBuf);

impl Group {
    fn with_quota() -> Option<Self> {
        let root = Path::new("/sys/fs/cgroup/cpu");
        root.join("cpu.cfs_quota_us").exists().then_some(())?;
        let group = Self(root.join(format!("netfathom-test-{}", std::process::id())));
        fs::create_dir(&group.0).ok()?;
        fs::write(group.0.join("cpu.cfs_period_us"), "40000").unwrap();
        fs::write(group.0.join("cpu.cfs_quota_us"), "1000").unwrap();
        Some(group)
    }

    fn take(&self, pid: u32) {
        fs::write(self.0.join("cgroup.procs"), pid.to_string()).unwrap();
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        for pid in fs::read_to_string(self.0.join("cgroup.procs")).unwrap_or_default().lines() {
            let _ = fs::write(self.0.join("../cgroup.procs"), pid);
        }
        let _ = fs::remove_dir(&self.0);
    }
}

type Undo<'a> = Box<dyn FnOnce(&Fleet) + 'a>;

/// Runs with a planted host and without one, in turn, and how often the right host is named, alone, or none.
fn runs<'a>(kind: &str, plan: &str, plant: impl Fn(&Fleet, usize) -> Undo<'a>) {
    if !has_nats("cli::fleet::many") {
        return;
    }
    let _alone = alone();
    let fleet = Fleet::start(HOSTS);
    let names = fleet.names(HOSTS);
    let (mut first, mut only, mut none) = (0, 0, 0);
    let began = Instant::now();
    for number in 0..RUNS {
        let host = usize::from(chance()[0] % HOSTS);
        let named = |into: &str| {
            let into = fleet.dir.path().join(format!("{into}-{number}"));
            let args = format!("fleet mesh {plan} --hosts {names} --out {}", into.display());
            let ended = end_within(fleet.start_command(&args), HANGS);
            let answer = ended.out.lines().next().unwrap_or_default();
            println!("{kind} {number}: status {}, {answer}{}", ended.status, ended.err);
            let result = result(&into);
            result.outliers().map(|effect| effect.host.clone()).collect::<Vec<_>>()
        };
        let undo = plant(&fleet, host);
        let planted = named("planted");
        undo(&fleet);
        let expected = name(host as u8);
        first += usize::from(planted.first() == Some(&expected));
        only += usize::from(planted == [expected.clone()]);
        let without = named("without");
        none += usize::from(without.is_empty());
        println!("{kind} {number}: {expected} planted, {planted:?} named; without, {without:?}");
    }
    let took = began.elapsed() / (2 * RUNS as u32);
    println!(
        "{kind}: named first {first} of {RUNS}, alone {only}; without, none named in {none} of {RUNS}; {took:.1?} a run"
    );
    assert!(first + 1 >= RUNS && none == RUNS);
}

fn chance() -> Vec<u8> {
    let text = fs::read_to_string("/proc/sys/kernel/random/uuid").unwrap();
    text.as_bytes()
        .chunks(2)
        .filter_map(|two| u8::from_str_radix(str::from_utf8(two).ok()?, 16).ok())
        .collect()
}

#[test]
#[ignore = "takes minutes: what it prints stands in docs/fleet.md"]
fn ten_of_forty_agents_that_are_killed_are_named_and_leave_nothing() {
    needs_root!();
    if has_nats("cli::fleet::many::ten_of_forty_agents_that_are_killed_are_named_and_leave_nothing") {
        lost::killed(40, 10, HANGS);
    }
}

#[test]
#[ignore = "takes minutes: what it prints stands in docs/fleet.md"]
fn a_hundred_hosts_take_part() {
    needs_root!();
    if !has_nats("cli::fleet::many::a_hundred_hosts_take_part") {
        return;
    }
    let _alone = alone();
    for (hosts, plan, pairs) in [
        (100, "latency --peers 4 --time 300ms --rate 500", 200),
        (16, "latency --time 300ms", 120),
        (16, "throughput --time 300ms", 240),
    ] {
        let fleet = Fleet::start(hosts);
        let (names, into) = (fleet.names(hosts), fleet.dir.path().join("runs"));
        let began = Instant::now();
        let args = format!("fleet mesh {plan} --hosts {names} --out {}", into.display());
        let mut running = fleet.start_command(&args);
        let most = highest(&mut running);
        let ended = end_within(running, HANGS);
        let took = began.elapsed();
        let result = result(&into);
        println!("{hosts} hosts, {plan}: status {}, {took:.1?}\n{}", ended.status, ended.out);
        println!("start: {:?}", result.start);
        println!("controller: {most}");
        let mut agents: Vec<String> = fleet.agents.iter().map(|agent| memory(agent.id())).collect();
        agents.sort();
        println!("agents: {} in the median, {} at most", agents[agents.len() / 2], agents[agents.len() - 1]);
        assert_eq!(
            (result.hosts.len(), result.measured().count()),
            (usize::from(hosts), pairs),
            "{}",
            ended.err
        );
    }
}

/// The memory of a process, looked at until it ends; its output is short.
fn highest(running: &mut Child) -> String {
    let mut most = String::new();
    while running.try_wait().unwrap().is_none() {
        let now = memory(running.id());
        if !now.is_empty() {
            most = now;
        }
        thread::sleep(Duration::from_millis(50));
    }
    most
}

/// The most that a process had in memory, with the pages of its program, and what is its own now.
fn memory(pid: u32) -> String {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let lines = status.lines().filter(|line| line.starts_with("VmHWM") || line.starts_with("RssAnon"));
    lines.map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect::<Vec<_>>().join(", ")
}
