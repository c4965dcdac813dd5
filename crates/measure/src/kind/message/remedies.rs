//! What helps against a stall, measured beside it in the same run.

use netfathom_model::layer::{Form, Layer, SocketOption, Strategy};
use netfathom_model::plan::{Carrier, MessagePlan, Placement};
use netfathom_model::record::{MessageResult, Remedied, RemedyRow, Stall};
use netfathom_stats::Distribution;

use super::order::Cell;
use super::stalls::{share_within, stall};
use super::{Around, Steps, cells};
use crate::ground::error::RunError;
use crate::ground::observer::{Observer, Progressed};

/// Times like these are gone if fewer than one in a hundred is left of them.
const GONE: f64 = 0.01;
/// From here on a time is part of the comb.
const COMB_NS: u64 = 36_000_000;
/// As many tell enough.
const MESSAGES: u64 = 500;
/// A stalled trial has some thirty of them in that time.
const MOST_NS: u64 = 1_500_000_000;

/// Measures what helps, where a stall is recognized that something helps against.
pub fn measure<O: Observer<MessageResult>>(
    plan: &MessagePlan,
    around: Around<'_>,
    steps: &mut Steps<'_, O>,
    p: &mut Progressed<MessageResult>,
) -> Result<(), RunError> {
    if !plan.remedies || plan.carrier != Carrier::Tcp {
        return Ok(());
    }
    let short = MessagePlan {
        messages: plan.messages.min(MESSAGES),
        least_ns: 0,
        most_ns: plan.most_ns.min(MOST_NS),
        rate_per_s: None,
        ..plan.clone()
    };
    for (stall, cell) in stalled(&p.result) {
        let mut rows = Vec::new();
        for (layer, remedy) in rows_of(&cell.layer) {
            let cell = Cell { layer, ..cell.clone() };
            steps.begins("remedy", &cell);
            let Some(shot) = around.shot(&short, &cell, &p.result.pairs, None)? else { return Ok(()) };
            let times = &cells::timing(plan.test, cell.placement, &shot).times;
            rows.push(row(cell.layer, remedy, times, shot.counts.tcp.map(|tcp| tcp.delayed_acks)));
        }
        p.result.remedies.push(Remedied {
            layer: cell.layer,
            bytes: cell.bytes,
            pair: cell.pair,
            stall,
            rows,
        });
    }
    Ok(())
}

/// Each layer that delayed ACKs stall, once: what else stalls has no remedy that a
/// socket's owner could set.
fn stalled(result: &MessageResult) -> Vec<(Stall, Cell)> {
    let mut found: Vec<(Stall, Cell)> = Vec::new();
    for cell in result.cells.iter().filter(|cell| cell.placement == Placement::UU) {
        let stall = result.pairs.get(cell.pair).and_then(|p| stall(result.plan.test, cell, p.shares));
        let Some(stall @ (Stall::NagleBoth | Stall::NagleOne)) = stall else { continue };
        if found.iter().all(|(_, known)| known.layer != cell.layer) {
            found.push((stall, cells::key(cell)));
        }
    }
    found
}

/// As it was, and what can be done about it.
fn rows_of(stalled: &Layer) -> Vec<(Layer, &'static str)> {
    use SocketOption::{Cork, More, NoDelay, QuickAck};
    let two = |option| Layer::Bare { form: Form::Two, options: vec![(option, None)] };
    let one = |form| Layer::Bare { form, options: Vec::new() };
    vec![
        (stalled.clone(), "as it was"),
        (two(NoDelay), "TCP_NODELAY at both ends"),
        (two(Cork), "TCP_CORK around each message"),
        (two(More), "MSG_MORE with the header"),
        (two(QuickAck), "acknowledgments at once (TCP_QUICKACK)"),
        (one(Form::Writev), "header and body in one call (writev)"),
        (one(Form::Write), "header and body in one buffer"),
        (Layer::Library { strategy: Strategy::Adaptive }, "the message library"),
    ]
}

fn row(layer: Layer, remedy: &str, times: &Distribution, delayed_acks: Option<u64>) -> RemedyRow {
    let messages = times.moments.n;
    let times: netfathom_model::record::Distribution = times.into();
    RemedyRow {
        layer,
        remedy: remedy.into(),
        delayed_acks_per_message: delayed_acks.filter(|_| messages > 0).map(|n| n as f64 / messages as f64),
        gone: messages > 0 && share_within(&times, COMB_NS..u64::MAX) < GONE,
        times,
    }
}
