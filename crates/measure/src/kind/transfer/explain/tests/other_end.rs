//! Both ends on one host.

use super::*;

fn process(name: &str, pid: u32) -> Holder {
    Holder::Process { name: name.into(), pid, cgroup: None }
}

/// What is proposed where one process had the CPU for most of the wait, and `ttcp (pid 7)` is the other end.
fn remedy(had: Holder) -> String {
    let holders = vec![Held { by: had, ns: 70_000_000 }];
    let waits = Some(CpuWaits { waited_ns: 80_000_000, holders });
    let stream = TransferStream { waits, peer: Some("127.0.0.1:5001".into()), ..beside_others() };
    let host = Host { other_end: vec![process("ttcp", 7)], ..Host::default() };
    explain(&plan(Role::Transmit), &stream, &host).remedy
}

#[test]
fn the_other_end_is_moved_and_never_stopped() {
    let named =
        "both ends share the CPUs of this host: move ttcp (pid 7) to other CPUs (`taskset -acp CPUS 7`; ";
    // One that it forked for this connection has its name.
    for pid in [7, 9] {
        let remedy = remedy(process("ttcp", pid));
        assert!(remedy.starts_with(named) && !remedy.contains("stop"), "{remedy}");
    }
}

#[test]
fn what_is_not_the_other_end_is_stopped() {
    let remedy = remedy(process("rustc", 3121));
    assert!(remedy.starts_with("stop rustc (pid 3121), or move it "), "{remedy}");
}
