//! Formats of other tools, by these tools' own readers.

use std::process::{Command, Stdio};

use netfathom_model::plan::{Role, Transport};
use netfathom_model::record::{Measurement, TransferEnd, UdpCounts};
use netfathom_results::export::{Extent, Format, What};
use netfathom_results::quantity;
use netfathom_testkit::{needs_programs, test_name};
use serde_json::{Value, json};

use crate::fixtures::ALL;
use crate::readers::{python, read, read_all};
use crate::runs::{exported, run, transfer, written};

pub const OPENMETRICS: &str = "\
import json, sys
from prometheus_client.openmetrics.parser import text_string_to_metric_families as parse
for file in sys.argv[1:]:
    print(json.dumps([{'name': f.name, 'kind': f.type, 'unit': f.unit, 'help': f.documentation,
        'samples': [[s.name, s.labels, s.value] for s in f.samples]} for f in parse(open(file).read())]))";

const EVERYTHING: Extent = Extent { what: What::Trials, all: true };

fn series(text: &[u8]) -> Vec<String> {
    let text = String::from_utf8(text.to_vec()).unwrap();
    text.lines().filter(|line| !line.starts_with('#')).map(str::to_owned).collect()
}

#[test]
fn a_dashboard_gets_the_main_quantities_and_few_series() {
    for name in ALL {
        let run = run(name);
        let (text, _) = written(&run, Format::Openmetrics, What::Trials).unwrap();
        let series = series(&text);
        assert!(series.len() < 200, "{name}: {} series", series.len());
        for quantity in quantity::of(&run.record.measurement).iter().filter(|q| q.main).take(90) {
            let plain = quantity.name.replace(|c: char| !c.is_ascii_alphanumeric(), "_");
            let start = format!("netfathom_{}_{plain}_mean_of_trials", run.record.measurement.name());
            let found: Vec<f64> = series
                .iter()
                .filter_map(|line| line.split_once(' ').filter(|(head, _)| head.starts_with(&start)))
                .map(|(_, value)| value.parse().unwrap())
                .collect();
            let divisor = if quantity.unit == quantity::Unit::Nanoseconds { 1e9 } else { 1.0 };
            let mean = quantity.trials.iter().sum::<f64>() / quantity.trials.len() as f64 / divisor;
            assert!(
                found.iter().any(|v| (v - mean).abs() <= 1e-9 * mean.abs()),
                "{name}: {start}: {found:?}, {mean}"
            );
        }
    }
}

#[test]
fn the_reference_parser_of_openmetrics_reads_every_fixture() {
    let Some(python) = python(test_name!()) else { return };
    let (_dirs, files): (Vec<_>, Vec<_>) =
        ALL.iter().map(|name| exported(&run(name), Format::Openmetrics, EVERYTHING)).unzip();
    for (name, families) in ALL.iter().zip(read_all(&python, OPENMETRICS, &files)) {
        for quantity in quantity::of(&run(name).record.measurement) {
            let divisor = if quantity.unit == quantity::Unit::Nanoseconds { 1e9 } else { 1.0 };
            let values: Vec<f64> = samples(&families, "gauge")
                .filter(|sample| sample[1]["quantity"] == quantity.name.as_str())
                .map(|sample| sample[2].as_f64().unwrap())
                .collect();
            let expected: Vec<f64> = quantity.trials.iter().map(|value| value / divisor).collect();
            assert_eq!(values, expected, "{name}: {}", quantity.name);
        }
    }
}

pub fn samples<'a>(families: &'a Value, kind: &str) -> impl DoubleEndedIterator<Item = &'a Value> {
    let families = families.as_array().unwrap().iter().filter(move |family| family["kind"] == *kind);
    families.flat_map(|family| family["samples"].as_array().unwrap()).collect::<Vec<_>>().into_iter()
}

#[test]
fn histograms_of_openmetrics_count_what_was_measured() {
    let Some(python) = python(test_name!()) else { return };
    let run = run("stack");
    let (_dir, file) = exported(&run, Format::Openmetrics, EVERYTHING);
    let families = read(&python, OPENMETRICS, &file);
    let Measurement::Stack(stack) = &run.record.measurement else { panic!() };
    let of = |quantity: &'static str, part: &'static str| {
        let name = format!("netfathom_stack_{}_times_seconds_{part}", quantity.replace('.', "_"));
        let first = move |s: &&Value| s[0] == name.as_str() && s[1]["trial_index"] == "0";
        samples(&families, "histogram").filter(first).cloned().collect::<Vec<_>>()
    };
    // Times below zero: a bound below zero, and no sum, as OpenMetrics wants it.
    let tx = &stack.trials[0].paths[0].total;
    let buckets = of("tx", "bucket");
    assert_eq!(buckets[0][1]["le"], "-0.000000001");
    let value = |sample: &Value| sample[2].as_f64().unwrap();
    assert_eq!(value(&buckets[0]), tx.negative as f64);
    assert_eq!(value(buckets.last().unwrap()), tx.n as f64);
    assert_eq!(of("tx", "sum").len() + of("tx", "count").len(), 0);
    let lag = &stack.trials[0].load.lag;
    assert_eq!(lag.negative, 0);
    assert_eq!(value(&of("lag", "count")[0]), lag.n as f64);
    assert_eq!(value(&of("lag", "sum")[0]), lag.sum_ns as f64 / 1e9);
    // Bounds are those of whole nanoseconds: nothing that is longer is counted below them.
    let p50_s = lag.p50_ns as f64 / 1e9;
    let below = of("lag", "bucket")
        .into_iter()
        .filter(|b| b[1]["le"].as_str().unwrap().parse::<f64>().unwrap() < p50_s);
    let most = below.map(|bucket| value(&bucket)).fold(0.0, f64::max);
    assert!(most <= lag.n as f64 / 2.0, "{most} of {} lie below their median", lag.n);
}

#[test]
fn promtool_accepts_it() {
    needs_programs!(["promtool"], "prometheus");
    for name in ALL {
        for extent in [EVERYTHING, What::Trials.into()] {
            let (_dir, file) = exported(&run(name), Format::Openmetrics, extent);
            let input = std::fs::File::open(file).unwrap();
            let mut check = Command::new("promtool");
            let shown =
                check.args(["check", "metrics"]).stdin(input).stdout(Stdio::piped()).output().unwrap();
            // 3 is advice on names.
            let message = String::from_utf8_lossy(&shown.stderr);
            assert!(matches!(shown.status.code(), Some(0 | 3)), "{name}: {message}");
        }
    }
}

const HDR: &str = "\
import json, sys
from hdrh.log import HistogramLogReader
from hdrh.histogram import HdrHistogram
reader = HistogramLogReader(sys.argv[1], HdrHistogram(1, 2**62, 3)); shown = []
while (h := reader.get_next_interval_histogram()) is not None:
    shown.append([h.get_tag(), h.get_start_time_stamp(), h.get_end_time_stamp(), h.get_total_count(),
        h.get_value_at_percentile(50), h.get_value_at_percentile(99), h.get_max_value(), h.get_min_value()])
print(json.dumps(shown))";

#[test]
fn a_log_of_histograms_is_read_by_another_hdrhistogram() {
    let Some(python) = python(test_name!()) else { return };
    let run = run("stack");
    let (_dir, file) = exported(&run, Format::Hdr, What::Trials);
    let (_, left_out) = written(&run, Format::Hdr, What::Trials).unwrap();
    let Measurement::Stack(stack) = &run.record.measurement else { panic!() };
    let intervals = read(&python, HDR, &file);
    let began_ms = run.record.started_utc.parse::<jiff::Timestamp>().unwrap().as_millisecond() as f64;
    for trial in stack.trials.iter().filter(|trial| !trial.paths.is_empty()) {
        let kind = if trial.kind == netfathom_model::record::TrialKind::CrossCheck { "witness." } else { "" };
        let tag = format!("{kind}{}", trial.paths[0].direction.name());
        let total = &trial.paths[0].total;
        let begin_ms = began_ms + trial.started_after_ns as f64 / 1e6;
        let of = |i: &&Value| i[0] == tag.as_str() && (i[1].as_f64().unwrap() - begin_ms).abs() < 2.0;
        let shown = intervals.as_array().unwrap().iter().find(of).expect("its interval");
        let length_ms = shown[2].as_f64().unwrap() - shown[1].as_f64().unwrap();
        assert!((length_ms - trial.load.span_ns as f64 / 1e6).abs() < 2.0, "{shown}");
        assert_eq!(shown[3].as_u64().unwrap(), total.n - total.negative);
        // Three digits of an HdrHistogram.
        for (place, ns) in [(4, total.p50_ns), (5, total.p99_ns)] {
            let off = (shown[place].as_f64().unwrap() / ns as f64 - 1.0).abs();
            assert!(off < 0.002, "{shown} and {ns}");
        }
        let message =
            format!("{tag} of the trial of index {}: {} of {}", trial.index, total.negative, total.n);
        assert_eq!(left_out.iter().any(|sentence| sentence.starts_with(&message)), total.negative > 0);
    }
}

const IPERF3: &str = "\
import json, sys
from iperf3.iperf3 import TestResult
r = TestResult(open(sys.argv[1]).read())
print(json.dumps({k: v for k, v in vars(r).items() if k not in ('text', 'json')} | {'type': r.type}))";

#[test]
fn a_transfer_is_read_as_one_of_iperf3() {
    let Some(python) = python(test_name!()) else { return };
    let mut run = run("ttcp");
    let result = transfer(&mut run).clone();
    let (_dir, file) = exported(&run, Format::Iperf3, What::Trials);
    let shown = read(&python, IPERF3, &file);
    assert_eq!(
        (&shown["error"], &shown["type"], &shown["protocol"]),
        (&json!(null), &json!("client"), &json!("TCP"))
    );
    assert_eq!(shown["sent_bytes"], result.bytes());
    assert_eq!(shown["received_bytes"], result.bytes());
    let per_s = shown["sent_bps"].as_f64().unwrap() / 8.0;
    assert!((per_s / result.bytes_per_s().unwrap() - 1.0).abs() < 1e-9);
    let again: u32 = result.streams.iter().filter_map(|s| s.tcp).map(|tcp| tcp.retransmits).sum();
    assert_eq!(shown["retransmits"], again);
    // What the sums are made of.
    let json: Value = serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
    let total = |of: &dyn Fn(&Value) -> &Value| -> u64 {
        json["intervals"].as_array().unwrap().iter().map(|i| of(i)["bytes"].as_u64().unwrap()).sum()
    };
    assert_eq!(total(&|interval| &interval["sum"]), result.bytes());
    assert_eq!(total(&|interval| &interval["streams"][0]), result.streams[0].bytes);
    assert!(json["intervals"].as_array().unwrap().len() > 1, "it was watched");
}

#[test]
fn what_iperf3_knows_and_we_do_not_is_null() {
    let mut run = run("ttcp");
    let result = transfer(&mut run);
    result.plan.protocol = Transport::Udp;
    result.end = TransferEnd::Unconfirmed;
    for stream in &mut result.streams {
        stream.udp = Some(UdpCounts { datagrams: 10, ..UdpCounts::default() });
    }
    let json = |run: &netfathom_results::export::StoredRun| -> Value {
        serde_json::from_slice(&written(run, Format::Iperf3, What::Trials).unwrap().0).unwrap()
    };
    let shown = json(&run);
    assert_eq!(
        (&shown["end"]["sum"]["packets"], &shown["end"]["sum"]["lost_packets"]),
        (&json!(20), &json!(null))
    );
    assert_eq!(shown["end"]["sum_received"]["bytes"], json!(null));
    if let Some(python) = python(test_name!()) {
        let (_dir, file) = exported(&run, Format::Iperf3, What::Trials);
        assert_eq!(read(&python, IPERF3, &file)["packets"], 20);
    }
    let result = transfer(&mut run);
    (result.plan.protocol, result.plan.role) = (Transport::Tcp, Role::Receive);
    result.end = TransferEnd::Broken { why: "reset by peer".into() };
    let shown = json(&run);
    assert_eq!(
        (&shown["error"], &shown["end"]["sum_sent"]["bytes"]),
        (&json!("reset by peer"), &json!(null))
    );
    assert!(shown["start"]["accepted_connection"]["port"].is_u64());
}

const FLENT: &str = "\
import json, sys, types
from flent.runners import NetperfDemoRunner
lines = open(sys.argv[1]).read().splitlines()
result, raw, metadata = NetperfDemoRunner.parse(types.SimpleNamespace(test='TCP_STREAM'), lines, [])
print(json.dumps({'result': result, 'metadata': metadata}))";

#[test]
fn a_transfer_is_read_by_flent_as_one_of_netperf() {
    let Some(python) = python(test_name!()) else { return };
    let mut run = run("ttcp");
    let (_dir, file) = exported(&run, Format::Netperf, What::Trials);
    let shown = read(&python, FLENT, &file);
    let result = transfer(&mut run);
    let points = shown["result"].as_array().unwrap();
    assert!(points.len() > 1, "{shown}");
    let ends: Vec<f64> = points.iter().map(|point| point[0].as_f64().unwrap()).collect();
    assert!(ends.is_sorted());
    let mean = shown["metadata"]["MEAN_VALUE"].as_f64().unwrap();
    assert!((mean - result.bytes_per_s().unwrap() * 8.0 / 1e6).abs() < 0.01, "{mean}");
    let of = |key: &str| &shown["metadata"][key];
    assert_eq!((of("TCP_MSS"), of("CONG_CONTROL")), (&json!(1448), &json!("cubic")));
    assert_eq!((of("BYTES_SENT"), of("BYTES_RECVD")), (&json!(result.bytes()), &json!(-1)));
}
