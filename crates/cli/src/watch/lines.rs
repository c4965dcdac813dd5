//! A JSON object a second, for other programs.

use netfathom_model::record::{CpuWaits, Holders, SocketWay, WatchSocket, WatchTimes};
use serde_json::{Map, Value, json};

use super::counts::Counts;
use super::second::Second;

/// Holders of the CPUs in a line.
const MOST_HOLDERS: usize = 5;

/// What came in a second, without histograms, which do not fit a line.
pub fn line(second: &Second, counts: &Counts) -> String {
    let sockets: Vec<Value> = second.sockets.iter().map(|of| socket(second, of)).collect();
    let mut line = ways(second, &second.all);
    for (way, account) in [("receive", &counts.receive), ("send", &counts.send)] {
        if !account.is_empty() {
            line[way]["account"] = json!(account);
        }
    }
    line.insert("drops".into(), json!(counts.drops));
    line.insert("at_ns".into(), second.at_ns.into());
    line.insert("length_ns".into(), second.length_ns.into());
    line.insert("sockets".into(), sockets.into());
    line.insert("other_sockets".into(), ways(second, &second.others).into());
    line.extend(second.waits.as_ref().map(|of| ("waits".into(), waits(of))));
    let beside = [("application", &second.application), ("answer", &second.answer)];
    let beside = beside.into_iter().filter_map(|(name, of)| Some((name, of.as_ref()?)));
    line.extend(beside.map(|(name, of)| (name.into(), times(second, of).into())));
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
    let mut way = times(second, &of.total);
    way.insert("stage_sums_ns".into(), stages.into());
    way.into()
}

fn times(second: &Second, of: &WatchTimes) -> Map<String, Value> {
    let [p999_ns, max_ns] = of.quantiles_ns([0.999, 1.0]);
    let members: [(&str, Value); 8] = [
        ("n", of.n.into()),
        ("rate_per_s", second.per_second(of.n).into()),
        ("sum_ns", of.sum_ns.into()),
        ("mean_ns", of.mean_ns.into()),
        ("p50_ns", of.p50_ns.into()),
        ("p99_ns", of.p99_ns.into()),
        ("p999_ns", p999_ns.into()),
        ("max_ns", max_ns.into()),
    ];
    members.map(|(name, value)| (name.to_owned(), value)).into_iter().collect()
}

fn waits(of: &CpuWaits) -> Value {
    let holders = Holders::of(&of.holders).into_iter().take(MOST_HOLDERS);
    let holders: Vec<Value> = holders.map(|(by, ns)| json!({ "by": by.to_string(), "ns": ns })).collect();
    json!({ "waited_ns": of.waited_ns, "holders": holders })
}

#[cfg(test)]
mod tests {
    use netfathom_model::record::{Held, Holder};

    use super::*;

    #[test]
    fn a_line_has_its_tail() {
        let mut histogram = netfathom_stats::Histogram::new(5);
        [(1000, 990), (9000, 9), (70_000, 1)].into_iter().for_each(|(ns, n)| histogram.add_many(ns, n));
        let receive = SocketWay { total: WatchTimes::new(&histogram, 0), ..SocketWay::default() };
        let all = WatchSocket { receive, ..WatchSocket::default() };
        let line = line(&Second { all, ..Second::default() }, &Counts::default());
        let line: Value = serde_json::from_str(&line).unwrap();
        let of = |name: &str| line["receive"][name].as_f64().unwrap();
        let near = |ns: f64, wanted: f64| (ns / wanted - 1.0).abs() < 0.05;
        assert!(near(of("p999_ns"), 9000.0) && near(of("max_ns"), 70_000.0), "{line}");
    }

    #[test]
    fn a_line_has_the_five_that_had_the_cpus_most() {
        let held = |pid| Held { by: Holder::Kernel { name: format!("k{pid}") }, ns: pid };
        let waits = CpuWaits { waited_ns: 90, holders: (1..=7).map(held).collect() };
        let line = line(&Second { waits: Some(waits), ..Second::default() }, &Counts::default());
        let line: Value = serde_json::from_str(&line).unwrap();
        let holders = line["waits"]["holders"].as_array().unwrap();
        assert_eq!(line["waits"]["waited_ns"], 90);
        assert_eq!(holders.len(), MOST_HOLDERS);
        assert_eq!(holders[0], json!({ "by": "the kernel's k7", "ns": 7 }));
        assert!(line.get("application").is_none(), "{line}");
    }
}
