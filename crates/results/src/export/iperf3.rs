//! What `iperf3 --json` writes, of a transfer. What iperf3 would tell and netfathom does not know is null.

use std::io::Write;

use netfathom_model::plan::{Role, Transport};
use netfathom_model::record::{Record, TransferEnd, TransferResult, TransferStream};
use serde_json::{Map, Value, json};

use super::ExportError;
use super::intervals::{self, Interval, together};

/// The number of the first stream's socket: iperf3 tells a descriptor, readers take it for a name.
const FIRST_SOCKET: usize = 5;

pub fn write(
    out: &mut (dyn Write + Send),
    record: &Record,
    result: &TransferResult,
) -> Result<(), ExportError> {
    let mut all = json!({
        "start": start(record, result),
        "intervals": intervals(result),
        "end": end(result),
    });
    if let Some(error) = error(&result.end) {
        all["error"] = error.into();
    }
    serde_json::to_writer_pretty(&mut *out, &all).map_err(std::io::Error::from)?;
    out.write_all(b"\n")?;
    Ok(())
}

/// iperf3 tells a test that did not come to its end by this member alone.
fn error(end: &TransferEnd) -> Option<String> {
    match end {
        TransferEnd::Broken { why } => Some(why.clone()),
        TransferEnd::Interrupted => Some("interrupted by its user".into()),
        TransferEnd::CutOff { .. } => Some("cut off: the send buffer took too long to arrive".into()),
        TransferEnd::Idle => Some("nothing came any more, and no mark of the end".into()),
        TransferEnd::Whole | TransferEnd::Acknowledged | TransferEnd::Unconfirmed | TransferEnd::Stopped => {
            None
        }
    }
}

fn start(record: &Record, result: &TransferResult) -> Value {
    let plan = &result.plan;
    let began: Option<jiff::Timestamp> = record.started_utc.parse().ok();
    let (local_host, local_port) = address(&result.local);
    let connected: Vec<Value> = (result.streams.iter().enumerate())
        .map(|(place, stream)| {
            let (host, port) = address(stream.peer.as_ref().or(result.peer.as_ref()).map_or("", |p| p));
            json!({
                "socket": FIRST_SOCKET + place,
                "local_host": local_host, "local_port": local_port,
                "remote_host": host, "remote_port": port,
            })
        })
        .collect();
    let mut start = json!({
        "connected": connected,
        "version": record.tool,
        "system_info": system(record),
        "timestamp": {
            "time": began.map(|t| t.strftime("%a, %d %b %Y %H:%M:%S GMT").to_string()),
            "timesecs": began.map(jiff::Timestamp::as_second),
        },
        "cookie": record.id,
        "test_start": {
            "protocol": plan.protocol.name().to_uppercase(),
            "num_streams": result.streams.len(),
            "blksize": plan.buffer_bytes,
            "omit": 0,
            "duration": plan.time_ns.map_or(0.0, |ns| ns as f64 / 1e9),
            "bytes": plan.planned_bytes().unwrap_or(0),
            "blocks": 0,
            "reverse": 0,
            "target_bitrate": plan.pace_bits_per_s.unwrap_or(0),
        },
    });
    if let Some(mss) = result.streams.iter().find_map(|stream| stream.tcp) {
        start["tcp_mss_default"] = mss.mss_bytes.into();
    }
    // Origin output it is, its readers tell by these.
    match (plan.role, &result.peer) {
        (Role::Transmit, _) => start["connecting_to"] = json!({ "host": plan.host, "port": plan.port }),
        (Role::Receive, Some(peer)) => {
            let (host, port) = address(peer);
            start["accepted_connection"] = json!({ "host": host, "port": port });
        }
        (Role::Receive, None) => {}
    }
    start
}

/// As `uname` has it, as far as the record tells.
fn system(record: &Record) -> String {
    let environment = &record.environment;
    let host = environment.host.iter().map(String::as_str);
    ["Linux"].into_iter().chain(host).chain([environment.kernel.as_str()]).collect::<Vec<_>>().join(" ")
}

/// Host and port of `ADDRESS:PORT`.
fn address(text: &str) -> (String, Option<u16>) {
    match text.parse::<std::net::SocketAddr>() {
        Ok(address) => (address.ip().to_canonical().to_string(), Some(address.port())),
        Err(_) => (text.into(), None),
    }
}

fn intervals(result: &TransferResult) -> Vec<Value> {
    let of_streams = |of: &[(usize, Interval)]| -> Vec<Value> {
        of.iter().map(|(place, interval)| of_stream(result, *place, interval)).collect()
    };
    let sum = |of: &[(usize, Interval)]| span(result, &together(of.iter().map(|(_, interval)| *interval)));
    let all = intervals::side_by_side(result);
    all.iter().map(|of| json!({ "streams": of_streams(of), "sum": sum(of) })).collect()
}

/// The members that every span of time has.
fn span(result: &TransferResult, interval: &Interval) -> Value {
    let mut object = json!({
        "start": interval.start_ns as f64 / 1e9,
        "end": interval.end_ns as f64 / 1e9,
        "seconds": interval.seconds(),
        "bytes": interval.bytes,
        "bits_per_second": interval.bits_per_s(),
        "omitted": false,
        "sender": result.plan.role == Role::Transmit,
    });
    if result.plan.protocol == Transport::Tcp && result.plan.role == Role::Transmit {
        object["retransmits"] = interval.retransmits.into();
    }
    object
}

fn of_stream(result: &TransferResult, place: usize, interval: &Interval) -> Value {
    let mut object = span(result, interval);
    object["socket"] = (FIRST_SOCKET + place).into();
    if result.plan.protocol == Transport::Tcp && result.plan.role == Role::Transmit {
        let mss = result.streams[place].tcp.map(|tcp| tcp.mss_bytes);
        object["snd_cwnd"] =
            interval.cwnd.zip(mss).map(|(cwnd, mss)| u64::from(cwnd) * u64::from(mss)).into();
        object["rtt"] = interval.rtt_us.into();
        object["rttvar"] = result.streams[place].tcp.map(|tcp| tcp.rttvar_us).into();
    }
    object
}

fn whole(stream: &TransferStream) -> Interval {
    Interval {
        start_ns: stream.began_ns,
        end_ns: stream.began_ns + stream.duration_ns,
        bytes: stream.bytes,
        retransmits: stream.tcp.map(|tcp| tcp.retransmits.into()),
        rtt_us: None,
        cwnd: None,
    }
}

fn end(result: &TransferResult) -> Value {
    let all = together(result.streams.iter().map(whole));
    let mine = span(result, &all);
    let mut end = Map::new();
    let each = result.streams.iter().enumerate().map(|(place, stream)| end_of_stream(result, place, stream));
    end.insert("streams".into(), each.collect());
    if result.plan.protocol == Transport::Udp {
        end.insert("sum".into(), datagrams(result, mine.clone()));
    }
    let theirs = other_end(result, &all, result.streams.iter().filter_map(closed_ns).max());
    let (sent, received) = match result.plan.role {
        Role::Transmit => (mine, theirs),
        Role::Receive => (theirs, mine),
    };
    end.insert("sum_sent".into(), sent);
    end.insert("sum_received".into(), received);
    end.insert("cpu_utilization_percent".into(), processors(result));
    if let Some(congestion) = &result.congestion {
        let name = if result.plan.role == Role::Transmit {
            "sender_tcp_congestion"
        } else {
            "receiver_tcp_congestion"
        };
        end.insert(name.into(), congestion.as_str().into());
    }
    Value::Object(end)
}

/// The same bytes at the other end, where it is known that they all are there.
fn other_end(result: &TransferResult, mine: &Interval, closed_ns: Option<u64>) -> Value {
    // Of a service that its user ended, some streams may have broken off.
    let confirmed = |end: &TransferEnd| matches!(end, TransferEnd::Whole | TransferEnd::Acknowledged);
    let ended = confirmed(&result.end) || result.end == TransferEnd::Stopped;
    let all = ended && result.streams.iter().all(|stream| confirmed(&stream.end));
    let known = all && result.plan.protocol == Transport::Tcp;
    // Until the peer had closed it had not all of it.
    let end_ns = closed_ns.filter(|_| known).map_or(mine.end_ns, |ns| ns.max(mine.end_ns));
    let mut theirs = span(result, &Interval { end_ns, ..*mine });
    theirs["sender"] = (result.plan.role == Role::Receive).into();
    if let Some(members) = theirs.as_object_mut() {
        members.remove("retransmits");
    }
    if !known {
        theirs["bytes"] = Value::Null;
        theirs["bits_per_second"] = Value::Null;
    }
    theirs
}

/// When the peer had closed, from the beginning of the first stream.
fn closed_ns(stream: &TransferStream) -> Option<u64> {
    Some(stream.began_ns + stream.closed_ns?)
}

fn end_of_stream(result: &TransferResult, place: usize, stream: &TransferStream) -> Value {
    let mut mine = span(result, &whole(stream));
    mine["socket"] = (FIRST_SOCKET + place).into();
    if result.plan.protocol == Transport::Udp {
        return json!({ "udp": counted(mine, stream.udp.map(|udp| udp.datagrams)) });
    }
    if let (Some(tcp), Role::Transmit) = (stream.tcp, result.plan.role) {
        let rtts = || stream.samples.iter().map(|look| look.rtt_us).filter(|&us| us > 0);
        let windows = stream.samples.iter().map(|look| look.cwnd).chain([tcp.cwnd]);
        mine["max_snd_cwnd"] = windows.max().map(|cwnd| u64::from(cwnd) * u64::from(tcp.mss_bytes)).into();
        mine["max_rtt"] = rtts().chain([tcp.rtt_us]).max().into();
        mine["min_rtt"] = tcp.min_rtt_us.into();
        let (n, total) = rtts().fold((0, 0u64), |(n, total), us| (n + 1, total + u64::from(us)));
        mine["mean_rtt"] = total.checked_div(n).unwrap_or(tcp.rtt_us.into()).into();
    }
    let mut theirs = other_end(result, &whole(stream), closed_ns(stream));
    theirs["socket"] = mine["socket"].clone();
    match result.plan.role {
        Role::Transmit => json!({ "sender": mine, "receiver": theirs }),
        Role::Receive => json!({ "sender": theirs, "receiver": mine }),
    }
}

/// Datagrams. This end knows only its own: what was lost is null, never 0.
fn datagrams(result: &TransferResult, object: Value) -> Value {
    counted(object, result.streams.iter().map(|stream| stream.udp.map(|udp| udp.datagrams)).sum())
}

fn counted(mut object: Value, datagrams: Option<u64>) -> Value {
    object["packets"] = datagrams.into();
    for unknown in ["jitter_ms", "lost_packets", "lost_percent"] {
        object[unknown] = Value::Null;
    }
    object
}

/// Of this host's threads; the other host's are not known.
fn processors(result: &TransferResult) -> Value {
    let ns = result.duration_ns();
    let percent = |of: fn(&TransferStream) -> u64| {
        let total: f64 = result.streams.iter().map(|stream| of(stream) as f64).sum();
        (ns > 0).then(|| total * 100.0 / ns as f64)
    };
    json!({
        "host_total": percent(|s| s.user_ns + s.system_ns),
        "host_user": percent(|s| s.user_ns),
        "host_system": percent(|s| s.system_ns),
        "remote_total": null,
        "remote_user": null,
        "remote_system": null,
    })
}
