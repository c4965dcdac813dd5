//! The answer of `netfathom ttcp`.

use netfathom_model::plan::Role;
use netfathom_model::record::TransferResult;

use super::Words;
use crate::render::carried;

pub fn words(result: &TransferResult) -> Words {
    let (what, to) = match result.plan.role {
        Role::Transmit => ("sent", "to"),
        Role::Receive => ("received", "from"),
    };
    let peer = result.peer.as_ref().map_or_else(|| "nobody".into(), |peer| format!("{to} {peer}"));
    let bytes = crate::render::beside::number(result.bytes() as f64, None);
    let seconds = result.duration_ns() as f64 / 1e9;
    Words {
        title: "A transfer between two hosts".into(),
        sentence: format!("{bytes} bytes {what} {peer} in {seconds:.3}\u{a0}s: {}.", carried::rate(result)),
        there: format!("{}.", carried::there(result)),
        circumstances: vec![
            result.plan.protocol.name().into(),
            format!("buffers of {} bytes", result.plan.buffer_bytes),
            result.way.name().into(),
        ],
    }
}
