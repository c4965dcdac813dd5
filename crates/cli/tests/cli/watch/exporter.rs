//! A run as a target of Prometheus.

use std::os::unix::fs::{PermissionsExt, chown};

use netfathom_testkit::needs_programs;
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};

use super::*;
use crate::child::unprivileged;

/// What a server answers, with its headers.
fn answered(address: &str, request: &str, headers: &str) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    write!(stream, "{request} HTTP/1.1\r\nConnection: close\r\n{headers}\r\n").unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    text
}

/// The same to a request for a path.
pub(super) fn scraped(address: &str, path: &str, host: &str) -> String {
    answered(address, &format!("GET {path}"), &format!("Host: {host}\r\n"))
}

/// The value of a series in a page.
pub(super) fn value(text: &str, series: &str) -> Option<f64> {
    let of = text.lines().find_map(|line| line.strip_prefix(series)?.strip_prefix(' '));
    of.map(|value| value.trim().parse().unwrap())
}

/// Where it is served, which it shows first.
pub(super) fn address(child: &mut Child) -> String {
    let mut line = String::new();
    BufReader::new(child.stderr.as_mut().unwrap()).read_line(&mut line).unwrap();
    line.strip_prefix("http://").and_then(|rest| rest.split('/').next()).expect(&line).to_owned()
}

#[test]
fn prometheus_gets_what_was_seen_so_far() {
    needs_root!();
    let (dir, listener, port) = listening();
    let mut child = watching(&format!("both --port {port} --serve :0 --quiet"), dir.path());
    let address = address(&mut child);
    echo(&listener, 60, 20);
    let seen = |direction| format!("netfathom_watch_seen_messages_total{{direction=\"{direction}\"}}");
    let text = until("the messages", || {
        let text = scraped(&address, "/metrics", &address);
        // Not all: certain tasks of some machines keep programs off their CPU.
        (value(&text, &seen("rx")) >= Some(57.0)).then_some(text)
    });
    assert!(text.contains("content-type: application/openmetrics-text; version=1.0.0"), "{text}");
    assert!(text.ends_with("# EOF\n"), "{text}");
    let nearly_all = |series: &str| (Some(54.0)..=Some(60.0)).contains(&value(&text, series));
    assert!(nearly_all(&seen("tx")), "{text}");
    let timed = "netfathom_watch_messages_total{direction=\"rx\",outcome=\"timed\"}";
    assert!(nearly_all(timed), "{text}");
    let bucket = |le| format!("netfathom_watch_times_seconds_bucket{{quantity=\"rx.blocked\",le=\"{le}\"}}");
    // The reader sleeps for 20 ms each time.
    assert_eq!(value(&text, &bucket("0.016777215")), Some(0.0), "{text}");
    assert!(nearly_all(&bucket("+Inf")), "{text}");
    let protobuf =
        "application/vnd.google.protobuf; proto=io.prometheus.client.MetricFamily; encoding=delimited";
    let headers = format!("Host: {address}\r\nAccept: {protobuf}\r\n");
    let head = answered(&address, "HEAD /metrics", &headers);
    assert!(head.contains(&format!("content-type: {protobuf}\r\n")), "{head}");
    let headers = format!("Host: {address}\r\nAccept: text/plain;version=0.0.4\r\n");
    let plain = answered(&address, "GET /metrics", &headers);
    assert!(plain.contains("content-type: text/plain; version=0.0.4"), "{plain}");
    assert!(plain.contains("\n# TYPE netfathom_watch_seen_messages_total counter\n"), "{plain}");
    let target = format!("netfathom_watch_target_info{{target=\"--port {port}\"}}");
    assert_eq!(value(&text, &target), Some(1.0), "{text}");
    assert!(scraped(&address, "/metrics", "elsewhere.example").starts_with("HTTP/1.1 403"));
    assert!(scraped(&address, "/", &address).starts_with("HTTP/1.1 404"));
    let ended = interrupted(child);
    assert_eq!((ended.status, ended.out.as_str()), (0, ""), "{ended}");
    assert!(TcpStream::connect(&address).is_err());
}

/// The capabilities in effect for a thread of a process, by its name.
fn effective(pid: u32, thread: &str) -> Option<u64> {
    let threads = fs::read_dir(format!("/proc/{pid}/task")).ok()?.flatten();
    let mut all = threads.filter_map(|thread| fs::read_to_string(thread.path().join("status")).ok());
    in_effect(&all.find(|status| status.starts_with(&format!("Name:\t{thread}\n")))?)
}

fn in_effect(status: &str) -> Option<u64> {
    let hex = status.lines().find_map(|line| line.strip_prefix("CapEff:"))?;
    u64::from_str_radix(hex.trim(), 16).ok()
}

#[test]
fn who_answers_strangers_has_no_capability_and_who_watches_has_what_it_needs() {
    needs_root!();
    // In another user's directory root is nothing without its capabilities; in that of its run it is the owner.
    let dir = out();
    chown(dir.path(), Some(65_534), Some(65_534)).unwrap();
    fs::set_permissions(dir.path(), fs::Permissions::from_mode(0o755)).unwrap();
    let child = watching("--port 1 --serve :0 --quiet", dir.path());
    until("the exporter", || (effective(child.id(), "exporter")? == 0).then_some(()));
    // CAP_DAC_READ_SEARCH, CAP_SYS_PTRACE, CAP_SYS_ADMIN, CAP_PERFMON, CAP_BPF.
    let needed: u64 = [2, 19, 21, 38, 39].iter().map(|bit: &u32| 1_u64 << bit).sum();
    let had = in_effect(&fs::read_to_string("/proc/self/status").unwrap()).unwrap();
    until("the thread that watches", || (effective(child.id(), "netfathom")? == needed & had).then_some(()));
    let ended = interrupted(child);
    // No message came.
    assert_eq!(ended.status, 3, "{ended}");
    assert_eq!(crate::child::record(dir.path()).unwrap().state, State::Complete);
}

#[test]
fn an_exporter_at_a_taken_port_is_refused() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let ended = run(&mut netfathom(&format!("watch --port 1 --serve {}", taken.local_addr().unwrap())));
    ended.exited(1).explains(&["another program has that port; choose another with --serve"]);
}

#[test]
fn an_exporter_that_has_nothing_to_serve_is_not_announced() {
    let dir = out();
    let ended = run(unprivileged("watch --port 1 --serve :0").arg("--out").arg(dir.path())).exited(1);
    assert!(!ended.err.contains("/metrics"), "{ended}");
}

#[test]
fn prometheus_gets_processes_by_their_names() {
    needs_root!();
    let (dir, listener, port) = listening();
    let mut child = watching(&format!("--port {port} --serve :0 --sockets --quiet"), dir.path());
    let address = address(&mut child);
    // After the first second.
    until_holds("the first second", || scraped(&address, "/metrics", &address).contains("seen_messages"));
    echo(&listener, 60, 20);
    let own = fs::read_to_string("/proc/self/comm").unwrap();
    let series = |name: &str, more: &str| {
        format!("netfathom_watch_process_{name}{{process=\"{}\",{more}}}", own.trim())
    };
    until_holds("its process", || {
        let text = scraped(&address, "/metrics", &address);
        let timed = value(&text, &series("times_seconds_count", "quantity=\"rx\""));
        let blocked = value(&text, &series("stage_seconds_total", "stage=\"rx.blocked\""));
        // A wake-up that no program saw is in another stage.
        timed >= Some(54.0) && blocked >= Some(0.02 * 54.0)
    });
    assert_eq!(interrupted(child).status, 0);
}

/// Scrapes an exporter each second.
struct Prometheus {
    address: String,
    _server: Killed,
    _data: tempfile::TempDir,
}

impl Prometheus {
    fn of(exporter: &str) -> Self {
        let data = out();
        let config = data.path().join("prometheus.yml");
        let targets = format!("[{{targets: [\"{exporter}\"]}}]");
        let jobs = format!("[{{job_name: netfathom, static_configs: {targets}}}]");
        fs::write(&config, format!("global: {{scrape_interval: 1s}}\nscrape_configs: {jobs}\n")).unwrap();
        let address = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string();
        let mut command = Command::new("prometheus");
        command.arg("--config.file").arg(config).arg("--storage.tsdb.path").arg(data.path().join("tsdb"));
        command.args(["--enable-feature=native-histograms", "--web.listen-address", &address]);
        let server = command.current_dir("/").stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        let prometheus = Self { address, _server: Killed(server), _data: data };
        until("prometheus", || TcpStream::connect(&prometheus.address).ok());
        prometheus
    }

    /// The value of an expression; `None` where it has no series.
    fn value(&self, expression: &str) -> Option<f64> {
        let path = format!("/api/v1/query?query={}", utf8_percent_encode(expression, NON_ALPHANUMERIC));
        let answer = scraped(&self.address, &path, &self.address);
        let answer: Value = serde_json::from_str(answer.split_once("\r\n\r\n")?.1).ok()?;
        answer["data"]["result"][0]["value"][1].as_str()?.parse().ok()
    }
}

/// Quantiles of octaves would be off by up to a factor of two.
#[test]
fn prometheus_has_quantiles_as_exact_as_the_record() {
    needs_root!();
    needs_programs!(["prometheus"], "prometheus");
    let (dir, listener, port) = listening();
    let mut child = watching(&format!("--port {port} --serve :0 --quiet"), dir.path());
    let address = address(&mut child);
    let prometheus = Prometheus::of(&address);
    echo(&listener, 60, 20);
    let scraped = || scraped(&address, "/metrics", &address);
    let followed = |text: &str| value(text, "netfathom_watch_followed_seconds_total");
    let echoed = followed(&scraped());
    let labels = "{quantity=\"rx.blocked\"}";
    let native = format!("netfathom_watch_times_seconds{labels}");
    let counter = "netfathom_watch_seen_messages_total{direction=\"rx\"}";
    let n = until("all messages", || {
        let text = scraped();
        let shown = |part: &str| value(&text, &format!("netfathom_watch_times_seconds_{part}{labels}"));
        let is_same = |part: &str| shown(part) == prometheus.value(&format!("histogram_{part}({native})"));
        let is_all = followed(&text) > echoed && value(&text, counter) == prometheus.value(counter);
        shown("count").filter(|_| is_all && is_same("count") && is_same("sum"))
    });
    let p50_s = prometheus.value(&format!("histogram_quantile(0.5, {native})")).unwrap();
    assert_eq!(interrupted(child).status, 0);
    let record = crate::child::record(dir.path()).unwrap();
    let stages = &result(&record).stages;
    let times = &stages.iter().find(|s| s.stage == WatchStage::Blocked).unwrap().times;
    assert!(n >= 54.0 && n == times.n as f64, "{n} of {}", times.n);
    let bucket = 1.0 + 1.0 / f64::from(1 << times.grain);
    let off = p50_s * 1e9 / times.p50_ns as f64;
    assert!((1.0 / bucket..=bucket).contains(&off), "{p50_s} s, {} ns in the record", times.p50_ns);
}
