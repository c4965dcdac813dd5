//! What a sink reports, as lines of text or of JSON.

use std::net::SocketAddr;
use std::time::Duration;

use netfathom_measure::kind::load::sink::SinkEvent;
use netfathom_measure::load::tally::Read;
use netfathom_model::print;
use netfathom_model::units::format_duration;
use serde_json::{Value, json};

use crate::output;

pub fn tell(event: &SinkEvent, as_json: bool) {
    let line = if as_json { json(event).to_string() } else { text(event) };
    // A reader that has gone is no reason to stop counting.
    let _ = output::print(&line);
}

fn text(event: &SinkEvent) -> String {
    match event {
        SinkEvent::Listening { at: address, .. } => format!(
            "listening on {address}, UDP and TCP; on another host: netfathom load send --to {}; Ctrl-C ends",
            reachable(*address)
        ),
        SinkEvent::Begins { peer, hello } => format!(
            "{peer}: {} of {} bytes over {}{}",
            if hello.planned < 1 << 32 {
                format!("{} messages", hello.planned)
            } else {
                "as many messages as it can".into()
            },
            hello.size_bytes,
            format_duration(hello.duration_ns),
            if hello.echo { ", each to be answered" } else { "" }
        ),
        SinkEvent::Ended { peer, sent, read, took } => {
            let lost = sent.accepted.saturating_sub(read.delivered);
            format!(
                "{peer}: {} of {} arrived, {lost} lost{}",
                read.delivered,
                sent.accepted,
                rest(read, read.delivered, *took)
            )
        }
        SinkEvent::Lost { peer, why, read } => {
            format!("{peer}: lost after {} messages: {why}", read.delivered)
        }
        SinkEvent::Strays { flow, from, read, took } => {
            let from = from.map_or_else(String::new, |from| format!(" from {from}"));
            let what = match flow {
                Some(flow) => format!("flow {flow:08x}"),
                None => "no messages of netfathom".into(),
            };
            let datagrams = read.datagrams();
            format!("not announced{from}, {what}: {datagrams} datagrams{}", rest(read, datagrams, *took))
        }
    }
}

/// How others write the address; that of all devices is none to send to.
pub fn reachable(address: SocketAddr) -> String {
    match address.ip().is_unspecified() {
        true => format!("ADDR:{}", address.port()),
        false => address.to_string(),
    }
}

/// The counts that are not zero, and the rate: between the `came` messages there is an interval less.
fn rest(read: &Read, came: u64, took: Duration) -> String {
    let kinds = [
        ("duplicates", read.duplicates),
        ("reordered", read.reordered),
        ("foreign", read.foreign),
        ("truncated", read.truncated),
        ("garbage", read.garbage),
        ("found the socket full", read.dropped),
    ];
    let mut text: String =
        kinds.iter().filter(|k| k.1 > 0).map(|(kind, count)| format!(", {count} {kind}")).collect();
    if came > 1 && took > Duration::from_millis(1) {
        let rate = (came - 1) as f64 / took.as_secs_f64();
        text.push_str(&format!("; {}", print::rate(rate)));
    }
    text
}

fn json(event: &SinkEvent) -> Value {
    match event {
        SinkEvent::Listening { at: address, .. } => json!({"event": "listening", "address": address}),
        SinkEvent::Begins { peer, hello } => json!({"event": "begins", "peer": peer, "hello": hello}),
        SinkEvent::Ended { peer, sent, read, took } => json!({
            "event": "ended", "peer": peer, "sent": sent, "read": counts(read), "seconds": took.as_secs_f64(),
        }),
        SinkEvent::Lost { peer, why, read } => {
            json!({"event": "lost", "peer": peer, "why": why, "read": counts(read)})
        }
        SinkEvent::Strays { flow, from, read, took } => json!({
            "event": "strays", "flow": flow, "from": from, "read": counts(read), "seconds": took.as_secs_f64(),
        }),
    }
}

fn counts(read: &Read) -> Value {
    json!({
        "delivered": read.delivered,
        "duplicates": read.duplicates,
        "reordered": read.reordered,
        "foreign": read.foreign,
        "truncated": read.truncated,
        "garbage": read.garbage,
        "socket_full": read.dropped,
        "cpu_ns": read.cpu_ns,
    })
}

#[cfg(test)]
mod tests {
    use netfathom_measure::load::control::protocol::SendTotals;

    use super::*;

    fn ended(read: Read, took: Duration) -> String {
        let sent = SendTotals { tried: 2000, accepted: 2000, refused: 0 };
        let event = SinkEvent::Ended { peer: ([10, 0, 0, 1], 9).into(), sent, read, took };
        text(&event).split_once(" arrived, ").unwrap().1.to_owned()
    }

    #[test]
    fn the_rate_is_that_of_the_intervals_between_messages() {
        let read = |delivered, duplicates| Read { delivered, duplicates, ..Read::default() };
        assert_eq!(ended(read(3, 0), Duration::from_secs(2)), "1997 lost; 1/s");
        assert_eq!(ended(read(1801, 200), Duration::from_secs(2)), "199 lost, 200 duplicates; 900/s");
        assert_eq!(ended(read(1, 1), Duration::from_secs(2)), "1999 lost, 1 duplicates");
    }
}
