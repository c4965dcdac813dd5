//! What only many hosts and many runs show. Each test takes minutes: `make bench` runs them, and puts the rows of tables
//! that they print into docs/benchmarks.md.

use std::fs;
use std::process::{Child, Command};
use std::thread;
use std::time::{Duration, Instant};

use netfathom_testkit::{Group, alone, needs_programs, needs_root, skip};

use super::{Fleet, lost, name, needs_fleet, result, status_kb, tc};
use crate::child::end_within;

const RUNS: usize = 20;
/// Hosts; one is slow.
const HOSTS: u8 = 24;
/// Far beyond what one run takes on a busy machine.
const HANGS: Duration = Duration::from_secs(240);

#[test]
#[ignore = "takes minutes: make bench runs it"]
fn a_host_with_a_limited_rate_is_named_and_no_host_without() {
    needs_root!();
    let plan = "throughput --peers 4 --time 150ms --no-explain";
    runs("limited to 200 Mb/s (tbf)", plan, |fleet, host| {
        tc(fleet, host, "qdisc add dev wire0 root tbf rate 200mbit burst 32k latency 50ms");
        Box::new(move |fleet| tc(fleet, host, "qdisc del dev wire0 root"))
    });
}

#[test]
#[ignore = "takes minutes: make bench runs it"]
fn a_host_that_loses_one_percent_is_named_and_no_host_without() {
    needs_root!();
    runs("that loses 1 % of packets, both ways", "loss --peers 4 --time 300ms --rate 3k", |fleet, host| {
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
#[ignore = "takes minutes: make bench runs it"]
fn a_host_with_a_cpu_quota_is_named_and_no_host_without() {
    needs_root!();
    let name = format!("netfathom-test-{}", std::process::id());
    let group = Group::below("/sys/fs/cgroup/cpu", &name);
    // 2.5 % of a CPU. It is gone after the agents in it.
    let limited = group.as_ref().and_then(|group| {
        group.set("cpu.cfs_period_us", 40_000)?;
        group.set("cpu.cfs_quota_us", 1000)
    });
    let Some((group, ())) = group.as_ref().zip(limited) else { skip!("needs cgroups of the first version") };
    runs("with 2.5 % of a CPU (cgroup)", "latency --peers 6 --time 300ms --rate 1k", |fleet, host| {
        group.set("cgroup.procs", fleet.agents[host].id()).unwrap();
        Box::new(move |fleet| group.set("../cgroup.procs", fleet.agents[host].id()).unwrap())
    });
}

type Undo<'a> = Box<dyn FnOnce(&Fleet) + 'a>;

/// Runs with a planted host and without one, in turn, and how often the right host is named, alone, or none.
fn runs<'a>(kind: &str, plan: &str, plant: impl Fn(&Fleet, usize) -> Undo<'a>) {
    needs_programs!(["nats-server"], "nats-server");
    let _alone = alone();
    let fleet = Fleet::start(HOSTS);
    let names = fleet.names(HOSTS);
    let (mut first, mut only, mut none) = (0, 0, 0);
    let began = Instant::now();
    for number in 0..RUNS {
        let uuid = fs::read_to_string("/proc/sys/kernel/random/uuid").unwrap();
        let host = usize::from(u8::from_str_radix(&uuid[..2], 16).unwrap() % HOSTS);
        let named = |into: &str| {
            let into = fleet.dir.path().join(format!("{into}-{number}"));
            let args = format!("fleet mesh {plan} --hosts {names}");
            let ended = end_within(fleet.start_into(&into, &args), HANGS);
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
    println!("{took:.1?} a run");
    let rated = |what: String, named| row("named", &[HOSTS.to_string(), what, RUNS.to_string(), named]);
    rated(format!("one {kind}; `mesh {plan}`"), format!("named first in {first}, alone in {only}"));
    rated("none, after each of these".into(), format!("none named in {none}"));
    assert!(first + 1 >= RUNS && none == RUNS);
}

#[test]
#[ignore = "takes minutes: make bench runs it"]
fn ten_of_forty_agents_that_are_killed_are_named_and_leave_nothing() {
    needs_root!();
    needs_programs!(["nats-server"], "nats-server");
    lost::killed(40, 10, HANGS);
    let what = "`mesh throughput`, ten random agents killed".to_owned();
    let result = "all ten named, PARTIAL, exit status 5, no process, socket or file left".to_owned();
    row("named", &["40".into(), what, "1".into(), result]);
}

#[test]
#[ignore = "takes minutes: make bench runs it"]
fn a_hundred_hosts_take_part() {
    needs_fleet!();
    for (hosts, plan, pairs) in [
        (100, "latency --peers 4 --time 300ms --rate 500", 200),
        (100, "latency --peers 4 --time 100ms --rate 500 --parallel 2", 200),
        (16, "latency --time 300ms", 120),
        (16, "throughput --time 300ms", 240),
    ] {
        let fleet = Fleet::start(hosts);
        let (names, into) = (fleet.names(hosts), fleet.dir.path().join("runs"));
        let began = Instant::now();
        let mut running = fleet.start_into(&into, &format!("fleet mesh {plan} --hosts {names}"));
        let controller = highest(&mut running);
        let ended = end_within(running, HANGS);
        let took = began.elapsed();
        let result = result(&into);
        println!("{hosts} hosts, {plan}: {ended}");
        let measured = result.measured().count();
        assert_eq!((result.hosts.len(), measured), (usize::from(hosts), pairs), "{ended}");
        let mut agents: Vec<_> = fleet.agents.iter().map(|agent| memory(agent.id())).collect();
        agents.sort_unstable();
        let start = result.start.expect("senders that start together");
        let time = |ns: u64| netfathom_model::print::time(ns as f64);
        let late = start.late_p99_ns.map(time).unwrap_or_default();
        let waited = start.waited.map(netfathom_model::print::percent).unwrap_or_default();
        let mb = |(most, own): (u64, u64)| format!("{} MB, its own {} MB", tenths(most), tenths(own));
        let cells = [
            hosts.to_string(),
            format!("`mesh {plan}`"),
            format!("{measured} of {pairs} pairs in {:.1} s", took.as_secs_f64()),
            format!("{}, {} at most", time(start.spread_p50_ns), time(start.spread_max_ns)),
            format!("{late}, {waited} of it waiting for a CPU"),
            start.bound_ns.map_or_else(|| "unknown".into(), |ns| format!("± {}", time(ns))),
            mb(controller),
            mb(agents[agents.len() / 2]),
        ];
        row("start", &cells);
    }
}

/// A row of a table of the page, with its name ahead, on a line of its own.
fn row(table: &str, cells: &[String]) {
    println!("\n{table} | {} |", cells.join(" | "));
}

fn tenths(kb: u64) -> f64 {
    (kb as f64 / 100.0).round() / 10.0
}

/// The memory of a process, looked at until it ends; its output is short.
fn highest(running: &mut Child) -> (u64, u64) {
    let mut most = (0, 0);
    while running.try_wait().unwrap().is_none() {
        most = most.max(memory(running.id()));
        thread::sleep(Duration::from_millis(50));
    }
    most
}

/// The most that a process had in memory, with the pages of its program, and what is its own now, in kB.
fn memory(pid: u32) -> (u64, u64) {
    let kb = |name| status_kb(pid, name).unwrap_or(0);
    (kb("VmHWM:"), kb("RssAnon:"))
}
