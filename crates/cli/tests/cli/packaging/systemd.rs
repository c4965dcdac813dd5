//! The unit of `netfathom watch`, as systemd reads it.

use super::*;

const UNIT: &str = include_str!("../../../../../packaging/systemd/netfathom-watch@.service");

fn value(key: &str) -> &'static str {
    UNIT.lines().find_map(|line| line.strip_prefix(key)).unwrap_or_else(|| panic!("no {key}"))
}

/// What `systemd-analyze` complains of in an instance of the unit, with another command: not in units of this host.
fn complaint(command: &str, name: &str) -> String {
    let dir = out();
    let unit = UNIT.replace(value("ExecStart="), command);
    fs::write(dir.path().join("netfathom-watch@.service"), unit).unwrap();
    let instance = dir.path().join(format!("netfathom-watch@{name}.service"));
    let verified = run(Command::new("systemd-analyze").args(["verify", "--man=no"]).arg(instance));
    verified.err.lines().filter(|line| line.contains("netfathom-watch@")).collect()
}

/// A word of the unit in an instance: systemd names the program that it does not find.
fn expanded(word: &str, name: &str) -> String {
    let complaint = complaint(&format!("/none/{word}"), name);
    let path = complaint.split(" /none/").nth(1).and_then(|rest| rest.split_once(" is not "));
    path.unwrap_or_else(|| panic!("{complaint}")).0.to_owned()
}

#[test]
fn systemd_takes_the_unit_of_watch() {
    needs_programs!(["systemd-analyze"], "systemd");
    let command = value("ExecStart=").replace("/usr/bin/netfathom", BINARY);
    assert_eq!(complaint(&command, "redis-server"), "");
}

#[test]
fn an_instance_watches_the_program_of_its_name_and_has_an_environment_of_its_own() {
    needs_programs!(["systemd-analyze"], "systemd");
    let target = value("ExecStart=").split_once("${DIRECTION} ").unwrap().1.split(' ').next().unwrap();
    let environment = value("EnvironmentFile=-/");
    for name in ["redis-server", "nginx"] {
        assert_eq!(expanded(target, name), name);
        assert_eq!(expanded(environment, name), format!("etc/netfathom/watch-{name}.env"));
    }
}

/// Systemd does not start it again.
#[test]
fn an_instance_with_a_pid_for_a_name_is_wrong_usage() {
    let dir = out();
    let command = value("ExecStart=").strip_prefix("/usr/bin/netfathom ").unwrap();
    // Beyond all PIDs that there can be.
    let command = command.replace("%i", "4194305").replace("${SERVE}", "127.0.0.1:0");
    let command = command.replace("${DIRECTION}", "rx").replace("$OPTIONS", "");
    let command = command.replace("${STATE_DIRECTORY}", dir.path().to_str().unwrap());
    let status = value("RestartPreventExitStatus=").parse().unwrap();
    refused_for(&mut netfathom(&command), status, &["--pid 4194305"]);
}
