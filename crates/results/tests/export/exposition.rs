//! What an exporter shows, by the reference parsers.

use netfathom_model::record::{
    Measurement, SocketWay, WatchFound, WatchSocket, WatchTimes, WatchedStage, WatchedSum,
};
use netfathom_results::export::{self, Dialect, Part};
use netfathom_testkit::test_name;

use crate::formats::{OPENMETRICS, samples};
use crate::readers::{python, read};
use crate::runs::run;

/// Every count and every set of times of a run that goes on, in series that do not depend on what came.
#[test]
fn the_reference_parser_reads_what_an_exporter_shows() {
    let Some(python) = python(test_name!()) else { return };
    let Measurement::Watch(watch) = run("watch-both").record.measurement else { panic!() };
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("metrics");
    let sum = |stage: &WatchedStage| WatchedSum { stage: stage.stage, sum_ns: stage.times.sum_ns };
    let stages = watch.stages.iter().map(sum).collect();
    let receive = SocketWay { total: WatchTimes::from(&watch.total), stages };
    let seen = WatchSocket { receive, ..WatchSocket::default() };
    let part = Part { label: ("process", "a \"name\""), seen: &seen };
    let exposition = export::exposition(&Measurement::Watch(watch.clone()), &[part]);
    std::fs::write(&file, exposition.text(Dialect::OpenMetrics)).unwrap();
    let families = read(&python, OPENMETRICS, &file);
    let of = |kind, name: &str, labels: &[(&str, &str)]| {
        let mut all = samples(&families, kind)
            .filter(|s| s[0] == name && labels.iter().all(|&(label, value)| s[1][label] == value));
        all.next_back().unwrap_or_else(|| panic!("no {name} {labels:?}"))[2].as_f64().unwrap()
    };
    let way = |direction| ("direction", direction);
    let seen = |direction| of("counter", "netfathom_watch_seen_messages_total", &[way(direction)]);
    let send = watch.send.as_ref().unwrap();
    assert_eq!((seen("rx"), seen("tx")), (watch.account.seen as f64, send.account.seen as f64));
    let timed = [way("tx"), ("outcome", "timed")];
    assert_eq!(of("counter", "netfathom_watch_messages_total", &timed), send.account.timed as f64);
    let times =
        |part: &str| of("histogram", &format!("netfathom_watch_times_seconds_{part}"), &[("quantity", "rx")]);
    assert_eq!((times("count"), times("bucket")), (watch.total.n as f64, watch.total.n as f64));
    assert_eq!(times("sum"), watch.total.sum_ns as f64 / 1e9);
    let bounds = |family: &str, quantity: &str| {
        let name = format!("netfathom_watch_{family}_seconds_bucket");
        samples(&families, "histogram").filter(|s| s[0] == *name && s[1]["quantity"] == quantity).count()
    };
    assert_eq!((bounds("times", "rx"), bounds("times", "tx.qdisc")), (26, 26));
    let process = ("process", "a \"name\"");
    let of_process =
        of("histogram", "netfathom_watch_process_times_seconds_count", &[process, ("quantity", "rx")]);
    assert_eq!((of_process, bounds("process_times", "rx")), (watch.total.n as f64, 26));
    let sum: f64 = samples(&families, "counter")
        .filter(|s| s[1]["stage"].is_string())
        .map(|s| s[2].as_f64().unwrap())
        .sum();
    assert!((sum - times("sum")).abs() < 1e-6, "{sum}");
    let target = watch.plan.target.arguments();
    assert_eq!(of("gauge", "netfathom_watch_target_info", &[("target", target.as_str())]), 1.0);
    for family in families.as_array().unwrap() {
        let help = family["help"].as_str().unwrap();
        assert!(help.starts_with(char::is_uppercase) && help.ends_with('.'), "{help}");
    }
}

/// By the reference parser of each.
#[test]
fn both_texts_of_an_exporter_have_the_same_samples() {
    let Some(python) = python(test_name!()) else { return };
    let mut measurement = run("watch-slow").record.measurement;
    let Measurement::Watch(watch) = &mut measurement else { panic!() };
    watch.slow.as_mut().unwrap().applications = 4;
    watch.found = Some(WatchFound { processes: 2, sockets: 9, late_processes: 1 });
    let exposition = export::exposition(&measurement, &[]);
    let dir = tempfile::tempdir().unwrap();
    let parsed = |name: &str, parser: &str, text: String| {
        let file = dir.path().join(name);
        std::fs::write(&file, text).unwrap();
        read(&python, parser, &file)
    };
    let open = parsed("open", OPENMETRICS, exposition.text(Dialect::OpenMetrics));
    let plain = OPENMETRICS.replace("prometheus_client.openmetrics.parser", "prometheus_client.parser");
    let plain = parsed("plain", &plain, exposition.text(Dialect::Prometheus));
    for kind in ["counter", "gauge", "histogram"] {
        let of = |families| samples(families, kind).map(|s| [s[0].clone(), s[2].clone()]).collect::<Vec<_>>();
        assert!(!of(&open).is_empty());
        assert_eq!(of(&open), of(&plain), "{kind}");
    }
    let Measurement::Watch(watch) = &measurement else { panic!() };
    let value = |kind, of: &str| {
        let name = format!("netfathom_watch_{of}");
        samples(&open, kind).find(|s| s[0] == name.as_str()).unwrap()[2].as_f64().unwrap()
    };
    let slow = ["slow_messages_total", "slow_answers_total"].map(|of| value("counter", of));
    assert_eq!(slow, [watch.slow.as_ref().unwrap().kept as f64 - 4.0, 4.0]);
    assert_eq!(["processes", "sockets"].map(|of| value("gauge", of)), [2.0, 9.0]);
    assert_eq!(value("counter", "late_processes_total"), 1.0);
}
