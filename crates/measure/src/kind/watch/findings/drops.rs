//! What came to no reader: it found no room, or the kernel dropped it.

use netfathom_model::path::Direction;
use netfathom_model::print;
use netfathom_model::record::{WatchDrop, WatchResult};
use netfathom_model::verdict::Finding;

/// Reasons for drops in a finding.
const MOST_DROPS: usize = 4;
const OVERFLOW: &str = WatchDrop::LISTEN_OVERFLOW;

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
        OVERFLOW => (
            "connections wait until the application accepts them, and the queue for them is full",
            "accept sooner or in more threads, or raise the backlog of listen() and net.core.somaxconn",
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

/// The queue of new connections that is full, and the others by the most frequent reason.
pub(in crate::kind::watch) fn dropped(result: &WatchResult) -> impl Iterator<Item = Finding> {
    let explained = result.drops.iter().filter(|drop| drop_words(&drop.reason).is_some());
    let (full, mut others): (Vec<_>, Vec<_>) = explained.partition(|drop| drop.reason == OVERFLOW);
    let packets = others.iter().fold(0_u64, |sum, drop| sum.saturating_add(drop.packets));
    if !WatchDrop::is_much(packets, result.messages()) {
        others.clear();
    }
    [full, others].into_iter().filter_map(move |drops| finding(result, &drops))
}

fn finding(result: &WatchResult, drops: &[&WatchDrop]) -> Option<Finding> {
    let first = drops.first()?;
    let (cause, remedy) = drop_words(&first.reason)?;
    let what = match first.reason.as_str() {
        OVERFLOW => "the queue of new connections is full",
        _ => "the kernel drops packets of the watched sockets",
    };
    let is_tcp = drops.iter().any(|drop| is_of_tcp(result, drop));
    let again = if is_tcp { "; the wait until TCP retransmits them is not in the times" } else { "" };
    Some(Finding {
        seen: format!("{what} ({})", named(first)),
        cause: cause.into(),
        evidence: print::listed_first(MOST_DROPS, drops.iter().map(|drop| named(drop))) + again,
        remedy: remedy.into(),
    })
}

/// Such as `2,000 rx NETFILTER_DROP`.
fn named(drop: &WatchDrop) -> String {
    format!("{} {} {}", print::count(drop.packets), drop.direction.name(), drop.reason)
}

/// Of what comes, as far as that is known: few reasons name the protocol. Where nothing came there are no times.
fn is_of_tcp(result: &WatchResult, drop: &WatchDrop) -> bool {
    let is_tcp = result.account.udp == 0 || drop.reason.starts_with("TCP_");
    result.account.seen > 0 && drop.direction == Direction::Rx && is_tcp
}

#[cfg(test)]
mod tests {
    use netfathom_model::record::WatchStage;

    use super::super::tests;
    use super::*;

    fn found(udp: u64, drops: &[(&str, u64)]) -> Vec<Finding> {
        let mut result = tests::result(WatchStage::Sockqueue, 20_000, 10, 10_000);
        (result.account.seen, result.account.udp) = (10_000, udp);
        let drop = |&(reason, packets): &(&str, u64)| {
            let reason = reason.to_owned();
            WatchDrop { direction: Direction::Rx, reason, packets }
        };
        result.drops = drops.iter().map(drop).collect();
        dropped(&result).collect()
    }

    #[test]
    fn one_connection_without_room_in_the_queue_of_its_listener_is_enough() {
        let [full] = &found(0, &[("NO_SOCKET", 182), (OVERFLOW, 1)])[..] else { panic!("one") };
        assert_eq!(full.seen, "the queue of new connections is full (1 rx TCP_LISTEN_OVERFLOW)");
        assert!(full.remedy.contains("net.core.somaxconn"), "{full:?}");
        let both = found(0, &[("NETFILTER_DROP", 10), (OVERFLOW, 1)]);
        assert!(both[1].seen.ends_with(" (10 rx NETFILTER_DROP)") && both.len() == 2, "{both:?}");
    }

    #[test]
    fn the_wait_for_what_tcp_retransmits_is_shown_as_outside_of_the_times() {
        let of = |udp| found(udp, &[("NETFILTER_DROP", 20), ("PROTO_MEM", 10)])[0].evidence.clone();
        let listed = "20 rx NETFILTER_DROP, 10 rx PROTO_MEM";
        assert_eq!(of(1), listed);
        assert_eq!(of(0), format!("{listed}; the wait until TCP retransmits them is not in the times"));
    }
}
