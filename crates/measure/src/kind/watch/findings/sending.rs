//! What holds a message on its way to the device, and what TCP sent again.

use netfathom_model::plan::WatchTarget;
use netfathom_model::print;
use netfathom_model::record::{WatchResult, WatchStage};
use netfathom_model::verdict::Finding;

use super::{FEWEST, Words, much, times};

/// A wait that long is for an ACK that the receiver delays: 40 ms in Linux, up to 200 in others.
const DELAYED_ACK_NS: f64 = 30e6;
/// Without a setting, Linux and Windows open a window of some 64 KB at first.
const SMALL_WINDOW: u64 = 60_000;
/// The part of the segments from which on loss is worth a word.
const LEAST_RETRANSMITTED: f64 = 0.001;
/// The payload of a full one over Ethernet: segments are not counted.
const SEGMENT_BYTES: f64 = 1448.0;
/// Without a queue it takes some µs, with segmentation in software some tens.
const QUEUED_NS: f64 = 1e5;
const WHERE_LOST: &str = "find where segments are dropped: `tc -s qdisc` and `ethtool -S DEV` at both ends, then the path between them; `ss -ti` shows the connections that retransmit (retrans)";

/// How many segments, if that is more than a small part of those that its messages and bytes make.
fn retransmitted(result: &WatchResult) -> Option<u64> {
    let account = &result.send.as_ref()?.account;
    let messages = account.seen.saturating_sub(account.udp) as f64;
    let segments = messages.max(account.bytes_timed as f64 / SEGMENT_BYTES);
    let again = account.retransmitted;
    (again >= FEWEST && again as f64 >= LEAST_RETRANSMITTED * segments).then_some(again)
}

fn loss(result: &WatchResult) -> Option<String> {
    let again = print::count(retransmitted(result)?);
    Some(format!("segments were lost on the path, or came late: TCP retransmitted {again}"))
}

/// A finding of its own, where no stage has it.
pub(super) fn lost(result: &WatchResult) -> Option<Finding> {
    let cause = loss(result)?;
    let is_held = [WatchStage::Cwnd, WatchStage::Pacing].iter().any(|&stage| much(result, stage).is_some());
    let account = &result.send.as_ref()?.account;
    (!is_held).then(|| Finding {
        seen: "TCP retransmits segments".into(),
        cause,
        evidence: format!(
            "{} segments, and {} messages were sent; the wait is in acknowledged, and in the receiver's hole",
            print::count(account.retransmitted),
            print::count(account.seen)
        ),
        remedy: WHERE_LOST.into(),
    })
}

pub(super) fn cwnd(result: &WatchResult) -> Words {
    let seen = "messages wait for the congestion window";
    match loss(result) {
        Some(loss) => {
            (seen, format!("{loss}; most congestion controls then shrink the window"), WHERE_LOST.into())
        }
        None => (
            seen,
            "the path is full, or connections are new or were idle; hardly any segment was retransmitted"
                .into(),
            "if connections are new or idle, keep them open and set net.ipv4.tcp_slow_start_after_idle=0; otherwise netfathom ttcp --explain shows the path".into(),
        ),
    }
}

/// The record has no name of the congestion control, which may be another in each socket.
pub(super) fn pacing(result: &WatchResult) -> Words {
    let loss = loss(result).map_or_else(String::new, |loss| format!("; {loss}"));
    (
        "pacing holds messages",
        format!(
            "BBR sends at the rate that it measured of the path; with others, SO_MAX_PACING_RATE or the fq qdisc spreads them over time{loss}"
        ),
        "`ss -ti` shows the congestion control and its pacing_rate: with BBR look at the path (netfathom ttcp --explain); with others raise SO_MAX_PACING_RATE or maxrate of fq, if either is set".into(),
    )
}

pub(super) fn qdisc(result: &WatchResult) -> Option<Words> {
    let is_queue = much(result, WatchStage::Qdisc)?.mean_ns > QUEUED_NS;
    is_queue.then(|| {
        (
            "messages wait in the queue of their device",
            "a shaper, or a device that is slower than what is sent, holds the packets".into(),
            "`tc -s qdisc show dev DEV` shows rate and backlog (`ip route get ADDRESS` names DEV): raise the shaper's rate, send less, or use a short queue (fq_codel)".into(),
        )
    })
}

pub(super) fn rwnd(result: &WatchResult, receiver: Option<u16>) -> Words {
    let seen = "messages wait as the receiver's window is closed";
    let window = result.send.as_ref().map_or(0, |send| send.account.receiver_window);
    if (1..SMALL_WINDOW).contains(&window) {
        let window = print::bytes(window as f64);
        return (
            seen,
            format!("the receiver's window was never larger than {window}: its receive buffer is small"),
            "if the receiver sets SO_RCVBUF, have it set more, or none; otherwise raise the last two numbers of net.ipv4.tcp_rmem on its host".into(),
        );
    }
    (
        seen,
        "the receiver reads slower than this application sends, or its receive buffer is small".into(),
        format!("watch the receiver, on its host: {}", watching(result, receiver)),
    )
}

/// A server's receivers are its clients, each with a port of its own.
fn watching(result: &WatchResult, receiver: Option<u16>) -> String {
    match (&result.plan.target, receiver) {
        (WatchTarget::Flow { local, peer }, _) => format!("netfathom watch rx --flow {peer}:{local}"),
        (_, Some(port)) => format!("netfathom watch rx --port {port}"),
        (WatchTarget::Port(port), None) => {
            format!("netfathom watch rx --pid PID, which `ss -tnp dport = :{port}` shows there")
        }
        _ => "netfathom watch rx --port PORT, which `ss -tnp` shows as that of the peer".into(),
    }
}

pub(super) fn nagle(result: &WatchResult) -> Words {
    let nagle = result.send.as_ref().and_then(|send| times(&send.stages, WatchStage::Nagle));
    let delays = if nagle.is_some_and(|times| times.mean_ns > DELAYED_ACK_NS) {
        "and the receiver delays its ACK"
    } else {
        "and the next one waits for a round trip"
    };
    (
        "Nagle's algorithm holds small messages until the receiver acknowledges earlier ones",
        format!("the application writes a message in several calls, or several messages in a row, {delays}"),
        "set TCP_NODELAY on the socket, or write each message in one call".into(),
    )
}

#[cfg(test)]
mod tests {
    use netfathom_model::record::{WatchSendAccount, WatchedStage};

    use super::super::findings;
    use super::super::tests::{result, sent, times};
    use super::*;

    const US: i64 = 1000;

    /// Sending takes 10 µs, and as long as this stage takes, which `n` of a hundred messages have.
    fn sends(stage: WatchStage, n: u64, each_ns: i64, account: WatchSendAccount) -> WatchResult {
        let mut result = result(WatchStage::Sockqueue, 0, 0, 0);
        let stages = vec![WatchedStage { stage, times: times(n, each_ns) }];
        let total = times(100, 10 * US + each_ns * n as i64 / 100);
        result.send = Some(sent(total, stages, account));
        result
    }

    fn lossy(seen: u64, retransmitted: u64) -> WatchSendAccount {
        WatchSendAccount { seen, retransmitted, ..WatchSendAccount::default() }
    }

    fn only(result: &WatchResult) -> Finding {
        let [finding] = &findings(result, None)[..] else { panic!("one") };
        finding.clone()
    }

    #[test]
    fn loss_is_why_the_congestion_window_is_small() {
        let of = |seen, again| only(&sends(WatchStage::Cwnd, 100, 100 * US, lossy(seen, again)));
        for lost in [of(1000, 10), of(10_000, 10)] {
            assert!(lost.cause.contains("lost on the path, or came late: TCP retransmitted 10;"), "{lost:?}");
            assert!(lost.remedy.starts_with("find where segments are dropped"), "{lost:?}");
        }
        for few in [of(1000, 9), of(10_001, 10)] {
            assert!(few.remedy.starts_with("if connections are new or idle, keep them open"), "{few:?}");
        }
        let paced = only(&sends(WatchStage::Pacing, 100, 100 * US, lossy(1000, 1234)));
        assert!(paced.cause.ends_with("TCP retransmitted 1,234") && paced.cause.contains("BBR"), "{paced:?}");
    }

    #[test]
    fn loss_that_no_stage_has_is_a_finding_of_its_own() {
        let seen = |retransmitted| {
            let result = sends(WatchStage::Socket, 100, 100 * US, lossy(1000, retransmitted));
            findings(&result, None).into_iter().map(|finding| finding.seen).collect::<Vec<_>>()
        };
        assert_eq!((seen(9), seen(10)), (vec![], vec!["TCP retransmits segments".to_owned()]));
        let mut large = sends(WatchStage::Socket, 100, 100 * US, lossy(1000, 10));
        large.send.as_mut().unwrap().account.bytes_timed = 20_000_000;
        assert_eq!(findings(&large, None), [], "1,000 messages make 13,812 segments");
        // The window holds them for a trifle of the time to receive.
        let mut held = sends(WatchStage::Cwnd, 100, 100 * US, lossy(1000, 10));
        held.total = times(100, 100_000 * US);
        assert_eq!(only(&held).seen, "TCP retransmits segments");
    }

    #[test]
    fn a_stage_of_few_messages_is_no_finding() {
        let of = |n| findings(&sends(WatchStage::Cwnd, n, 1000 * US, lossy(100, 0)), None);
        assert_eq!(of(FEWEST - 1), []);
        let [ten] = &of(FEWEST)[..] else { panic!("one") };
        let evidence =
            "cwnd: 90.9 % of the time of the sent messages, 100 µs a message on average; 10 of 100 have it";
        assert_eq!(ten.evidence, evidence);
    }

    #[test]
    fn a_queue_is_one_that_holds_messages_longer_than_it_takes_without() {
        let of = |each_ns| findings(&sends(WatchStage::Qdisc, 100, each_ns, lossy(100, 0)), None);
        assert_eq!(of(90 * US), []);
        let [queue] = &of(33_300 * US)[..] else { panic!("one") };
        assert!(queue.remedy.contains("`tc -s qdisc show dev DEV`"), "{queue:?}");
    }

    #[test]
    fn what_takes_a_trifle_of_the_other_way_is_no_finding() {
        let seen = |sockqueue_ns| {
            let send = sends(WatchStage::Qdisc, 100, 9990 * US, lossy(100, 0)).send;
            let both = WatchResult { send, ..result(WatchStage::Sockqueue, sockqueue_ns, 0, 0) };
            findings(&both, None).len()
        };
        // Sending takes 10 ms.
        assert_eq!([499, 501].map(|us| seen(us * US)), [1, 2]);
    }
}
