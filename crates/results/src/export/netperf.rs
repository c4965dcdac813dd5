//! What `netperf -D -- -k` writes of a stream test: lines of `KEY=VALUE`, as Flent reads them.

use std::fmt::Write as _;
use std::io::Write;

use netfathom_model::plan::{Role, Transport};
use netfathom_model::record::{Record, TransferEnd, TransferResult, TransferStream};

use super::{ExportError, intervals};

/// netperf's measure of throughput.
const BITS: f64 = 1e6;

/// Writes a transfer, and returns what netperf would tell and is not known.
pub fn write(
    out: &mut (dyn Write + Send),
    record: &Record,
    result: &TransferResult,
) -> Result<Vec<String>, ExportError> {
    if let TransferEnd::Broken { why } = &result.end {
        let why = format!("the transfer broke off, and netperf has no result for that: {why}");
        return Err(ExportError::Empty { wanted: "netperf".into(), why });
    }
    let mut text = String::new();
    let began_s = record.started_utc.parse().ok().map(jiff::Timestamp::as_second);
    // A test of netperf has one stream.
    for (i, of) in intervals::side_by_side(result).into_iter().enumerate() {
        let interval = intervals::together(of.into_iter().map(|(_, interval)| interval));
        let rate = interval.bits_per_s().map_or(0.0, |bits| bits / BITS);
        let ending = began_s.map_or(0.0, |s| s as f64) + interval.end_ns as f64 / 1e9;
        let seconds = interval.seconds();
        let _ = writeln!(text, "NETPERF_INTERIM_RESULT[{i}]={rate:.2}");
        let _ = writeln!(text, "NETPERF_UNITS[{i}]=10^6bits/s");
        let _ = writeln!(text, "NETPERF_INTERVAL[{i}]={seconds:.3}");
        let _ = writeln!(text, "NETPERF_ENDING[{i}]={ending:.3}");
    }
    for (key, value) in totals(result) {
        let _ = writeln!(text, "{key}={}", value.replace(char::is_control, " "));
    }
    out.write_all(text.as_bytes())?;
    let unknown = "netperf also reports what the other end used and where it was bound: one end of a transfer does not know, and those keys are left out";
    Ok(vec![unknown.into()])
}

fn totals(result: &TransferResult) -> Vec<(&'static str, String)> {
    let plan = &result.plan;
    let sends = plan.role == Role::Transmit;
    let mut all = vec![
        ("THROUGHPUT", format!("{:.2}", result.bytes_per_s().unwrap_or(0.0) * 8.0 / BITS)),
        ("THROUGHPUT_UNITS", "10^6bits/s".into()),
        ("ELAPSED_TIME", format!("{:.3}", result.duration_ns() as f64 / 1e9)),
        ("PROTOCOL", plan.protocol.name().to_uppercase()),
        // ttcp leaves it as the kernel has it. Flent cannot do without either; -1 is what netperf writes of what it
        // does not know.
        ("LOCAL_SOCKET_TOS", "0x00".into()),
        ("REMOTE_SOCKET_TOS", "-1".into()),
        ("DIRECTION", if sends { "Send" } else { "Recv" }.into()),
        (if sends { "LOCAL_SEND_SIZE" } else { "LOCAL_RECV_SIZE" }, plan.buffer_bytes.to_string()),
        (if sends { "LOCAL_BYTES_SENT" } else { "LOCAL_BYTES_RECVD" }, result.bytes().to_string()),
    ];
    all.extend(result.congestion.as_ref().map(|name| ("LOCAL_CONG_CONTROL", name.clone())));
    if plan.protocol == Transport::Tcp {
        let mss = result.streams.iter().find_map(|stream| stream.tcp).map(|tcp| tcp.mss_bytes);
        all.extend(mss.map(|bytes| ("TRANSPORT_MSS", bytes.to_string())));
        let again = |stream: &TransferStream| stream.tcp.map(|tcp| u64::from(tcp.retransmits));
        let again: Option<u64> = result.streams.iter().map(again).sum();
        all.extend(again.filter(|_| sends).map(|n| ("LOCAL_TRANSPORT_RETRANS", n.to_string())));
    }
    all
}
