//! `netfathom ttcp`: what was sent, how fast, what limited it, and the kernel's account of the connection.

mod counts;
mod over_time;

use std::iter;

use crate::page::{Cell, Page, Table, shortened};
use netfathom_model::plan::{Role, Transport};
use netfathom_model::record::{Cause, Explanation, Packets, TransferResult, TransferStream};

use super::{Body, MOST_ROWS, Story, Words, contention, more, number, place::Site};

pub(super) use counts::ended;
pub use counts::{packet, packet_words};

/// Columns of a bar that stands for all of the time.
const BAR: usize = 12;
/// Letters of a host in the answer.
const LONGEST_PEER: usize = 24;
/// Streams beyond which only the first are shown in detail.
const MOST_DETAILED: usize = 8;

impl Story for TransferResult {
    fn body(&self) -> Body<'_> {
        let mut page = Page::default();
        if let Some(explanation) = &self.explanation {
            explain(&mut page, explanation);
        }
        streams(&mut page, self);
        if let Some(seen) = &self.packets {
            packets(&mut page, self, seen);
        }
        let plan = counts::plan_words(&self.plan);
        super::asked_for(&mut page, &plan);
        for (i, stream) in self.streams.iter().enumerate().take(MOST_DETAILED) {
            detail(&mut page, i, stream);
        }
        words(&mut page, "CPU time", self.cost.as_ref().map(counts::cost_words));
        words(&mut page, "Senders served", self.served.as_ref().map(counts::served_words));
        Body {
            title: match self.plan.protocol {
                Transport::Tcp => "A transfer over TCP",
                Transport::Udp => "A transfer over UDP",
            }
            .into(),
            done: counts::finished(self),
            page,
            remarks: remarks(self),
            plan,
            left_out: &[],
        }
    }

    /// Such as `100 Mb/s to 10.0.0.2:5001 over TCP, limited by the send buffer 41.0 % of the time`.
    fn answer(&self) -> String {
        let over = self.plan.protocol.title();
        if let Some(served) = &self.served {
            let streams = number::count(served.whole + served.broken + served.too_long);
            let (bytes, most) = (number::count(served.bytes), served.most_at_once);
            return format!(
                "{bytes} bytes received over {over} in {streams} streams, at most {most} at once"
            );
        }
        let to = if self.plan.role == Role::Transmit { "to" } else { "from" };
        let peer = self.peer.as_deref().unwrap_or("an unknown peer");
        // The port of a sender means nothing.
        let host = peer.rsplit_once(':').filter(|_| self.plan.role == Role::Receive).map(|(host, _)| host);
        let peer = shortened(host.unwrap_or(peer), LONGEST_PEER);
        let limit = self.explanation.as_ref().map_or_else(String::new, limit);
        format!("{} {to} {peer} over {over}{limit}", counts::rate(self))
    }

    fn site(&self) -> Site {
        let other = self.peer.as_deref().unwrap_or("another host");
        match self.plan.role {
            Role::Transmit => Site::To(other.into()),
            Role::Receive => Site::From(other.into()),
        }
    }
}

fn limit(e: &Explanation) -> String {
    match e.cause {
        Cause::Nothing | Cause::TooShort => format!("; {}", e.text),
        // A share beside which another is larger says nothing of what the remedy brings.
        cause if e.others.iter().any(|(_, other)| *other > e.share) => {
            format!(", limited by {}", named(cause))
        }
        cause => format!(", {}", limited(cause, e.share)),
    }
}

/// Such as `limited by the send buffer 41.0 % of the time`.
pub(super) fn limited(cause: Cause, share: f64) -> String {
    match cause {
        Cause::Nothing | Cause::TooShort => cause.name().into(),
        _ => format!("limited by {} {} of the time", named(cause), number::percent(share)),
    }
}

/// Such as `the send buffer`.
fn named(cause: Cause) -> String {
    let article = match cause {
        Cause::DelayedAcknowledgement
        | Cause::Nagle
        | Cause::Loss
        | Cause::Pace
        | Cause::SmallWrites
        | Cause::SmallReads => "",
        _ => "the ",
    };
    format!("{article}{}", cause.name())
}

/// What to do; without an explanation how much went, and how long it took.
fn remarks(result: &TransferResult) -> Vec<String> {
    let buffered = counts::buffered_words(result);
    if let Some(explanation) = &result.explanation {
        return iter::once(format!("what to do: {}", explanation.remedy)).chain(buffered).collect();
    }
    let what = if result.plan.role == Role::Transmit { "sent" } else { "received" };
    let (bytes, time) = (number::count(result.bytes()), number::seconds(result.duration_ns()));
    if result.served.is_some() {
        return Vec::new();
    }
    iter::once(format!("{bytes} bytes {what} in {time}")).chain(buffered).collect()
}

/// The one thing that matters most, with what makes us think so.
fn explain(page: &mut Page, e: &Explanation) {
    page.main("What limits it");
    page.text(&counts::cause_words(e));
    e.evidence.iter().for_each(|seen| page.bullet(seen));
    if e.others.is_empty() {
        return;
    }
    page.gap();
    let mut table = Table::of("<cause|of the time|<|<").bars(2, BAR);
    let causes: Vec<_> = iter::once((e.cause, e.share)).chain(e.others.iter().copied()).collect();
    for &(cause, share) in &causes {
        let cells = [counts::row_name(cause).into(), number::percent(share).into(), Cell::Bar { bar: share }];
        table.row_open(cells, counts::meaning(cause));
    }
    page.table(table);
    if causes.iter().map(|(_, share)| share).sum::<f64>() > 1.01 {
        page.note(match e.cause {
            Cause::Processor | Cause::BothProcessors if e.others.iter().all(|(cause, _)| is_queue(*cause)) => {
                "the others overlap with it: queues fill behind a busy CPU, which makes them no limits of their own"
            }
            _ => "several causes overlap",
        });
    }
    if causes.iter().any(|(_, other)| *other > e.share) {
        page.note(
            "the first is named because it was set (-b, SO_RCVBUF), though another took more of the time",
        );
    }
}

fn streams(page: &mut Page, result: &TransferResult) {
    page.main(if result.served.is_some() { "Streams, the last ones that ended" } else { "Streams" });
    over_time::draw(page, result);
    table(page, result);
    page.rest();
    page.note(&format!("the bytes were {}; CPU times are those of this end", result.way.name()));
    if let Some(name) = &result.congestion {
        page.note(&format!("congestion control: {name}"));
    }
    result.streams.iter().filter_map(counts::checksum).for_each(|text| page.note(&text));
    if let Some(closed) = result.streams.iter().filter_map(|s| s.closed_ns).max() {
        page.note(&format!("the receiver had closed after {}", number::seconds(closed)));
    }
}

fn table(page: &mut Page, result: &TransferResult) {
    let mut table = Table::of("stream|<peer|bytes|calls|time|CPU time|CPU/KiB");
    for (i, s) in result.streams.iter().enumerate().take(MOST_ROWS) {
        table.row([
            (i + 1).to_string(),
            s.peer.clone().unwrap_or_else(|| "-".into()),
            number::short_count(s.bytes),
            number::short_count(s.calls),
            number::seconds(s.duration_ns),
            number::seconds(s.cpu_ns()),
            counts::cpu_per_kib(s).map_or_else(|| "n/a".into(), number::mean),
        ]);
    }
    page.table(table);
    more(page, result.streams.len(), "stream");
    for (i, s) in result.streams.iter().enumerate() {
        if let (how, Some(rest)) = ended(&s.end) {
            page.bullet(&format!("stream {}: {how}{rest}", i + 1));
        }
    }
}

/// Packets as tcpdump writes them, and what all of them have in common.
fn packets(page: &mut Page, result: &TransferResult, seen: &Packets) {
    page.main("Packets of the first stream");
    page.text(&counts::packet_words(seen));
    let mut table = Table::of("time|<from|<packet");
    for packet in &seen.shown {
        let from = if packet.sent { &result.local } else { result.peer.as_ref().unwrap_or(&result.local) };
        table.row([format!("{:.6} s", packet.at_ns as f64 / 1e9), from.clone(), counts::packet(packet)]);
    }
    page.table(table);
}

fn detail(page: &mut Page, index: usize, stream: &TransferStream) {
    let titled = |title: &str| format!("{title} of stream {}", index + 1);
    let zero = stream.zero_copy.as_ref();
    words(page, &titled("Copies"), zero.map(|z| vec![("bytes", counts::zero_copied(z))]));
    words(page, &titled("Calls"), stream.calls_took.as_ref().map(counts::call_words));
    if let Some(waits) = &stream.waits {
        let heading = format!("Who had the CPU while stream {} waited for one", index + 1);
        contention::cpu_waits(page, &heading, waits, "");
    }
    let connection = stream.tcp.as_ref().map(counts::connection_words);
    words(page, &(titled("Connection") + " at its end"), connection);
    words(page, &titled("Datagrams"), stream.udp.as_ref().map(counts::datagram_words));
}

fn words(page: &mut Page, heading: &str, words: Option<Words>) {
    words.iter().for_each(|words| super::words(page, heading, words));
}

/// Whether it is a queue that can be full as the CPU is busy.
fn is_queue(cause: Cause) -> bool {
    matches!(cause, Cause::SendBuffer | Cause::ReceiveWindow | Cause::Path | Cause::SlowReceiver)
}
