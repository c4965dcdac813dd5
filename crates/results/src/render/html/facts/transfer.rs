//! What follows from a record of `netfathom ttcp`.

use netfathom_model::record::{Explanation, TransferResult, TransferStream};
use serde::Serialize;

use super::PlanWords;
use crate::story::carried;

#[derive(Serialize)]
pub struct TransferFacts {
    plan: PlanWords,
    rate: String,
    way: &'static str,
    ended: &'static str,
    explained: Option<Explained>,
    cost: Option<PlanWords>,
    served: Option<PlanWords>,
    /// One a stream.
    streams: Vec<StreamFacts>,
}

/// An explanation as it is read.
#[derive(Serialize)]
pub struct Explained {
    cause: &'static str,
    /// Names of the others, in their order.
    others: Vec<&'static str>,
}

#[derive(Serialize)]
pub struct StreamFacts {
    cpu_per_kib_ns: Option<f64>,
    ended: &'static str,
    trouble: Option<String>,
    checksum: Option<String>,
    copies: Option<String>,
    calls: Option<PlanWords>,
    connection: Option<PlanWords>,
    datagrams: Option<PlanWords>,
}

impl TransferFacts {
    pub fn of(result: &TransferResult) -> Self {
        Self {
            plan: carried::plan_words(&result.plan),
            rate: carried::rate(result),
            way: result.way.name(),
            ended: carried::ended_briefly(&result.end),
            explained: result.explanation.as_ref().map(Explained::of),
            cost: result.cost.as_ref().map(carried::cost_words),
            served: result.served.as_ref().map(carried::served_words),
            streams: result.streams.iter().map(StreamFacts::of).collect(),
        }
    }
}

impl Explained {
    pub fn of(e: &Explanation) -> Self {
        Self { cause: e.cause.name(), others: e.others.iter().map(|(cause, _)| cause.name()).collect() }
    }
}

impl StreamFacts {
    fn of(s: &TransferStream) -> Self {
        Self {
            cpu_per_kib_ns: carried::cpu_per_kib(s),
            ended: carried::ended_briefly(&s.end),
            trouble: carried::ended(&s.end),
            checksum: carried::checksum(s),
            copies: s.zero_copy.as_ref().map(carried::zero_copied),
            calls: s.calls_took.as_ref().map(carried::call_words),
            connection: s.tcp.as_ref().map(carried::connection_words),
            datagrams: s.udp.as_ref().map(carried::datagram_words),
        }
    }
}
