//! Fleets of network namespaces: each a host with an agent, a NATS server at the switch between them.

mod hostile;
mod lost;
mod manifest;
mod many;
mod single;
mod ways;

use std::collections::BTreeMap;
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use netfathom_model::record::{FleetResult, Measured};
use netfathom_testkit::{Star, ip, nearly, test_name, unless_disturbed_beside};
use tempfile::TempDir;

use crate::child::{Ended, end, kill, netfathom, only_run, out, record, run, start_on, until, until_holds};

/// Far beyond what joining takes on a busy machine.
const JOINS: Duration = Duration::from_secs(20);
const PORT: u16 = 4222;
const URL: &str = "nats://10.78.0.254:4222";

/// Ends a test where there can be no fleet, and keeps the others waiting.
macro_rules! needs_fleet {
    () => {
        netfathom_testkit::needs_root!();
        netfathom_testkit::needs_programs!(["nats-server"], "nats-server");
        let _alone = netfathom_testkit::alone();
    };
}
use needs_fleet;

/// Hosts with agents. All of it is gone with this value.
struct Fleet {
    star: Star,
    server: Child,
    agents: Vec<Child>,
    dir: TempDir,
}

impl Fleet {
    fn start(hosts: u8) -> Self {
        let (star, dir) = (Star::create(hosts), out());
        let server = serve(&star);
        let agents = (0..hosts).map(|place| agent(&star, place, "")).collect();
        let fleet = Self { star, server, agents, dir };
        fleet.await_hosts(hosts);
        fleet
    }

    /// Waits until the first hosts answer, up to this number.
    fn await_hosts(&self, hosts: u8) {
        let names = self.names(hosts);
        let all = || (self.run(&format!("fleet hosts --hosts {names}")).status == 0).then_some(());
        until("the hosts", all);
    }

    /// Starts one more agent, and waits until this number of hosts answer.
    fn add_agent(&mut self, place: u8, more: &str, hosts: u8) {
        self.agents.push(agent(&self.star, place, more));
        self.await_hosts(hosts);
    }

    /// A file with the names of hosts.
    fn names(&self, hosts: u8) -> String {
        let path = self.dir.path().join(format!("hosts-{hosts}"));
        let names: Vec<String> = (0..hosts).map(name).collect();
        std::fs::write(&path, names.join("\n")).unwrap();
        path.display().to_string()
    }

    fn command(&self, args: &str) -> Command {
        let mut command = netfathom(&format!("{args} --nats {URL} --plaintext"));
        command.current_dir(self.dir.path());
        command
    }

    fn start_command(&self, args: &str) -> Child {
        start_on(&self.star.hub, &mut self.command(args))
    }

    /// The same, with its run in that directory.
    fn start_into(&self, into: &Path, args: &str) -> Child {
        self.start_command(&format!("{args} --out {}", into.display()))
    }

    fn run(&self, args: &str) -> Ended {
        end(self.start_command(args))
    }

    /// Resumes the only run of a directory in another one.
    fn resume(&self, of: &Path, into: &Path) -> (Ended, FleetResult) {
        let ended = end(self.start_into(into, &format!("fleet resume {}", only_run(of).display())));
        (ended, result(into))
    }

    /// A measurement in a directory of its own, and what came of it.
    fn measure(&self, args: &str, into: &str) -> (Ended, FleetResult) {
        let into = self.dir.path().join(into);
        let ended = end(self.start_into(&into, args));
        let result = result(&into);
        (ended, result)
    }
}

fn result(runs: &Path) -> FleetResult {
    FleetResult::of(&record(runs).expect("a record").measurement).expect("a fleet").clone()
}

/// Waits until the record of a run that goes on has as much.
fn until_recorded(into: &Path, is_enough: impl Fn(&FleetResult) -> bool) {
    std::fs::create_dir_all(into).unwrap();
    until("the record", || is_enough(FleetResult::of(&record(into)?.measurement)?).then_some(()));
}

impl Drop for Fleet {
    fn drop(&mut self) {
        for child in self.agents.iter_mut().chain([&mut self.server]) {
            let _ = child.kill();
            let _ = child.wait();
        }
        // Unless something was left in it.
        let _ = std::fs::remove_dir(temporary());
    }
}

fn name(place: u8) -> String {
    format!("c{place:02}")
}

fn serve(star: &Star) -> Child {
    let mut command = Command::new("nats-server");
    command.args(["-a", "10.78.0.254", "-p", &PORT.to_string()]).stdout(Stdio::null()).stderr(Stdio::null());
    let server = Star::spawn(&star.hub, &mut command);
    let until = Instant::now() + JOINS;
    while star.hub.run(|| TcpStream::connect((Star::hub_address(), PORT))).unwrap().is_err() {
        assert!(Instant::now() < until, "nats-server does not start");
        thread::sleep(Duration::from_millis(20));
    }
    server
}

/// Where agents of this process make temporary files: others measure on this machine too.
fn temporary() -> PathBuf {
    std::env::temp_dir().join(format!("netfathom-agents-{}", std::process::id()))
}

fn agent(star: &Star, place: u8, more: &str) -> Child {
    let args = format!("agent --quiet --plaintext --nats {URL} --name {} --label rack=a {more}", name(place));
    let mut command = netfathom(&args);
    std::fs::create_dir_all(temporary()).unwrap();
    command.env("TMPDIR", temporary());
    Star::spawn(&star.hosts[usize::from(place)], command.stdout(Stdio::null()).stderr(Stdio::null()))
}

#[test]
fn a_host_with_a_slow_wire_is_named_first_and_alone() {
    needs_fleet!();
    let fleet = Fleet::start(5);
    // What the kernel itself lets through: a truth that the transfers do not know of.
    tc(&fleet, 3, "qdisc add dev wire0 root tbf rate 40mbit burst 32k latency 50ms");
    let bad = fleet.dir.path().join("bad");
    let args = format!("fleet mesh throughput --time 300ms --bad-hosts {}", bad.display());
    let (ended, result) = fleet.measure(&args, "slow");
    assert_eq!(ended.status, 0, "{ended}");
    assert_eq!((result.planned_pairs, result.measured().count(), result.hosts.len()), (20, 20, 5));
    assert_eq!(std::fs::read_to_string(bad).unwrap(), "c03\n", "{:#?}", result.effects);
    assert!(ended.out.lines().next().unwrap().contains("c03 is slow"), "{ended}");
    let slow = result.pairs.iter().filter(|pair| pair.from == "c03");
    assert!(slow.clone().count() == 4 && slow.into_iter().all(|p| p.bytes_per_s.unwrap() * 8.0 < 60e6));
    let start = result.start.expect("senders that start together");
    assert!(start.bound_ns.is_some_and(|ns| ns > 0) && start.rounds == 10, "{start:?}");

    exported(&fleet.dir.path().join("slow"), &result);

    // The same hosts lose, or do not.
    let (ended, result) = fleet.measure("fleet mesh latency --time 300ms --rate 500", "even");
    assert_eq!((ended.status, result.measured().count(), result.planned_pairs), (0, 10, 10), "{ended}");
    let merged = result.merged.unwrap();
    assert_eq!(merged.n, result.pairs.iter().map(|p| p.round_trip.as_ref().unwrap().n).sum::<u64>());
    assert!(merged.n > 1000);
    tc(&fleet, 3, "qdisc del dev wire0 root");
    let programs: Vec<u32> = fleet.agents.iter().chain([&fleet.server]).map(Child::id).collect();
    unless_disturbed_beside(&programs, || {
        let (ended, result) = fleet.measure("fleet load --to c00 --rate 2k,4k --time 300ms", "load");
        assert_eq!(ended.status, 0, "{ended}");
        let step = &result.steps[0];
        assert_eq!((step.senders, step.planned, step.delivered), (4, 600, step.sent), "{result:#?}");
        // A sender that has no CPU at the end leaves out its last messages.
        nearly(step.sent, 600).then_some(()).ok_or_else(|| format!("{result:#?}"))
    });
}

/// The reference parser of OpenMetrics finds each pair and each host.
fn exported(runs: &Path, result: &FleetResult) {
    const SCRIPT: &str = "\
import json, sys
from prometheus_client.openmetrics.parser import text_string_to_metric_families as parse
print(json.dumps({s.labels['quantity']: s.value for f in parse(sys.stdin.read()) for s in f.samples if 'quantity' in s.labels}))";
    let Some(python) = netfathom_testkit::python(test_name!(), env!("CARGO_TARGET_TMPDIR")) else { return };
    let file = runs.join("metrics");
    let text = run(&mut netfathom(&format!("export --to openmetrics --all {}", only_run(runs).display())));
    std::fs::write(&file, text.exited(0).out).unwrap();
    let mut parse = Command::new(python);
    let parsed = run(parse.args(["-c", SCRIPT]).stdin(std::fs::File::open(file).unwrap()));
    let values: BTreeMap<String, f64> = parsed.json();
    for pair in &result.pairs {
        assert_eq!(values[&format!("pair.{}.{}", pair.from, pair.to)], pair.bytes_per_s.unwrap());
    }
    for effect in &result.effects {
        assert_eq!(values[&format!("host.{}", effect.host)], effect.ratio);
    }
    assert_eq!((values.len(), result.effects.len()), (2 + 20 + 5, 5), "{values:?}");
}

/// A line of /proc/PID/status in kB; `None` of a process that has ended.
fn status_kb(pid: u32, name: &str) -> Option<u64> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    status.lines().find_map(|line| line.strip_prefix(name))?.split_whitespace().next()?.parse().ok()
}

fn tc(fleet: &Fleet, place: usize, args: &str) {
    let command = || Command::new("tc").args(args.split_whitespace()).output();
    let done = fleet.star.hosts[place].run(command).unwrap().unwrap();
    assert!(done.status.success(), "tc {args}: {}", String::from_utf8_lossy(&done.stderr));
}

#[test]
fn a_load_shows_where_its_messages_spend_their_time_at_the_receiver() {
    needs_fleet!();
    let mut fleet = Fleet::start(2);
    let load = "fleet load --to c00 --time 1s --instances 2";
    let (ended, result) = fleet.measure(&format!("{load} --rate 1k,2k"), "stages");
    for step in &result.steps {
        assert_eq!((step.senders, &step.unseen), (2, &None), "{ended}");
        let received = step.received.as_ref().unwrap();
        let account = received.account.unwrap();
        let why = format!("{account:?}, {} delivered", step.delivered);
        assert_eq!(
            (account.seen, account.timed, account.unread()),
            (received.seen, received.timed, 0),
            "{why}"
        );
        // Of one of two senders, with what it sends before its load; without what no program sees. A busy CPU may have its
        // reader take a message before its stamp is seen, or leave more than are followed.
        let late = account.unstamped + account.crowded;
        let part = (received.timed + late) as f64 / (step.delivered / 2) as f64;
        assert!((0.95..1.05).contains(&part) && 2 * received.timed > received.seen, "{why}");
        let sum: i64 = received.stages.iter().map(|stage| stage.times.sum_ns).sum();
        assert_eq!(sum, received.total.sum_ns);
    }
    assert!(ended.out.contains("Time to receive: link layer"), "{ended}");
    // Its limit is of all that it sends.
    kill(&mut fleet.agents[1]);
    fleet.add_agent(1, "--max-rate 1k", 2);
    let (refused, _) = fleet.measure(&format!("{load} --rate 1500"), "limited");
    let why = "beside the 750/s that it sends is not within its --max-rate 1.00k/s";
    refused.shows(&[why]);
}

#[test]
fn load_ends_with_its_controller_and_a_run_with_its_server() {
    needs_fleet!();
    let mut fleet = Fleet::start(2);
    let sent = |fleet: &Fleet| {
        let read = || std::fs::read_to_string("/proc/thread-self/net/dev").unwrap();
        let text = fleet.star.hosts[1].run(read).unwrap() + &fleet.star.hosts[0].run(read).unwrap();
        let bytes = text.lines().filter(|line| line.contains("wire0:"));
        bytes.map(|line| line.split_whitespace().nth(9).unwrap().parse::<u64>().unwrap()).sum::<u64>()
    };
    let until_load = |fleet: &Fleet| {
        let idle = sent(fleet);
        until_holds("load", || sent(fleet) >= idle + 50_000_000);
    };
    let into = fleet.dir.path().join("abandoned");
    let mut running = fleet.start_into(&into, "fleet mesh throughput --time 20s");
    until_load(&fleet);
    kill(&mut running);
    thread::sleep(Duration::from_millis(1500));
    let before = sent(&fleet);
    thread::sleep(Duration::from_millis(500));
    // Signs of life of the NATS client, and no load.
    assert!(sent(&fleet) < before + 100_000, "the load goes on without a controller");
    assert!(only_run(&into).is_dir(), "what was there is kept");

    // The agents are free again; the server goes in the middle of what they do next.
    let into = fleet.dir.path().join("cut");
    let running = fleet.start_into(&into, "fleet mesh throughput --time 8s");
    until_load(&fleet);
    kill(&mut fleet.server);
    let ended = end(running).exited(5);
    assert!(ended.out.starts_with("PARTIAL") && ended.out.contains("is gone"), "{ended}");
}

#[test]
fn a_run_of_a_controller_that_died_is_resumed_and_what_it_had_is_kept() {
    needs_fleet!();
    let mut fleet = Fleet::start(4);
    let [died, resumed, finished] = ["died", "resumed", "whole"].map(|name| fleet.dir.path().join(name));
    let mut running = fleet.start_into(&died, "fleet mesh throughput --time 600ms");
    until_recorded(&died, |so_far| so_far.pairs.len() >= 4);
    kill(&mut running);
    let before = result(&died);
    assert!(before.planned_pairs == 12 && before.pairs.len() < 12, "{before:#?}");

    // One of the hosts has gone too. What it had measured stays.
    kill(&mut fleet.agents[3]);
    let same = |kept: &FleetResult, of: &FleetResult| {
        kept.measured().all(|pair| {
            let twin = of.pairs.iter().find(|p| (&p.from, &p.to) == (&pair.from, &pair.to)).unwrap();
            (twin.bytes_per_s, twin.round, twin.late_ns) == (pair.bytes_per_s, pair.round, pair.late_ns)
        })
    };
    let (ended, partial) = fleet.resume(&died, &resumed);
    assert_eq!(ended.status, 5, "{ended}");
    assert!(same(&before, &partial), "{before:#?}\n{partial:#?}");
    assert_eq!((partial.planned_pairs, partial.pairs.len()), (12, 12));
    let with_c03 =
        |result: &FleetResult| result.measured().filter(|p| p.from == "c03" || p.to == "c03").count();
    assert_eq!(with_c03(&partial), with_c03(&before));
    assert_eq!(partial.measured().count(), 6 + with_c03(&before));

    // It is back: the rest of its pairs is measured, and no other.
    fleet.add_agent(3, "", 4);
    let (ended, whole) = fleet.resume(&resumed, &finished);
    assert_eq!((ended.status, whole.measured().count(), whole.planned_pairs), (0, 12, 12), "{ended}");
    assert!(same(&partial, &whole) && whole.cut.is_none(), "{whole:#?}");
    let again = fleet.run(&format!("fleet resume {}", only_run(&finished).display()));
    again.exited(1).explains(&["nothing is missing"]);
}

#[test]
fn an_agent_keeps_its_limits_and_is_not_redirected() {
    needs_fleet!();
    let mut fleet = Fleet::start(1);
    fleet.agents.push(agent(&fleet.star, 0, "--max-time 200ms"));
    let twin = end(fleet.agents.pop().unwrap());
    assert_ne!(twin.status, 0, "a second agent of the same name");
    fleet.run("fleet mesh throughput").exited(1).explains(&["it takes two"]);
    let clear = end(start_on(&fleet.star.hub, &mut netfathom(&format!("fleet hosts --nats {URL}"))));
    assert!(clear.status == 2 && clear.err.contains("in the clear"), "{clear}");
    ip(&fleet.star.hosts[0], "link show lo");
}
