//! The table of `netfathom host`, over a constructed report.

use netfathom_model::host::{HostGroup, HostReport, HostRow, HostStatus, Topic};
use netfathom_results::{draw, story};

fn row(name: &str, detail: &str, status: HostStatus) -> HostRow {
    HostRow { name: name.into(), status, detail: detail.into() }
}

fn report() -> HostReport {
    let limited = HostStatus::Limited {
        reason: "a hypervisor shares the CPUs with others: their work shows as outliers".into(),
        remedy: "measure on bare metal, or on processors reserved for this machine".into(),
    };
    let missing = HostStatus::Missing {
        reason: "cannot load: Operation not permitted".into(),
        remedy: "use a kernel that allows it to root, as distributions' do; netfathom measures without it"
            .into(),
    };
    let group = |topic, rows| HostGroup { topic, rows };
    HostReport {
        kernel: "6.12.48 #1 SMP".into(),
        cpu_model: "Example Processor 9000".into(),
        stack: "netfathom stack measures in a lab, with the bpf tap: every stage, both directions".into(),
        groups: vec![
            group(
                Topic::Taps,
                vec![
                    row(
                        "bpf",
                        "tracepoint programs: every stage, both directions, summed in the kernel",
                        HostStatus::Works,
                    ),
                    row("timestamping", "SO_TIMESTAMPING", HostStatus::Works),
                ],
            ),
            group(Topic::Kernel, vec![row("fentry", "entries of kernel functions; optional", missing)]),
            group(Topic::Processors, vec![row("hypervisor", "compare ratios and orders", limited)]),
        ],
    }
}

#[test]
fn eighty_columns_of_host() {
    insta::assert_snapshot!(draw::terminal(&story::host::of(&report()), 80, false));
}

#[test]
fn neighbors_that_lack_the_same_share_a_line_of_the_short_view() {
    let mut report = report();
    let fentry = report.groups[1].rows[0].clone();
    for name in ["CAP_BPF", "CAP_PERFMON"] {
        report.groups[1].rows.push(HostRow { name: name.into(), ..fentry.clone() });
    }
    let short = draw::short(&story::host::of(&report), 200, false);
    assert!(
        short.contains("(cannot load: Operation not permitted); the same for CAP_BPF, CAP_PERFMON\n"),
        "{short}"
    );
    assert_eq!(short.matches("  missing ").count(), 1, "{short}");
    // The whole has a row each.
    let whole = draw::terminal(&story::host::of(&report), 200, false);
    assert!(whole.contains("\n  CAP_PERFMON "), "{whole}");
}

#[test]
fn no_line_of_host_is_wider_than_the_page() {
    for width in [0, 80, 100, 200] {
        let text = draw::terminal(&story::host::of(&report()), width, false);
        assert!(text.lines().all(|l| l.chars().count() <= width.max(80)), "{width}: {text}");
    }
}

#[test]
fn host_has_escapes_with_color_only() {
    let mut hostile = report();
    hostile.groups[0].rows[0].name = "\x1b[2Jbpf\n".into();
    hostile.stack = "\x1b[2J".into();
    assert!(
        !draw::terminal(&story::host::of(&hostile), 80, false)
            .contains(|c: char| c.is_control() && c != '\n')
    );
    assert!(draw::terminal(&story::host::of(&report()), 80, true).contains("  \x1b[1;31mfentry"));
}
