//! The same measurement on every host by itself, and what becomes of it when an agent or the controller goes.

use std::path::Path;

use netfathom_model::record::FleetResult;
use netfathom_model::verdict::Level;

use super::{Fleet, name, needs_fleet, result, until_recorded};
use crate::child::{kill, record};

const STACK: &str = "fleet stack --time 50ms --rate 1k --parallel 1";

/// Those that have measured. A host without the processor vouches for none of its figures.
fn judged(result: &FleetResult) -> Vec<String> {
    let judged = result.hosts.iter().filter(|host| host.verdict.is_some());
    judged.map(|host| host.name.clone()).collect()
}

fn names(number: u8) -> Vec<String> {
    (0..number).map(name).collect()
}

#[test]
fn a_stack_without_one_host_is_partial_and_a_resumed_one_measures_that_host_alone() {
    needs_fleet!();
    let mut fleet = Fleet::start(3);
    let (died, whole) = (fleet.dir.path().join("died"), fleet.dir.path().join("whole"));
    let listed = fleet.names(3);
    let running = fleet.start_into(&died, &format!("{STACK} --hosts {listed}"));
    until_recorded(&died, |so_far| !judged(so_far).is_empty());
    // The last one: its turn has not come.
    kill(&mut fleet.agents[2]);
    let ended = crate::child::end(running);
    let partial = result(&died);
    // Hosts without the processor vouch for nothing.
    let void = record(&died).unwrap().verdict.level == Level::Void;
    assert_eq!(ended.status, if void { 3 } else { 5 }, "{ended}");
    assert!(void || ended.out.starts_with("PARTIAL 2 of 3"), "{ended}");
    let missing: Vec<&str> = partial.hosts.iter().filter(|h| h.missing.is_some()).map(|h| &*h.name).collect();
    assert_eq!((judged(&partial), missing), (names(2), vec!["c02"]), "{ended}");

    fleet.add_agent(2, "", 3);
    goes_on(&fleet, &died, &whole, 3);
}

#[test]
fn a_stack_of_a_controller_that_died_is_resumed_and_what_it_had_is_kept() {
    needs_fleet!();
    let fleet = Fleet::start(2);
    let (died, whole) = (fleet.dir.path().join("died"), fleet.dir.path().join("whole"));
    let mut running = fleet.start_into(&died, STACK);
    until_recorded(&died, |so_far| !judged(so_far).is_empty());
    kill(&mut running);
    assert_eq!(judged(&result(&died)), names(1));
    goes_on(&fleet, &died, &whole, 2);
}

/// Resumes a run: all hosts are judged then, and those of before are the same.
fn goes_on(fleet: &Fleet, before: &Path, into: &Path, hosts: u8) {
    let known = result(before);
    let (ended, whole) = fleet.resume(before, into);
    let void = record(into).unwrap().verdict.level == Level::Void;
    assert_eq!((ended.status, judged(&whole)), (if void { 3 } else { 0 }, names(hosts)), "{ended}");
    assert!(whole.resumed_from.is_some() && whole.hosts.iter().all(|h| h.missing.is_none()), "{whole:#?}");
    for host in known.hosts.iter().filter(|host| host.verdict.is_some()) {
        let twin = whole.hosts.iter().find(|twin| twin.name == host.name).unwrap();
        assert_eq!(twin.verdict, host.verdict, "{}", host.name);
    }
    for figure in &known.figures {
        let twin = whole.figures.iter().find(|f| f.name == figure.name).unwrap();
        assert!(figure.hosts.iter().all(|(host, value)| twin.hosts[host] == *value), "{figure:?} {twin:?}");
    }
}
