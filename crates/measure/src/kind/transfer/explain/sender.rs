//! Reasons that a sender sees.

use netfathom_model::plan::TransferPlan;
use netfathom_model::record::{Cause, TransferStream};

use super::facts::Facts;
use super::text::{bytes, ms, of_time, percent, rate};
use super::{Case, FAST_BYTES_PER_S, LEAST_SHARE, PART_OF_LARGEST, Reason, busy, network, remedy};

/// A buffer must hold this many times what fits into the present one before it is examined again.
const LARGER: u64 = 8;
/// A window that would carry this many times the rate is not what limits it, if it also closes.
const AMPLE: f64 = 4.0;
/// Windows that the kernel sizes begin with 44 segments of Ethernet, 64,240 bytes, or more (Linux 6.18). A buffer that was set
/// to 32 KiB has a window of 49,152 bytes there.
const LEAST_OWN_WINDOW: u32 = 60_000;

pub(super) fn reasons(case: Case<'_>, facts: &Facts) -> Vec<Reason> {
    let Case { plan, stream, .. } = case;
    // The first of equals is reported.
    let mut all = vec![processor(case, facts)];
    all.extend(network::reasons(case, facts));
    all.extend([
        slow_program(plan, facts),
        send_buffer(case, facts),
        delayed_ack(case, facts),
        nagle(stream, facts),
        receive_window(facts),
        slow_reader(plan, facts),
    ]);
    all
}

fn slow_program(plan: &TransferPlan, facts: &Facts) -> Reason {
    if facts.of_file {
        return slow_file(facts);
    }
    let idle = of_time(facts.empty + facts.all_sent, "with nothing to send or all sent");
    let mut evidence = vec![format!("{} of the time waiting for standard input", percent(facts.standard))];
    evidence.extend(idle);
    if facts.far_apart() && !facts.sees_pieces(plan) && !plan.no_delay {
        evidence.push(format!(
            "looks {} apart cannot see whether it waits for small pieces that are held back (Nagle): -D shows it",
            ms(facts.period_ns as f64 / 1000.0)
        ));
    }
    Reason {
        cause: Cause::SlowSender,
        // A program that waits for what is held back is not slow. What goes at last takes about as
        // long again until it has arrived, and the program hears of it.
        share: facts.standard - 2.0 * facts.held,
        text: "the program that feeds standard input has nothing to send".into(),
        evidence,
        remedy:
            "make it faster, or put a buffer between that it fills while this sends; for the network alone \
                 measure with -s, which makes the data up"
                .into(),
    }
}

fn slow_file(facts: &Facts) -> Reason {
    Reason {
        cause: Cause::SlowSender,
        share: facts.empty.min(facts.blocked),
        text: "the file that is sent does not come from its disk fast enough".into(),
        evidence: vec![
            format!("{} of the time all was sent and the send buffer had room", percent(facts.empty)),
            format!("{} of the time in calls that wait, which read the file too", percent(facts.blocked)),
        ],
        remedy: "find out how fast the disk is; what is in memory already is not waited for; for the network alone \
                 measure with -s, which makes the data up"
            .into(),
    }
}

/// All that fits into the buffer is under way, and the program waits for room in it.
fn send_buffer(case: Case<'_>, facts: &Facts) -> Reason {
    let Case { plan, host, .. } = case;
    let mut evidence = vec![format!(
        "{} of the time all or most of the send buffer was in flight; {} of the time a write waited for room in it",
        percent(facts.all_sent),
        percent(facts.blocked)
    )];
    // On loopback the ACK has often come by the time that a look is taken.
    if facts.in_flight_bytes > 0 {
        evidence.push(format!(
            "{} under way, a round trip of {}",
            bytes(facts.in_flight_bytes),
            ms(facts.rtt_us)
        ));
    }
    if let Some(granted) = host.granted_buffer_bytes.filter(|&granted| u64::from(granted) < plan.buffer_bytes)
    {
        evidence.push(format!(
            "the send buffer, {} bytes, is smaller than a write, {} bytes",
            granted, plan.buffer_bytes
        ));
    }
    Reason {
        cause: Cause::SendBuffer,
        share: facts.all_sent.min(facts.blocked) - facts.delayed_ack,
        text: "the send buffer is smaller than what the path holds, or than a write".into(),
        evidence,
        remedy: larger_buffer(case, facts),
    }
}

fn larger_buffer(case: Case<'_>, facts: &Facts) -> String {
    let present = facts.in_flight_bytes.max(case.host.granted_buffer_bytes.unwrap_or(0).into());
    let write = case.plan.buffer_bytes.saturating_mul(2);
    remedy::here(case, present.saturating_mul(LARGER).max(write))
}

fn delayed_ack(case: Case<'_>, facts: &Facts) -> Reason {
    let took = case.stream.calls_took.unwrap_or_default();
    Reason {
        cause: Cause::DelayedAcknowledgement,
        share: facts.delayed_ack,
        text: "the sender waits for ACKs that the receiver delays".into(),
        evidence: vec![
            format!(
                "{} of the time everything was sent and nothing came back for 30 ms or more, while a round trip takes \
                 {}",
                percent(facts.delayed_ack),
                ms(facts.min_rtt_us)
            ),
            format!("{} of {} calls took 30 to 60 ms", took.delayed_calls, case.stream.calls),
            format!(
                "{} under way: a receiver acknowledges two segments at once",
                bytes(facts.in_flight_bytes)
            ),
        ],
        remedy: format!("have more than two segments under way: {}", larger_buffer(case, facts)),
    }
}

fn nagle(stream: &TransferStream, facts: &Facts) -> Reason {
    let mss = stream.tcp.map_or(0, |tcp| tcp.mss_bytes);
    Reason {
        cause: Cause::Nagle,
        share: facts.held,
        text: "a small piece was held back until what went before it was acknowledged (Nagle)".into(),
        evidence: vec![
            format!(
                "{} of the time less than a segment ({mss} bytes) was held back, and the program gave nothing more \
                 until it had gone",
                percent(facts.held)
            ),
            format!("a round trip takes {} at least, and {} here", ms(facts.min_rtt_us), ms(facts.rtt_us)),
        ],
        remedy: "set TCP_NODELAY: -D; or let the program write what belongs together at once".into(),
    }
}

fn receive_window(facts: &Facts) -> Reason {
    let most = f64::from(facts.window_bytes) / (f64::from(facts.rtt_us.max(1)) / 1e6);
    let share = if takes_less(facts) || is_closed_by_reader(facts) { 0.0 } else { facts.window_full };
    // A window that grew, or round trips of many lengths: the product is no limit then.
    let carries =
        if most < facts.bytes_per_s { String::new() } else { format!(": at most about {}", rate(most)) };
    Reason {
        cause: Cause::ReceiveWindow,
        share,
        text: "the receiver's window is smaller than what the path holds".into(),
        evidence: vec![
            format!(
                "{} of the time the window was full, though the receiver reads",
                percent(facts.window_full)
            ),
            format!(
                "a window of {} at most, and a round trip of {}{carries}",
                bytes(facts.window_bytes),
                ms(facts.rtt_us)
            ),
        ],
        remedy: remedy::receiver(
            u64::from(facts.window_bytes).saturating_mul(LARGER),
            has_small_window(facts),
        ),
    }
}

/// Whether a full window is due to a program that does not read. Such a window closes, and a full one is ample: until
/// the program reads, the kernel there also delays the acknowledgment of what fills it. A window that is too small is
/// full as well, but stays open.
fn is_closed_by_reader(facts: &Facts) -> bool {
    let a_round_trip = facts.bytes_per_s * f64::from(facts.min_rtt_us) / 1e6;
    facts.window_closed >= LEAST_SHARE && AMPLE * a_round_trip < f64::from(facts.window_bytes)
}

/// A reader that is fast is only slower than this end: no fault of it.
fn fast(facts: &Facts) -> bool {
    facts.bytes_per_s >= FAST_BYTES_PER_S
}

/// Its window is full, and holds more than comes in a round trip: a larger one would be as full. Of a window that the
/// kernel never makes so small that cannot be known: it is emptied in pieces, and round trips become shorter with it.
fn takes_less(facts: &Facts) -> bool {
    fast(facts) && !has_small_window(facts) && !facts.fills(facts.window_bytes)
}

/// Whether somebody set the receiver's buffer.
pub(super) fn has_small_window(facts: &Facts) -> bool {
    facts.window_bytes < LEAST_OWN_WINDOW
}

/// What shows the receiver's side, whichever program it is.
fn watch(plan: &TransferPlan) -> String {
    format!("netfathom watch --port {}", plan.port)
}

fn slow_reader(plan: &TransferPlan, facts: &Facts) -> Reason {
    let full = if is_closed_by_reader(facts) { facts.window_full } else { 0.0 };
    let evidence = [
        of_time(
            facts.window_closed,
            &format!(
                "the receiver advertised almost no window; the largest was {}",
                bytes(facts.window_bytes)
            ),
        ),
        of_time(
            full,
            &format!(
                "its window was full of data that it had not read: at this rate less than a quarter of a window is sent in \
                 the shortest round trip, {}",
                ms(facts.min_rtt_us)
            ),
        ),
        of_time(facts.unread, "data was acknowledged, but not read: the window did not move"),
    ];
    Reason {
        cause: Cause::SlowReceiver,
        share: if fast(facts) { 0.0 } else { facts.not_read() + full },
        text: "the receiving program does not read its socket fast enough".into(),
        evidence: evidence.into_iter().flatten().collect(),
        remedy: format!(
            "make the program there faster; {} there shows whether it sleeps or computes",
            watch(plan)
        ),
    }
}

fn processor(case: Case<'_>, facts: &Facts) -> Reason {
    let plan = case.plan;
    let closed = if fast(facts) { facts.not_read() } else { 0.0 };
    let there = closed + if takes_less(facts) { facts.window_full } else { 0.0 };
    let mut evidence = vec![facts.processor_words(case.stream)];
    if there > 0.0 {
        evidence.push(format!("{} of the time the receiver's window was full", percent(there)));
    }
    let share = facts.processor + there;
    // Which of two close ones is the larger changes from transfer to transfer.
    let is_close = facts.processor.min(there) >= PART_OF_LARGEST * facts.processor.max(there);
    // Small writes have a remedy of their own.
    let is_both = is_close && plan.buffer_bytes > super::SMALL_BYTES;
    if is_both || facts.processor >= there {
        let busy = busy(case, share, evidence);
        return if is_both { both(plan, busy) } else { busy };
    }
    Reason {
        cause: Cause::Nothing,
        share,
        text: "no fault here: the receiver limits it".into(),
        evidence,
        remedy: format!("none here; {} there shows whether the receiver sleeps or computes", watch(plan)),
    }
}

/// What helps this end does nothing for the other one.
fn both(plan: &TransferPlan, busy: Reason) -> Reason {
    let text = "neither end alone is the limit".into();
    let remedy = format!(
        "{}; at the other end, {} shows whether the receiver sleeps, computes or waits for a CPU",
        busy.remedy,
        watch(plan)
    );
    Reason { cause: Cause::BothProcessors, text, remedy, ..busy }
}
