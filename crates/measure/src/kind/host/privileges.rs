//! What this process is allowed to do.

use std::collections::BTreeSet;

use netfathom_model::host::HostRow;
use netfathom_sys::capability::{Capability, effective};
use netfathom_sys::probe::effective_user;

use super::reason::plain;
use super::{limited, missing, works};

pub(super) fn rows() -> Vec<HostRow> {
    let held = effective();
    let capabilities = match &held {
        Ok(held) => Capability::ALL.map(|c| row(c, held.contains(&c))),
        Err(e) => {
            let reason = plain(e);
            Capability::ALL.map(|c| missing(c.name(), purpose(c), reason.as_str(), "is /proc mounted?"))
        }
    };
    let mut rows = vec![root(effective_user(), &held.unwrap_or_default())];
    rows.extend(capabilities);
    rows
}

fn root(user: u32, held: &BTreeSet<Capability>) -> HostRow {
    let has_all = Capability::ALL.iter().all(|capability| held.contains(capability));
    match user {
        0 => works("root", "this process runs as user 0"),
        user if has_all => works(
            "root",
            format!("user {user} holds those below; files of root stay closed, as /dev/net/tun may be"),
        ),
        user => limited(
            "root",
            "loopback and the timestamping tap need no root",
            format!("this process runs as user {user}"),
            // One command for all: the next one would take away what the last one gave.
            format!("run as root for the lab and the bpf tap, or once: setcap '{}' PROGRAM", all()),
        ),
    }
}

fn row(capability: Capability, held: bool) -> HostRow {
    let name = capability.name();
    if held {
        return works(name, purpose(capability));
    }
    let remedy = "run as root, or grant it to the program as the row `root` shows";
    missing(name, purpose(capability), "this process does not hold it", remedy)
}

/// All capabilities, as setcap takes them; one clause each, so that a terminal can wrap it
/// and the command can still be copied.
fn all() -> String {
    Capability::ALL.map(|c| format!("{}+ep", c.name().to_lowercase())).join(" ")
}

fn purpose(capability: Capability) -> &'static str {
    match capability {
        Capability::NetAdmin => "devices and addresses of the lab, programs on devices",
        Capability::NetRaw => "packet and AF_XDP sockets",
        Capability::SysAdmin => "network namespaces, which the lab is made of",
        Capability::Bpf => "kernel programs and their memory",
        Capability::Perfmon => "kernel programs on tracepoints",
    }
}

#[cfg(test)]
mod tests {
    use netfathom_model::host::HostStatus;

    use super::*;

    #[test]
    fn setcap_is_advised_only_while_a_capability_is_missing() {
        let all: BTreeSet<Capability> = Capability::ALL.into();
        assert!(matches!(root(65_534, &all).status, HostStatus::Works));
        let mut fewer = all;
        fewer.remove(&Capability::Bpf);
        let row = root(65_534, &fewer);
        let advised = row.status.shortcoming().is_some_and(|(_, remedy)| remedy.contains("setcap"));
        assert!(advised, "{row:?}");
    }
}
