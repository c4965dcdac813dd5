//! What keeps messages waiting, recognized by its times and by what the kernel counted.

use std::ops::Range;

use netfathom_model::layer::{Form, Layer, Side, SocketOption};
use netfathom_model::plan::MessageTest;
use netfathom_model::print;
use netfathom_model::record::{
    Distribution, MessageCell, MessageResult, MessageTrial, ProcessorPair, Shares, Stall,
};
use netfathom_model::verdict::Finding;
use netfathom_stats::bucket_bounds;

/// As long as Linux puts an acknowledgment off at first, and what a busy machine adds
/// (TCP_DELACK_MIN, 40 ms).
const DELAYED_NS: Range<u64> = 36_000_000..60_000_000;
/// One at each end, one after the other.
const DELAYED_TWICE_NS: Range<u64> = 72_000_000..120_000_000;
/// The shortest retransmission time-out (TCP_RTO_MIN, 200 ms).
const TIMEOUT_NS: u64 = 190_000_000;
const TOGETHER: &str = "put both ends on one (--cpu-pairs same)";
/// Where each end has a CPU of its host.
const HERE_AND_THERE: &str = "choose others with --cpu, here and at the server";

/// A stall affects at least this share of the messages.
const COMB: f64 = 0.1;
/// Delayed ACKs per message: a stalled round trip has at least one.
const DELAYED_ACKS: f64 = 0.05;
/// The tail consists of waits for a CPU if it is this many times as long as the median,
const SPIKE: i64 = 20;
/// and longer than this.
const SPIKE_NS: i64 = 500_000;

/// What stalls a cell; `None` if nothing does, or if the cause is unknown.
pub fn stall(test: MessageTest, cell: &MessageCell, shares: Shares) -> Option<Stall> {
    if test == MessageTest::Oneway {
        return None;
    }
    if delayed_acks_per_message(cell).is_some_and(|n| n >= DELAYED_ACKS) {
        if share_within(cell.service_times(), DELAYED_TWICE_NS) >= COMB {
            return Some(Stall::NagleBoth);
        }
        if share_within(cell.service_times(), DELAYED_NS) >= COMB {
            return Some(Stall::NagleOne);
        }
    }
    if timeouts(cell) > 0 && share_within(cell.service_times(), TIMEOUT_NS..u64::MAX) > 0.0 {
        return Some(Stall::Timeouts);
    }
    let (median, tail) = (cell.service_times().p50_ns, cell.service_times().p99_ns);
    let waits = waited_and_beyond(cell).is_some_and(|(waited, beyond)| waited as f64 >= 0.5 * beyond);
    // On one processor an end waits for it each time that it is the other one's turn.
    if shares != Shares::Same && tail > SPIKE_NS && tail > SPIKE.saturating_mul(median) && waits {
        return Some(Stall::WakeUps);
    }
    None
}

/// ACKs that were delayed until their timer expired, per message.
pub fn delayed_acks_per_message(cell: &MessageCell) -> Option<f64> {
    let counted = cell.trials.iter().map(|t| Some((t.tcp?.delayed_acks, t.messages)));
    let (delayed_acks, messages) =
        counted.collect::<Option<Vec<_>>>()?.into_iter().fold((0, 0), |(a, n), (b, m)| (a + b, n + m));
    (messages > 0).then(|| delayed_acks as f64 / messages as f64)
}

fn timeouts(cell: &MessageCell) -> u64 {
    cell.trials.iter().filter_map(|t| Some(t.tcp?.timeouts)).sum()
}

/// Part of the times within a range, by the middles of their buckets.
pub fn share_within(times: &Distribution, range: Range<u64>) -> f64 {
    let middle = |index: u32| {
        let (low, high) = bucket_bounds(index as usize, times.grain);
        low + (high - low) / 2
    };
    let within: u64 =
        times.buckets.iter().filter(|&&(i, _)| range.contains(&middle(i))).map(|&(_, count)| count).sum();
    within as f64 / times.n.max(1) as f64
}

/// How long both ends' threads were ready and waited for a CPU.
pub fn waited_ns(trial: &MessageTrial) -> u64 {
    trial.client.run_delay_ns.unwrap_or(0) + trial.server.run_delay_ns.unwrap_or(0)
}

/// How long the ends' threads were ready and waited for a CPU, and what the times are
/// longer than the median, all together; nanoseconds.
fn waited_and_beyond(cell: &MessageCell) -> Option<(u64, f64)> {
    let (waited, times): (u64, _) = (cell.trials.iter().map(waited_ns).sum(), cell.service_times());
    let beyond = times.sum_ns as f64 - times.p50_ns as f64 * times.n as f64;
    (beyond > 0.0).then_some((waited, beyond))
}

/// Whether small writes wait at an end until what was sent before is acknowledged.
fn nagles(layer: &Layer, end: Side) -> bool {
    matches!(layer, Layer::Bare { form: Form::Two | Form::Sendmsg, .. })
        && ![SocketOption::NoDelay, SocketOption::Cork, SocketOption::More]
            .iter()
            .any(|&option| layer.has(option, end))
}

/// Each kind of stall once, of the cell that it is worst in.
pub fn findings(result: &MessageResult) -> Vec<Finding> {
    let mut worst: Vec<(Stall, &MessageCell)> = Vec::new();
    for cell in &result.cells {
        let Some(pair) = result.pairs.get(cell.pair) else { continue };
        let Some(stall) = stall(result.plan.test, cell, pair.shares) else { continue };
        match worst.iter_mut().find(|known| known.0 == stall) {
            None => worst.push((stall, cell)),
            Some(known) if known.1.service_times().p99_ns < cell.service_times().p99_ns => known.1 = cell,
            Some(_) => {}
        }
    }
    let other_cpus = if result.server.is_some() { HERE_AND_THERE } else { TOGETHER };
    worst.into_iter().map(|(stall, cell)| finding(stall, cell, result.pairs[cell.pair], other_cpus)).collect()
}

fn finding(stall: Stall, cell: &MessageCell, pair: ProcessorPair, other_cpus: &str) -> Finding {
    let times = cell.service_times();
    let [p50, p99] = [times.p50_ns, times.p99_ns].map(|ns| print::time(ns as f64));
    let seen = format!(
        "{} with {} bytes, {} on CPUs {} and {}: the median takes {p50}, the 99th percentile {p99}",
        cell.layer,
        cell.bytes,
        cell.placement.name(),
        pair.client,
        pair.server
    );
    let (cause, evidence, remedy) = match stall {
        Stall::NagleBoth | Stall::NagleOne => nagle(stall, cell),
        Stall::Timeouts => (
            "segments were lost, and sent again when their time was out (200 ms at least)".into(),
            format!("the kernel counted {} time-outs", timeouts(cell)),
            "look where they are dropped (netfathom host, ip -s link)".into(),
        ),
        Stall::WakeUps => (
            "an end was ready and had no CPU: another thread had it".into(),
            waited_and_beyond(cell).map_or_else(String::new, |(waited, beyond)| {
                format!(
                    "by the scheduler's count the ends waited for a CPU for {} in all; what the times are \
                     longer than their median adds up to {}",
                    print::time(waited as f64),
                    print::time(beyond)
                )
            }),
            format!("keep other work off these CPUs, or {other_cpus}"),
        ),
    };
    Finding { seen, cause, evidence, remedy }
}

fn nagle(stall: Stall, cell: &MessageCell) -> (String, String, String) {
    let which: Vec<&str> = [Side::Client, Side::Server]
        .into_iter()
        .filter(|&end| nagles(&cell.layer, end))
        .map(Side::name)
        .collect();
    let which = if which.is_empty() { "an end".into() } else { format!("the {}", which.join(" and the ")) };
    let cause = format!(
        "{which} writes header and body apart, and Nagle's algorithm keeps the body back until the header is \
         acknowledged; the other end delays that ACK for 40 ms, because it has nothing to send yet{}",
        if stall == Stall::NagleBoth { "; the answer meets the same" } else { "" }
    );
    let evidence = format!(
        "{:.0} % of the times are between 36 and 60 ms, {:.0} % between 72 and 120 ms; the kernel counted {:.2} \
         delayed ACKs a message with an expired timer",
        100.0 * share_within(cell.service_times(), DELAYED_NS),
        100.0 * share_within(cell.service_times(), DELAYED_TWICE_NS),
        delayed_acks_per_message(cell).unwrap_or(0.0)
    );
    (
        cause,
        evidence,
        "write a message in one call, or set TCP_NODELAY at both ends; others are compared below".into(),
    )
}

#[cfg(test)]
mod tests {
    use netfathom_model::record::{EndCost, MessageTrial, TcpCounts};
    use netfathom_stats as stats;

    use super::super::fixture;
    use super::*;

    fn cell(
        layer: &str,
        times_ns: &[(i64, u64)],
        delayed_acks: u64,
        timeouts: u64,
        waited_ns: u64,
    ) -> MessageCell {
        let mut times = stats::Distribution::new(7);
        times_ns.iter().for_each(|&(ns, count)| times.add_many(ns, count));
        let end = EndCost { run_delay_ns: Some(waited_ns), ..EndCost::default() };
        let tcp = Some(TcpCounts { delayed_acks, timeouts, retransmitted: 0 });
        let trial = MessageTrial { client: end, server: end, tcp, ..fixture::trial(times.moments.n) };
        fixture::cell(layer, trial, &times)
    }

    const PAIR: ProcessorPair = ProcessorPair { shares: Shares::Cache, client: 1, server: 0 };

    #[test]
    fn stalls_are_distinguished() {
        let found = |cell: &MessageCell| stall(MessageTest::Pingpong, cell, Shares::Cache);
        assert_eq!(found(&cell("two", &[(88_000_000, 20)], 40, 0, 0)), Some(Stall::NagleBoth));
        assert_eq!(found(&cell("two+nodelay@client", &[(44_000_000, 20)], 20, 0, 0)), Some(Stall::NagleOne));
        // A path of 44 ms has the same times, without a delayed ACK.
        assert_eq!(found(&cell("two", &[(44_000_000, 20)], 0, 0, 0)), None);
        assert_eq!(found(&cell("write", &[(20_000, 99), (210_000_000, 1)], 0, 1, 0)), Some(Stall::Timeouts));
        let spikes = [(20_000, 900), (3_000_000, 100)];
        assert_eq!(found(&cell("write", &spikes, 0, 0, 150_000_000)), Some(Stall::WakeUps));
        assert_eq!(found(&cell("write", &spikes, 0, 0, 1_000_000)), None);
        let taking_turns = cell("write", &spikes, 0, 0, 150_000_000);
        assert_eq!(stall(MessageTest::Pingpong, &taking_turns, Shares::Same), None);
        assert_eq!(found(&cell("write", &[(20_000, 1000)], 0, 0, 0)), None);
    }

    #[test]
    fn with_a_rate_a_stall_is_seen_from_when_messages_left() {
        let mut cell = cell("two", &[(900_000_000, 20)], 40, 0, 0);
        assert_eq!(stall(MessageTest::Pingpong, &cell, Shares::Cache), None);
        let mut service = stats::Distribution::new(7);
        service.add_many(88_000_000, 20);
        cell.service = Some((&service).into());
        assert_eq!(stall(MessageTest::Pingpong, &cell, Shares::Cache), Some(Stall::NagleBoth));
    }

    #[test]
    fn each_time_of_a_finding_has_the_unit_that_suits_it() {
        let spikes = cell("write", &[(20_000, 900), (3_000_000, 100)], 0, 0, 150_000_000);
        let Finding { seen, evidence, .. } = finding(Stall::WakeUps, &spikes, PAIR, TOGETHER);
        assert!(seen.contains(" µs, the 99th percentile ") && seen.ends_with(" ms"), "{seen}");
        assert!(evidence.contains("for 300 ms in all"), "{evidence}");
    }

    #[test]
    fn a_finding_names_the_ends_that_hold_back() {
        let both = finding(Stall::NagleBoth, &cell("two", &[(88_000_000, 20)], 40, 0, 0), PAIR, TOGETHER);
        assert!(both.cause.starts_with("the client and the server writes"), "{}", both.cause);
        let one = finding(
            Stall::NagleOne,
            &cell("two+nodelay@client", &[(44_000_000, 20)], 20, 0, 0),
            PAIR,
            TOGETHER,
        );
        assert!(one.cause.starts_with("the server writes") && one.evidence.contains("100 % of the times"));
    }
}
