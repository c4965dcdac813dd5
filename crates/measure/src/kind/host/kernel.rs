//! What the kernel offers beside programs.

use std::io;

use netfathom_model::host::HostRow;
use netfathom_sys::probe;

use super::reason::{is_denied, plain};
use super::{limited, missing, works};

struct Feature {
    name: &'static str,
    detail: &'static str,
    attempt: fn() -> io::Result<()>,
    /// What to do where it is forbidden.
    when_denied: &'static str,
    /// What to do where it is not there.
    otherwise: &'static str,
}

const FEATURES: [Feature; 4] = [
    Feature {
        name: "packet socket",
        detail: "AF_PACKET, which captures are taken with",
        attempt: probe::packet_socket,
        when_denied: "run as root, or grant CAP_NET_RAW to the program",
        otherwise: "use a kernel with CONFIG_PACKET",
    },
    Feature {
        name: "io_uring",
        detail: "system calls in batches",
        attempt: probe::io_uring,
        when_denied: "allow it: sysctl kernel.io_uring_disabled=0, or leave the container that filters it",
        otherwise: "use a kernel with CONFIG_IO_URING",
    },
    Feature {
        name: "UDP_SEGMENT",
        detail: "one send call, many datagrams; two arrived for one",
        attempt: probe::udp_segment,
        when_denied: "lift what confines this process",
        otherwise: "use Linux 4.18 or later",
    },
    Feature {
        name: "MSG_ZEROCOPY",
        detail: "sending from the caller's memory; over lo the kernel copies all the same",
        attempt: probe::zero_copy,
        when_denied: "lift what confines this process",
        otherwise: "use Linux 5.0 or later, and allow locked memory: ulimit -l",
    },
];

pub(super) fn rows() -> Vec<HostRow> {
    FEATURES.iter().map(row).chain([perf_counters()]).collect()
}

fn row(feature: &Feature) -> HostRow {
    match (feature.attempt)() {
        Ok(()) => works(feature.name, feature.detail),
        Err(e) => {
            let remedy = if is_denied(&e) { feature.when_denied } else { feature.otherwise };
            missing(feature.name, feature.detail, plain(&e), remedy)
        }
    }
}

fn perf_counters() -> HostRow {
    const NAME: &str = "perf counters";
    const DETAIL: &str = "cycles, counted by the CPU itself";
    const ALLOW: &str = "run as root, grant CAP_PERFMON, or: sysctl kernel.perf_event_paranoid=1";
    const VIRTUAL: &str = "let the hypervisor pass the CPU's counters on; bare metal has them";
    match probe::hardware_cycles() {
        Ok(c) if c.count == 0 => missing(NAME, DETAIL, "the counter stands still", VIRTUAL),
        Ok(c) if !c.kernel_too => limited(NAME, DETAIL, "only user space may be counted", ALLOW),
        Ok(_) => works(NAME, DETAIL),
        Err(e) if is_denied(&e) => missing(NAME, DETAIL, plain(&e), ALLOW),
        Err(e) if e.kind() == io::ErrorKind::NotFound => {
            missing(NAME, DETAIL, "the kernel sees no such counter in the CPU", VIRTUAL)
        }
        Err(e) => missing(NAME, DETAIL, plain(&e), VIRTUAL),
    }
}
