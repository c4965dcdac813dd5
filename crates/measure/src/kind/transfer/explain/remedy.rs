//! How a buffer becomes larger.

use netfathom_model::plan::Role;

use super::Case;

/// The kernel keeps sizes in an `int`.
const LARGEST: u64 = 1 << 30;

/// At this end, to `enough_bytes`. If `-b` made it small, nothing else needs to change; a limit is only
/// ever raised, and the other values stay.
pub(super) fn here(case: Case<'_>, enough_bytes: u64) -> String {
    let Case { plan, host, .. } = case;
    let sysctl = match plan.role {
        Role::Transmit => "net.ipv4.tcp_wmem",
        Role::Receive => "net.ipv4.tcp_rmem",
    };
    if plan.socket_buffer_bytes.is_some() {
        return "leave -b out, so that the kernel sizes the buffer".into();
    }
    let enough = size(enough_bytes);
    match host.buffer_limits {
        Some([least, default, largest]) => {
            let largest = enough.max(largest.saturating_mul(2)).min(i32::MAX as u64);
            format!("let the kernel use more: sysctl -w {sysctl}='{least} {default} {largest}'")
        }
        None => format!("let the kernel use more: raise the last of the three numbers of {sysctl}"),
    }
}

/// At the receiver; its limits are not known here. A program that sets its buffer gets a window that does not grow, and
/// so small a one only in this way.
pub(super) fn receiver(enough_bytes: u64, is_set: bool) -> String {
    let raise = format!(
        "raise the last of the three numbers of net.ipv4.tcp_rmem there if it is below {}",
        size(enough_bytes)
    );
    if is_set {
        format!(
            "the receiver sets a small buffer (SO_RCVBUF; ttcp: -b): leave that out; if it sets none, {raise}"
        )
    } else {
        format!(
            "leave -b (SO_RCVBUF) out there, since a buffer that was set does not grow; if none is set, {raise}"
        )
    }
}

fn size(bytes: u64) -> u64 {
    bytes.min(LARGEST).next_power_of_two()
}
