//! What a transfer was worth, and what was noticed.

use std::fs;

use netfathom_model::environment::Environment;
use netfathom_model::plan::{Role, TransferPlan};
use netfathom_model::print;
use netfathom_model::record::{TransferEnd, TransferResult, UdpCounts};
use netfathom_model::units::format_duration;
use netfathom_model::verdict::{Finding, Level, Verdict};

use super::explain::{Host, explain_all};
use super::zero_copy;
use crate::ground::observer::Progressed;

pub(super) fn conclude(
    environment: Environment,
    mut result: TransferResult,
    seen: Host,
) -> Progressed<TransferResult> {
    if result.plan.explain {
        result.explanation = explain_all(&result.plan, &result.streams, &host(&result, seen));
    }
    let verdict = judge(&result);
    let findings = findings(&result);
    Progressed { verdict, findings, ..Progressed::new(environment, result) }
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
                "cut off {} after its time: {} were still in the send buffer, and the rate counts them; a smaller send \
                 buffer (-b) holds less, a longer --idle waits for it",
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
            format!("{there} of {expected} streams came: give both ends the same --parallel"),
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
    lower(counts.dropped, "datagrams found the socket's buffer full and are missing: enlarge it with -b");
    lower(
        counts.truncated,
        "datagrams were longer than the buffer and lost their rest: give the sender's -l here too",
    );
    lower(counts.foreign, "datagrams came from another sender than the first, and were left out");
}

fn findings(result: &TransferResult) -> Vec<Finding> {
    let granted = granted(&result.plan, result.granted_buffer_bytes);
    granted.into_iter().chain(zero_copy::finding(result)).collect()
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
