//! What follows from a record of `netfathom ttcp`.

use netfathom_model::record::TransferResult;
use serde::Serialize;

use super::PlanWords;
use crate::render::carried;

#[derive(Serialize)]
pub struct TransferFacts {
    plan: PlanWords,
    rate: String,
    way: &'static str,
    checksum: Option<String>,
    /// One a stream.
    streams: Vec<StreamFacts>,
}

#[derive(Serialize)]
pub struct StreamFacts {
    cpu_per_kib_ns: Option<f64>,
    connection: Option<PlanWords>,
    datagrams: Option<PlanWords>,
}

impl TransferFacts {
    pub fn of(result: &TransferResult) -> Self {
        let stream = |s: &netfathom_model::record::TransferStream| StreamFacts {
            cpu_per_kib_ns: carried::cpu_per_kib(s),
            connection: s.tcp.as_ref().map(carried::connection_words),
            datagrams: s.udp.as_ref().map(carried::datagram_words),
        };
        Self {
            plan: carried::plan_words(&result.plan),
            rate: carried::rate(result),
            way: result.way.name(),
            checksum: carried::checksum(result),
            streams: result.streams.iter().map(stream).collect(),
        }
    }
}
