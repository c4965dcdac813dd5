//! Reasons that a receiver sees.

use netfathom_model::record::Cause;

use super::facts::Facts;
use super::text::{bytes, ms, percent, rate};
use super::{Case, FAST_BYTES_PER_S, LARGE_BYTES, Reason, busy, remedy};

/// A buffer must grow by this factor before it is examined again.
const LARGER: u64 = 8;

pub(super) fn reasons(case: Case<'_>, facts: &Facts) -> Vec<Reason> {
    let fast = facts.bytes_per_s >= FAST_BYTES_PER_S;
    // A buffer that was set so small is emptied and filled in turns: something is nearly always there to be read, and this
    // end waits for the next turn all the same.
    let set_small = case.plan.socket_buffer_bytes.is_some_and(|set| u64::from(set) < LARGE_BYTES);
    let small = set_small || facts.fills(facts.window_bytes);
    let waits = facts.empty.min(facts.blocked);
    let turns = if set_small { (1.0 - facts.processor - facts.standard).max(0.0) } else { 0.0 };
    // The first of equals is reported.
    vec![
        processor(case, facts, if fast && !small { waits } else { 0.0 }, turns),
        slow_program(facts),
        window(case, facts, if small { waits.max(turns) } else { 0.0 }),
        elsewhere(facts, if small || fast { 0.0 } else { waits }),
    ]
}

fn slow_program(facts: &Facts) -> Reason {
    Reason {
        cause: Cause::SlowReceiver,
        share: facts.standard,
        text: "the program that reads standard output is too slow".into(),
        evidence: vec![
            format!("{} of the time waiting for standard output", percent(facts.standard)),
            format!("{} of the time something was there to be read", percent(1.0 - facts.empty)),
        ],
        remedy: "make it faster, or write to something faster; for the network alone measure with -s, which throws the \
                 data away"
            .into(),
    }
}

fn window(case: Case<'_>, facts: &Facts, share: f64) -> Reason {
    let present = case.host.granted_buffer_bytes.unwrap_or(facts.window_bytes);
    Reason {
        cause: Cause::ReceiveWindow,
        share,
        text: "this end's window is smaller than what the path holds".into(),
        evidence: vec![
            format!("{} of the time nothing was there to be read", percent(facts.empty)),
            format!(
                "in a round trip of {} about as much comes as the window holds, {} at most",
                ms(facts.min_rtt_us),
                bytes(facts.window_bytes)
            ),
        ],
        remedy: remedy::here(case, u64::from(present).saturating_mul(LARGER)),
    }
}

fn processor(case: Case<'_>, facts: &Facts, waits: f64, turns: f64) -> Reason {
    let mut evidence = vec![facts.processor_words(case.stream)];
    if waits > 0.0 {
        evidence.push(format!(
            "{} of the time nothing was there to be read, at {}",
            percent(waits),
            rate(facts.bytes_per_s)
        ));
    }
    // As long as something is there to be read, nothing but a processor is missing.
    let behind = (1.0 - facts.empty - facts.standard - turns).max(0.0);
    let runs = facts.processor.max(behind);
    if runs >= waits {
        return busy(case, runs, evidence);
    }
    Reason {
        cause: Cause::Nothing,
        share: runs + waits,
        text: "no fault here: the sender limits it".into(),
        evidence,
        remedy: "none here; netfathom ttcp -t --explain there shows what the sender waits for".into(),
    }
}

fn elsewhere(facts: &Facts, share: f64) -> Reason {
    Reason {
        cause: Cause::Elsewhere,
        share,
        text: "no fault here: this end waited for the sender or the path".into(),
        evidence: vec![
            format!("{} of the time nothing was there to be read", percent(facts.empty)),
            format!(
                "the window, up to {}, holds more than comes in a round trip of {}",
                bytes(facts.window_bytes),
                ms(facts.min_rtt_us)
            ),
        ],
        remedy: "ask the sender: netfathom ttcp -t --explain there".into(),
    }
}
