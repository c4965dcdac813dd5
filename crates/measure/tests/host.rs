//! The probe as root and without privilege: it never fails, gives a reason and a remedy for each
//! missing thing, and leaves nothing behind.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use netfathom_measure::ground::lab::Lab;
use netfathom_measure::kind::host::probe;
use netfathom_model::host::{HostReport, HostStatus, Topic};
use netfathom_model::path::Direction;
use netfathom_model::plan::Transport;
use netfathom_sys::capability::{Capability, effective};
use netfathom_sys::probe::effective_user;
use netfathom_testkit::{alone, needs, skip};

/// Set in the child that probes without privilege.
const UNPRIVILEGED: &str = "NETFATHOM_TEST_UNPRIVILEGED";

fn check(report: &HostReport) {
    assert!(!report.kernel.is_empty() && report.stack.starts_with("netfathom stack"), "{report:?}");
    assert_eq!(report.groups.iter().map(|g| g.topic).collect::<Vec<_>>(), Topic::ALL);
    for row in report.groups.iter().flat_map(|g| &g.rows) {
        assert!(!row.name.is_empty() && !row.detail.is_empty(), "{row:?}");
        if let Some((reason, remedy)) = row.status.shortcoming() {
            assert!(!reason.is_empty() && !remedy.is_empty(), "{row:?}");
            assert!(!format!("{reason}{remedy}").contains("os error"), "{row:?}");
        }
    }
}

fn status<'a>(report: &'a HostReport, topic: Topic, name: &str) -> &'a str {
    report.row(topic, name).unwrap_or_else(|| panic!("no row {name}")).status.name()
}

#[test]
fn everything_is_tried_and_undone() {
    let _turn = alone();
    let open = || std::fs::read_dir("/proc/self/fd").unwrap().count();
    // The first may leave what the standard library keeps.
    check(&probe());
    let before = open();
    (0..3).for_each(|_| check(&probe()));
    assert_eq!(open(), before);
}

/// What other ways show of this machine, the probe must show too.
#[test]
fn the_probe_agrees_with_others() {
    let _turn = alone();
    let report = probe();
    let held = effective().unwrap();
    for capability in Capability::ALL {
        let works = status(&report, Topic::Privileges, capability.name()) == "works";
        assert_eq!(works, held.contains(&capability), "{capability}");
    }
    assert_eq!(status(&report, Topic::Places, "lab, IPv4") == "works", Lab::create().is_ok());
    let bpf = netfathom_measure::tap::probe::bpf(
        netfathom_bpf::stack::Hooks::Tracepoints,
        Transport::Udp,
        &[Direction::Tx, Direction::Rx],
    )
    .is_ok();
    assert_eq!(status(&report, Topic::Taps, "bpf") == "works", bpf);
    // The tap stands on both, so it cannot work without them.
    for program in ["tp_btf", "raw_tp"] {
        assert!(!bpf || status(&report, Topic::Kernel, program) == "works", "{program}");
    }
}

/// Runs the test below as user 65534, without groups and capabilities.
#[test]
fn a_probe_without_privilege_names_what_is_missing() {
    let _turn = alone();
    needs!(effective_user() == 0, "to become another user needs root; the other tests ran without privilege");
    // Another user may not enter root's folders: the program goes where everyone may.
    let folder = tempfile::Builder::new().permissions(Permissions::from_mode(0o755)).tempdir().unwrap();
    let program = folder.path().join("program");
    netfathom_testkit::copy_program(std::env::current_exe().unwrap(), &program);
    let ran = Command::new("setpriv")
        .args(["--reuid", "65534", "--regid", "65534", "--clear-groups", "--no-new-privs", "--"])
        .arg(&program)
        .args(["--exact", "--ignored", "without_privilege", "--nocapture", "--test-threads=1"])
        .env(UNPRIVILEGED, "1")
        .current_dir("/")
        .output();
    let Ok(output) = ran else { skip!("there is no setpriv here (Debian package util-linux)") };
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{text}{}", String::from_utf8_lossy(&output.stderr));
    assert!(text.contains("unprivileged report"), "{text}");
}

/// Not a test of its own: `a_probe_without_privilege_names_what_is_missing` runs it.
#[test]
#[ignore = "run by a_probe_without_privilege_names_what_is_missing"]
fn without_privilege() {
    if std::env::var_os(UNPRIVILEGED).is_none() {
        return;
    }
    let report = probe();
    check(&report);
    let lacks = [
        (Topic::Taps, "bpf"),
        (Topic::Places, "lab, IPv4"),
        (Topic::Privileges, "CAP_BPF"),
        (Topic::Kernel, "packet socket"),
        (Topic::Kernel, "tcx"),
        (Topic::Kernel, "socket verdict"),
    ];
    lacks.iter().for_each(|(topic, name)| assert_eq!(status(&report, *topic, name), "missing", "{name}"));
    assert_eq!(status(&report, Topic::Places, "loopback, IPv4"), "works");
    assert_ne!(status(&report, Topic::Taps, "timestamping"), "missing");
    let root = &report.row(Topic::Privileges, "root").unwrap().status;
    assert!(matches!(root, HostStatus::Limited { reason, .. } if reason.contains("65534")), "{root:?}");
    println!("unprivileged report: {report:#?}");
}
