//! The answer of `netfathom ttcp`.

use netfathom_model::plan::Role;
use netfathom_model::record::TransferResult;

use super::Words;
use crate::story::carried;

pub fn words(result: &TransferResult) -> Words {
    let (what, to) = match result.plan.role {
        Role::Transmit => ("sent", "to"),
        Role::Receive => ("received", "from"),
    };
    let number = |n: u64| crate::story::beside::number(n as f64, None);
    let sentence = match (&result.served, &result.peer) {
        (Some(served), _) => format!(
            "{} bytes {what} from {} streams, at most {} at once.",
            number(served.bytes),
            number(served.whole + served.broken + served.too_long),
            served.most_at_once
        ),
        (None, peer) => format!(
            "{} bytes {what} {} in {:.3}\u{a0}s: {}.",
            number(result.bytes()),
            peer.as_ref().map_or_else(|| "nobody".into(), |peer| format!("{to} {peer}")),
            result.duration_ns() as f64 / 1e9,
            carried::rate(result)
        ),
    };
    Words {
        title: "A transfer between two hosts".into(),
        sentence: sentence + &held_up(result),
        there: format!("{}.", carried::there(result)),
        circumstances: vec![
            result.plan.protocol.name().into(),
            format!("buffers of {} bytes", result.plan.buffer_bytes),
            result.way.name().into(),
        ],
    }
}

fn held_up(result: &TransferResult) -> String {
    let said = |e: &netfathom_model::record::Explanation| {
        format!(" What held it up: {}.", carried::cause_words(e.cause, e.share))
    };
    result.explanation.as_ref().map_or_else(String::new, said)
}
