//! What goes away in the middle of a mesh: agents, by chance, and the NATS server.

use std::collections::BTreeSet;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use netfathom_model::random::SplitMix64;
use netfathom_model::record::FleetResult;
use netfathom_testkit::{alone, needs_programs, needs_root};

use super::{Fleet, name, needs_fleet, result, serve, temporary, until_recorded};
use crate::child::{end, end_within, kill, only_run, until_holds};

/// Processes in the network namespace of a host.
fn processes(fleet: &Fleet, place: usize) -> Vec<u32> {
    let inode = |path: &str| Some(std::fs::metadata(path).ok()?.ino());
    let own = fleet.star.hosts[place].run(|| inode("/proc/thread-self/ns/net")).unwrap();
    let pids = std::fs::read_dir("/proc").unwrap().filter_map(|e| e.ok()?.file_name().to_str()?.parse().ok());
    pids.filter(|pid| inode(&format!("/proc/{pid}/ns/net")) == own).collect()
}

/// Sockets of a host that wait for someone: of TCP in state LISTEN, of UDP all.
fn waiting(fleet: &Fleet, place: usize) -> usize {
    let read = |name: &str| std::fs::read_to_string(format!("/proc/thread-self/net/{name}")).unwrap();
    let (tcp, udp) = fleet.star.hosts[place].run(|| (read("tcp"), read("udp"))).unwrap();
    let listens = |line: &&str| line.split_whitespace().nth(3) == Some("0A");
    tcp.lines().filter(listens).count() + udp.lines().skip(1).count()
}

/// Named network namespaces, and what agents have in the directory for temporary files.
fn places() -> BTreeSet<PathBuf> {
    let all = [Path::new("/run/netns"), &temporary()].map(std::fs::read_dir);
    all.into_iter().flatten().flatten().map(|e| e.unwrap().path()).collect()
}

#[test]
fn a_quarter_of_the_agents_that_is_killed_is_named_and_leaves_nothing() {
    needs_root!();
    needs_programs!(["nats-server"], "nats-server");
    killed(12, 3, Duration::from_secs(60));
}

/// Kills some of the agents in the middle of a mesh, and looks for them in the result and on their hosts.
pub(super) fn killed(hosts: u8, number: u8, within: Duration) {
    let _alone = alone();
    let seed = std::fs::read("/proc/sys/kernel/random/uuid").unwrap();
    let mut random =
        SplitMix64::new(seed.iter().fold(0_u64, |all, &byte| all.rotate_left(7) ^ u64::from(byte)));
    let mut order: Vec<u8> = (0..hosts).collect();
    random.shuffle(&mut order);
    let mut chosen = order[..usize::from(number)].to_vec();
    chosen.sort_unstable();
    eprintln!("seed {}: {chosen:?} are killed", String::from_utf8_lossy(&seed).trim());

    let before = places();
    let mut fleet = Fleet::start(hosts);
    // One of the list has no agent at all.
    let (names, into) = (fleet.names(hosts + 1), fleet.dir.path().join("killed"));
    let running = fleet.start_into(&into, &format!("fleet mesh throughput --time 200ms --hosts {names}"));
    until_recorded(&into, |so_far| so_far.pairs.len() >= 2 * usize::from(hosts / 2));
    for &place in &chosen {
        kill(&mut fleet.agents[usize::from(place)]);
    }
    let ended = end_within(running, within).exited(5);
    let result = result(&into);
    let there = hosts - number;
    assert!(ended.out.starts_with(&format!("PARTIAL {there} of {}", hosts + 1)), "{ended}");
    let report = std::fs::read_to_string(only_run(&into).join("report.html")).unwrap();
    assert!(report.contains(&format!("<strong>PARTIAL {there} of {}</strong>", hosts + 1)));
    let missing: Vec<&str> = result.hosts.iter().filter(|h| h.missing.is_some()).map(|h| &*h.name).collect();
    let killed: Vec<String> = chosen.iter().map(|&place| name(place)).collect();
    assert_eq!(missing, [killed.clone(), vec![name(hosts)]].concat(), "{ended}");
    let absent = killed.iter().map(|name| format!("{name} (its agent "));
    absent.chain([format!("{} (no agent", name(hosts))]).fold(ended, |ended, part| ended.shows(&[&part]));
    // Whoever is there has all its pairs with the others.
    let is_there = |name: &String| !killed.contains(name);
    let among = result.measured().filter(|p| is_there(&p.from) && is_there(&p.to)).count();
    assert_eq!(among, usize::from(there) * usize::from(there - 1), "{:#?}", result.pairs);

    for place in 0..usize::from(hosts) {
        let agent = fleet.agents[place].id();
        let expected = if chosen.contains(&(place as u8)) { vec![] } else { vec![agent] };
        assert_eq!(processes(&fleet, place), expected, "{}", name(place as u8));
        until_holds("an agent without tasks", || waiting(&fleet, place) == 0);
    }
    drop(fleet);
    assert_eq!(places(), before);
}

#[test]
fn a_run_outlives_a_server_that_is_started_anew() {
    needs_fleet!();
    let mut fleet = Fleet::start(4);
    let (into, whole) = (fleet.dir.path().join("cut"), fleet.dir.path().join("whole"));
    let running = fleet.start_into(&into, "fleet mesh throughput --time 1s");
    until_recorded(&into, |so_far| so_far.pairs.len() >= 2);
    // Receivers of the round that has begun.
    let busy = |fleet: &Fleet| (0..4).map(|place| waiting(fleet, place)).sum::<usize>() > 0;
    until_holds("the next round", || busy(&fleet));
    kill(&mut fleet.server);
    thread::sleep(Duration::from_millis(1500));
    fleet.server = serve(&fleet.star);
    let ended = end(running).exited(5);
    let result = result(&into);
    let measured = result.measured().count();
    assert!(ended.out.starts_with(&format!("PARTIAL {measured} of 12")), "{ended}");
    ended.shows(&["the NATS server nats://10.78.0.254:4222 was away"]);
    assert!(result.hosts.iter().all(|host| host.missing.is_none()), "{:#?}", result.hosts);
    // All but what was under way.
    assert!(result.pairs.len() == 12 && (8..12).contains(&measured), "{measured}: {:#?}", result.pairs);

    let (ended, resumed) = fleet.resume(&into, &whole);
    assert_eq!((ended.status, resumed.measured().count()), (0, 12), "{ended}");
}

#[test]
fn a_load_goes_on_without_a_sender_and_is_resumed_where_that_was_lost() {
    needs_fleet!();
    let mut fleet = Fleet::start(3);
    let (into, whole) = (fleet.dir.path().join("lost"), fleet.dir.path().join("whole"));
    let running = fleet.start_into(&into, "fleet load --to c00 --rate 200,400,600 --time 1s");
    until_recorded(&into, |so_far| so_far.pairs.len() >= 2);
    kill(&mut fleet.agents[2]);
    let ended = end(running).exited(5);
    let lost = result(&into);
    let senders = |result: &FleetResult| result.steps.iter().map(|step| step.senders).collect::<Vec<_>>();
    assert!(ended.out.starts_with("PARTIAL 2 of 3  c00 sustains at least"), "{ended}");
    assert_eq!(senders(&lost), [2, 1, 1], "{ended}");
    assert_eq!(lost.steps.iter().map(|step| step.failed.len()).collect::<Vec<_>>(), [0, 1, 0]);

    fleet.add_agent(2, "", 3);
    let (ended, resumed) = fleet.resume(&into, &whole);
    assert_eq!((ended.status, senders(&resumed)), (0, vec![2, 2, 2]), "{ended}");
    let first = |result: &FleetResult| (result.steps[0].sent, result.steps[0].lag_p99_ns);
    assert_eq!(first(&resumed), first(&lost));
}
