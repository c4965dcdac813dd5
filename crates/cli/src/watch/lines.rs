//! A JSON object a second, for other programs.

use netfathom_model::record::{SocketWay, WatchSocket};
use serde_json::{Map, Value, json};

use super::second::Second;

/// What came in a second, without histograms, which do not fit a line.
pub fn line(second: &Second) -> String {
    let sockets: Vec<Value> = second.sockets.iter().map(|of| socket(second, of)).collect();
    let mut line = ways(second, &second.all);
    line.insert("at_ns".into(), second.at_ns.into());
    line.insert("length_ns".into(), second.length_ns.into());
    line.insert("sockets".into(), sockets.into());
    line.insert("other_sockets".into(), ways(second, &second.others).into());
    if second.slow_so_far.is_some() {
        line.insert("slow".into(), json!(second.slow));
    }
    Value::from(line).to_string()
}

fn socket(second: &Second, of: &WatchSocket) -> Value {
    let mut socket = ways(second, of);
    socket.insert("id".into(), of.id.into());
    socket.insert("local".into(), of.local.clone().into());
    socket.insert("peer".into(), of.peer.clone().into());
    socket.insert("process".into(), json!(of.process));
    socket.into()
}

fn ways(second: &Second, of: &WatchSocket) -> Map<String, Value> {
    [("receive", &of.receive), ("send", &of.send)]
        .map(|(name, of)| (name.into(), way(second, of)))
        .into_iter()
        .collect()
}

fn way(second: &Second, of: &SocketWay) -> Value {
    let passed = of.stages.iter().filter(|sum| sum.sum_ns != 0);
    let stages: Map<String, Value> = passed.map(|sum| (sum.stage.name().into(), sum.sum_ns.into())).collect();
    let total = &of.total;
    json!({
        "n": total.n,
        "rate_per_s": second.per_second(total.n),
        "sum_ns": total.sum_ns,
        "mean_ns": total.mean_ns,
        "p50_ns": total.p50_ns,
        "p99_ns": total.p99_ns,
        "stage_sums_ns": stages,
    })
}
