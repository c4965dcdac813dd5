//! What came to no reader: it found no room, or the kernel dropped it.

use netfathom_model::print;
use netfathom_model::record::WatchResult;
use netfathom_model::verdict::Finding;

use super::FEWEST;

/// Packets for each message, from which on drops are worth a word; fewer stand in the account alone.
const LEAST_DROPPED: f64 = 0.001;
/// Reasons for drops in a finding.
const MOST_DROPS: usize = 4;

pub(super) fn refused(result: &WatchResult) -> Option<Finding> {
    let account = &result.account;
    (account.refused > 0).then(|| Finding {
        seen: "messages find no room in the receive buffer of their socket".into(),
        cause: "the application reads slower than they come, or the buffer is too small for a burst".into(),
        evidence: format!("{} of {} messages; those of UDP are lost", account.refused, account.seen),
        remedy: "set SO_RCVBUF, up to net.core.rmem_max, or read in more threads".into(),
    })
}

/// Why the kernel drops packets for a reason, and what to do. `None` of reasons without a remedy, of those that healthy
/// connections have too (keep-alive probes, retransmissions that were not needed), and of what `refused` has.
fn drop_words(reason: &str) -> Option<(&'static str, &'static str)> {
    Some(match reason {
        "QDISC_DROP" | "QDISC_OVERLIMIT" | "QDISC_CONGESTED" | "FQ_BAND_LIMIT" | "FQ_FLOW_LIMIT" => (
            "the queueing discipline of their device is full",
            "`tc -s qdisc` shows which; raise its limit, or send less at a time",
        ),
        "NETFILTER_DROP" => (
            "a rule of netfilter drops them",
            "`nft list ruleset` or `iptables -vL` shows the counts of the rules",
        ),
        "SOCKET_BACKLOG" => (
            "too many came while a system call had their socket",
            "read and send less at a time, or set a larger SO_RCVBUF",
        ),
        "PROTO_MEM" => (
            "the receive buffer of a TCP socket is full, or TCP or UDP have as much memory as they may",
            "read in more threads, or set a larger SO_RCVBUF; `ss -tm` shows who does not read",
        ),
        "TCP_LISTEN_OVERFLOW" => (
            "connections wait until the application accepts them, and the queue for them is full",
            "accept in more threads, or raise the backlog of listen() and net.core.somaxconn",
        ),
        "TCP_ZEROWINDOW" | "TCP_OVERWINDOW" => (
            "they came to a closed window: the application reads too late",
            "read in more threads, or set a larger SO_RCVBUF",
        ),
        "NEIGH_FAILED" | "NEIGH_QUEUEFULL" => (
            "the next hop does not answer (ARP, neighbor discovery)",
            "`ip neigh` shows it as FAILED or INCOMPLETE",
        ),
        _ => return None,
    })
}

/// By the most frequent reason.
pub(in crate::kind::watch) fn dropped(result: &WatchResult) -> Option<Finding> {
    let drops = result.drops.iter().filter(|drop| drop_words(&drop.reason).is_some());
    let (cause, remedy) = drop_words(&drops.clone().next()?.reason)?;
    let packets: u64 = drops.clone().map(|drop| drop.packets).sum();
    let seen = result.account.seen + result.send.as_ref().map_or(0, |send| send.account.seen);
    if packets < FEWEST || (packets as f64) < LEAST_DROPPED * seen as f64 {
        return None;
    }
    let each =
        drops.map(|drop| format!("{} {} {}", print::count(drop.packets), drop.direction.name(), drop.reason));
    Some(Finding {
        seen: "the kernel drops packets of the watched sockets".into(),
        cause: cause.into(),
        evidence: print::listed_first(MOST_DROPS, each),
        remedy: remedy.into(),
    })
}
