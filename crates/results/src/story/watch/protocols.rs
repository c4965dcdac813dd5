//! TCP and UDP on one port, with one sum of messages.

use netfathom_model::record::WatchResult;

use crate::story::number;

/// A smaller part of either changes no mean by much.
pub(super) const LEAST: f64 = 0.01;

/// Such as `40.0 % of received messages are UDP, the others TCP: the times are of both`.
pub(super) fn remark(result: &WatchResult) -> Option<String> {
    let account = &result.account;
    let sent = result.send.as_ref().map(|send| ("sent", send.account.seen, send.account.udp));
    let parts: Vec<String> = sent
        .into_iter()
        .chain([("received", account.seen, account.udp)])
        .map(|(way, seen, udp)| (way, udp as f64 / seen as f64))
        .filter(|(_, part)| (LEAST..=1.0 - LEAST).contains(part))
        .map(|(way, part)| format!("{} of {way}", number::percent(part)))
        .collect();
    // The others would be of Unix sockets, too.
    (!parts.is_empty() && !result.plan.follows_unix()).then(|| {
        let shown = if result.plan.sums_sockets() { "" } else { "; --sockets lists single sockets" };
        format!("{} messages are UDP, the others TCP: the times are of both{shown}", parts.join(" and "))
    })
}
