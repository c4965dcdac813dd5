//! The probe never fails, gives a reason and a remedy for each missing thing, and leaves nothing behind. The tests of the
//! binary have it without privilege.

use netfathom_measure::ground::lab::Lab;
use netfathom_measure::kind::host::probe;
use netfathom_model::host::{HostReport, Topic};
use netfathom_model::path::Direction;
use netfathom_model::plan::Transport;
use netfathom_sys::capability::{Capability, effective};
use netfathom_testkit::alone;

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
