//! What a transfer was worth, and what was noticed.

use std::fs;

use netfathom_model::environment::Environment;
use netfathom_model::plan::{Role, TransferPlan, Transport};
use netfathom_model::print;
use netfathom_model::record::{TransferEnd, TransferResult, UdpCounts};
use netfathom_model::units::format_duration;
use netfathom_model::verdict::{Finding, Level, Verdict};

use super::explain::{Host, explain_all};
use super::zero_copy;
use crate::ground::environment::cgroup::raise_quota;
use crate::ground::observer::Progressed;

/// A pace is missed by more than this: the first datagram goes at once, and the last call ends a little late.
const MISSED: f64 = 0.01;

pub(super) fn conclude(mut result: TransferResult, seen: Host) -> Progressed<TransferResult> {
    if result.plan.explain {
        result.explanation = explain_all(&result.plan, &result.streams, &host(&result, seen));
    }
    let verdict = judge(&result);
    let findings = findings(&result);
    Progressed { verdict, findings, ..Progressed::new(Environment::default(), result) }
}

/// What an explanation may go by beside the streams: what was seen meanwhile, and this host as it is now.
fn host(result: &TransferResult, seen: Host) -> Host {
    let limits = match result.plan.role {
        Role::Transmit => "/proc/sys/net/ipv4/tcp_wmem",
        Role::Receive => "/proc/sys/net/ipv4/tcp_rmem",
    };
    Host {
        granted_buffer_bytes: result.granted_buffer_bytes,
        congestion: result.congestion.clone(),
        // Without /proc a limit is named without its value.
        buffer_limits: fs::read_to_string(limits).ok().as_deref().and_then(Host::limits),
        raise_quota: raise_quota(Some(std::process::id())),
        ..seen
    }
}

fn judge(result: &TransferResult) -> Verdict {
    let mut verdict = Verdict::default();
    match &result.end {
        TransferEnd::Whole | TransferEnd::Stopped => {}
        TransferEnd::Acknowledged => verdict.lower(
            Level::Degraded,
            "the receiving host has acknowledged everything, but its program did not close: whether it has read all \
             of it cannot be known",
        ),
        TransferEnd::Unconfirmed => verdict.lower(
            Level::Degraded,
            "UDP has no confirmation: the receiver shows what arrived",
        ),
        TransferEnd::Idle => verdict.lower(
            Level::Degraded,
            format!(
                "no mark of the end came, and nothing else for {}: the end was lost, or the sender was ended; what \
                 came until then is counted",
                format_duration(result.plan.idle_ns)
            ),
        ),
        TransferEnd::CutOff { unacknowledged_bytes } => verdict.lower(
            Level::Degraded,
            format!(
                "cut off {} after its time (--idle): the other end had not acknowledged {}, and the rate counts them; \
                 see whether its program reads, or give a longer --idle",
                format_duration(result.plan.idle_ns),
                print::bytes(*unacknowledged_bytes as f64)
            ),
        ),
        TransferEnd::Interrupted => verdict.lower(Level::Void, "it was ended before it was whole"),
        TransferEnd::Broken { why } => verdict.lower(Level::Void, format!("it broke off: {why}")),
    }
    let (there, expected) = (result.streams.len(), usize::from(result.plan.streams));
    if result.plan.serve.is_none() && there < expected {
        verdict.lower(
            Level::Degraded,
            format!("{there} of {expected} streams came: give both ends the same -P"),
        );
    }
    for counts in result.streams.iter().filter_map(|s| s.udp.as_ref()) {
        judge_datagrams(&mut verdict, counts);
    }
    verdict
}

fn judge_datagrams(verdict: &mut Verdict, counts: &UdpCounts) {
    let mut lower = |count: u64, text: &str| {
        if count > 0 {
            verdict.lower(Level::Degraded, format!("{count} {text}"));
        }
    };
    lower(
        counts.truncated,
        "datagrams were longer than the buffer and lost their rest: give the sender's -l here too",
    );
    lower(counts.foreign, "datagrams came from another sender than the first, and were left out");
    if let Some(text) = lost(counts) {
        verdict.lower(Level::Degraded, text);
    }
}

fn lost(counts: &UdpCounts) -> Option<String> {
    let (lost, all) = (counts.dropped, counts.dropped + counts.datagrams);
    (lost > 0).then(|| {
        format!(
            "{} of {} datagrams ({}) found the socket's buffer full and are missing: enlarge it with -b",
            print::count(lost),
            print::count(all),
            print::percent_down(lost as f64 / all as f64)
        )
    })
}

fn findings(result: &TransferResult) -> Vec<Finding> {
    let granted = granted(&result.plan, result.granted_buffer_bytes);
    granted.into_iter().chain(zero_copy::finding(result)).chain(slower(result)).collect()
}

/// Datagrams that were sent at less than their pace. TCP may go slower, as the path has it.
fn slower(result: &TransferResult) -> Option<Finding> {
    let plan = &result.plan;
    let paced = plan.pace_bits_per_s.filter(|_| plan.generated && plan.protocol == Transport::Udp);
    let (asked, sent) = (paced? as f64 / 8.0, result.bytes_per_s()?);
    let missed = 1.0 - sent / asked;
    (missed > MISSED).then(|| Finding {
        seen: format!(
            "--pace {} was missed by {}: {} was sent",
            print::bit_rate(asked),
            print::percent(missed),
            print::bit_rate(sent)
        ),
        cause: "the sender paused, waited, or cannot send so fast; it catches up at most 10 ms".into(),
        evidence: "bytes and time of the calls that sent".into(),
        remedy: "larger datagrams (-l), an idle CPU, or a lower --pace".into(),
    })
}

/// What the kernel made of the wish for a buffer.
fn granted(plan: &TransferPlan, granted: Option<u32>) -> Option<Finding> {
    let (asked, granted) = (plan.socket_buffer_bytes?, granted?);
    let (name, sysctl) = match plan.role {
        Role::Transmit => ("send", "net.core.wmem_max"),
        Role::Receive => ("receive", "net.core.rmem_max"),
    };
    let (cause, remedy) = match granted.cmp(&asked) {
        std::cmp::Ordering::Equal => return None,
        std::cmp::Ordering::Less => {
            (format!("the system's limit is {sysctl}"), format!("raise it: sysctl -w {sysctl}={asked}"))
        }
        std::cmp::Ordering::Greater => {
            ("the kernel has a least size, which holds one packet".into(), "none is needed".into())
        }
    };
    Some(Finding {
        seen: format!("a {name} buffer of {asked} bytes was asked for, and {granted} were granted"),
        cause,
        evidence:
            "the size was read back from the socket; the kernel doubles either to have room for its own data"
                .into(),
        remedy,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kind::transfer::{explain, streams};

    fn paced(protocol: Transport, bits: u64) -> Option<String> {
        let plan = TransferPlan {
            protocol,
            generated: true,
            pace_bits_per_s: Some(bits),
            ..TransferPlan::classic(Role::Transmit)
        };
        let nothing = streams::result(&plan, String::new(), None, Vec::new());
        // 3 MB in 200 ms: 120 Mb/s.
        let streams = vec![explain::tests::stream(|_, _| {})];
        findings(&TransferResult { streams, ..nothing }).pop().map(|finding| finding.seen)
    }

    #[test]
    fn datagrams_below_their_pace_are_reported() {
        let seen = "--pace 160 Mb/s was missed by 25.0 %: 120 Mb/s was sent";
        assert_eq!(paced(Transport::Udp, 160_000_000).as_deref(), Some(seen));
        assert_eq!(paced(Transport::Udp, 120_500_000), None);
        assert_eq!(paced(Transport::Udp, 100_000_000), None);
        assert_eq!(paced(Transport::Tcp, 160_000_000), None);
    }

    #[test]
    fn missing_datagrams_are_a_share_of_the_data() {
        let of = |datagrams, dropped| lost(&UdpCounts { datagrams, dropped, ..UdpCounts::default() });
        assert!(of(818, 4182).unwrap().starts_with("4,182 of 5,000 datagrams (83.6 %) found"));
        assert_eq!(of(818, 0), None);
    }
}
