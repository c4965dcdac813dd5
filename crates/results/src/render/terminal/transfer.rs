//! `netfathom ttcp`: what went, how fast, and what the kernel said of it.

use netfathom_model::plan::Role;
use netfathom_model::record::{Record, TcpState, TransferResult, TransferStream, UdpCounts};

use super::page::Page;
use super::table::{Align, Table};
use super::{headline, notes, number};
use crate::render::carried;

pub(super) fn draw(page: &mut Page, record: &Record, result: &TransferResult) {
    headline::draw(page, record, &answer(result), &carried::there(result));
    plan(page, result);
    streams(page, result);
    for (i, stream) in result.streams.iter().enumerate() {
        if let Some(tcp) = &stream.tcp {
            connection(page, i, tcp);
        }
        if let Some(udp) = &stream.udp {
            datagrams(page, i, udp);
        }
    }
    notes::findings(page, record);
}

/// Such as `16,777,216 bytes sent to 10.0.0.2:5001 over tcp in 1.341 s: 100 Mb/s`.
pub(super) fn answer(result: &TransferResult) -> String {
    let (what, to) = match result.plan.role {
        Role::Transmit => ("sent", "to"),
        Role::Receive => ("received", "from"),
    };
    let peer = result.peer.as_ref().map_or_else(|| "nobody".into(), |peer| format!("{to} {peer}"));
    format!(
        "{} bytes {what} {peer} over {} in {} s: {}",
        number::count(result.bytes()),
        result.plan.protocol.name(),
        number::seconds(result.duration_ns()),
        carried::rate(result)
    )
}

fn plan(page: &mut Page, result: &TransferResult) {
    page.heading("What was asked for");
    for (name, value) in carried::plan_words(&result.plan) {
        page.bullet(&format!("{name}: {value}"));
    }
}

fn streams(page: &mut Page, result: &TransferResult) {
    page.heading("Streams");
    let heads = ["stream", "bytes", "calls", "seconds", "user s", "system s", "ns per KiB"];
    let mut table = Table::new(&heads.map(|h| (h, Align::Right)));
    for (i, s) in result.streams.iter().enumerate() {
        table.row(&[
            (i + 1).to_string(),
            number::count(s.bytes),
            number::count(s.calls),
            number::seconds(s.duration_ns),
            number::seconds(s.user_ns),
            number::seconds(s.system_ns),
            per_kib(s),
        ]);
    }
    page.table(&table);
    page.note(&format!("the bytes were {}; times of the processor are those of this end", result.way.name()));
    if let Some(text) = carried::checksum(result) {
        page.note(&text);
    }
    if let Some(closed) = result.streams.iter().filter_map(|s| s.closed_ns).max() {
        page.note(&format!("the receiver had closed after {} s", number::seconds(closed)));
    }
}

fn per_kib(stream: &TransferStream) -> String {
    carried::cpu_per_kib(stream).map_or_else(|| "n/a".into(), |ns| format!("{ns:.0}"))
}

fn connection(page: &mut Page, index: usize, tcp: &TcpState) {
    page.heading(&format!("Connection of stream {} at its end", index + 1));
    for (name, value) in carried::connection_words(tcp) {
        page.bullet(&format!("{name}: {value}"));
    }
}

fn datagrams(page: &mut Page, index: usize, udp: &UdpCounts) {
    page.heading(&format!("Datagrams of stream {}", index + 1));
    for (name, value) in carried::datagram_words(udp) {
        page.bullet(&format!("{name}: {value}"));
    }
}
