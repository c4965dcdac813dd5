//! TEMPORARY: a fleet for a script.
use std::process::Command;

use super::{Fleet, Star};
use netfathom_testkit::alone;

#[test]
#[ignore = "explore"]
fn explore() {
    let hosts: u8 = std::env::var("NF_HOSTS").unwrap().parse().unwrap();
    let _alone = alone();
    let fleet = Fleet::start(hosts);
    let pids: Vec<String> = fleet.agents.iter().map(|a| a.id().to_string()).collect();
    let mut command = Command::new("/bin/bash");
    command.arg(std::env::var("NF_SCRIPT").unwrap()).env("PIDS", pids.join(" ")).env("DIR", fleet.dir.path());
    command.env("NF", env!("CARGO_BIN_EXE_netfathom"));
    let status = Star::spawn(&fleet.star.hub, &mut command).wait().unwrap();
    println!("{status}");
}
