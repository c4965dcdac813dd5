//! What a run saw so far, for Prometheus: its counts and times of the last second, at /metrics.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::thread::{self, JoinHandle};

use anyhow::{Context, Result};
use hyper::body::Bytes;
use hyper::header::ACCEPT;
use hyper::{HeaderMap, StatusCode};
use netfathom_model::record::{Measured, Measurement, WatchProcesses, WatchResult, WatchSocket};
use netfathom_results::export::{self, Exposition, Part};
use netfathom_results::page::printable;
use netfathom_sys::capability;
use tokio::sync::oneshot;

use crate::http::{self, Content, Missing, Site};
use crate::output;

const PATH: &str = "/metrics";
const TEXT: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";
const PROTOBUF: &str =
    "application/vnd.google.protobuf; proto=io.prometheus.client.MetricFamily; encoding=delimited";

/// Served until it is dropped, by a thread of its own.
pub struct Exporter {
    page: Arc<Page>,
    address: SocketAddr,
    end: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

struct Page {
    /// `None` before the first second.
    shown: Mutex<Option<Arc<SoFar>>>,
    is_local: bool,
}

/// A state of the run. Each format is written at the first request for it, so that scrapers alone determine what it costs,
/// and many requests in a second cost no more than one.
struct SoFar {
    measurement: Arc<Measurement>,
    text: OnceLock<Bytes>,
    protobuf: OnceLock<Bytes>,
}

impl SoFar {
    fn new(measurement: Arc<Measurement>) -> Self {
        Self { measurement, text: OnceLock::new(), protobuf: OnceLock::new() }
    }

    fn text(&self) -> Bytes {
        self.text.get_or_init(|| self.exposition().text().into()).clone()
    }

    fn protobuf(&self) -> Bytes {
        self.protobuf.get_or_init(|| self.exposition().protobuf().into()).clone()
    }

    fn exposition(&self) -> Exposition {
        let watched = WatchResult::of(&self.measurement);
        let labeled = watched.map(|of| by_label(&of.processes)).unwrap_or_default();
        let parts: Vec<Part<'_>> =
            labeled.iter().map(|(name, seen)| Part { label: ("process", name.as_str()), seen }).collect();
        export::exposition(&self.measurement, &parts)
    }
}

impl Exporter {
    /// # Errors
    /// If it cannot listen there.
    pub fn start(address: SocketAddr) -> Result<Self> {
        let listener = http::bind(address, "--serve")?;
        let address = listener.local_addr().context("cannot learn the address of the exporter")?;
        let page = Arc::new(Page { shown: Mutex::default(), is_local: address.ip().is_loopback() });
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .context("cannot start the exporter")?;
        let (end, ended) = oneshot::channel();
        let shown = Arc::clone(&page);
        let serve = move || {
            // Strangers reach this thread.
            if let Err(error) = capability::drop_all() {
                output::complain(&error.into());
                return;
            }
            let until = async { drop(ended.await) };
            // It refuses only a listener that was made wrongly.
            drop(runtime.block_on(http::until(until, listener, shown)));
        };
        let thread = thread::Builder::new()
            .name("exporter".into())
            .spawn(serve)
            .context("cannot start a thread for the exporter")?;
        Ok(Self { page, address, end: Some(end), thread: Some(thread) })
    }

    /// Where it is asked.
    pub fn url(&self) -> String {
        format!("http://{}{PATH}", self.address)
    }

    pub fn set(&self, measurement: Arc<Measurement>) {
        let so_far = Some(Arc::new(SoFar::new(measurement)));
        *self.page.shown.lock().unwrap_or_else(PoisonError::into_inner) = so_far;
    }
}

/// Names of processes with series of their own; a label may have as many values.
const MOST_NAMES: usize = 16;
/// Stands for all others, and for those that are not known.
const OTHER: &str = "other";

/// The first names stay: a series that leaves and returns would look like a restart. Names that print alike are one
/// label: Prometheus refuses a page with a series twice.
fn by_label(processes: &[WatchProcesses]) -> BTreeMap<String, WatchSocket> {
    let (mut labels, mut names) = (BTreeMap::<String, WatchSocket>::new(), 0);
    for of in processes {
        names += usize::from(of.name.is_some());
        let label = of.name.as_deref().filter(|_| names <= MOST_NAMES).unwrap_or(OTHER);
        labels.entry(printable(label)).or_default().add(&of.sockets);
    }
    labels
}

impl Drop for Exporter {
    fn drop(&mut self) {
        self.end.take().map(|end| end.send(()));
        self.thread.take().map(JoinHandle::join);
    }
}

impl Site for Page {
    fn is_local(&self) -> bool {
        self.is_local
    }

    async fn content(&self, path: &str, _query: &str, headers: &HeaderMap) -> Result<Content, Missing> {
        if path != PATH {
            return Err(Missing::new(
                StatusCode::NOT_FOUND,
                format!("there is no {path:?} here; {PATH} has all"),
            ));
        }
        // Not held while a format is written: the thread that watches takes the lock, too.
        let Some(so_far) = self.shown.lock().unwrap_or_else(PoisonError::into_inner).clone() else {
            return Err(Missing::new(
                StatusCode::SERVICE_UNAVAILABLE,
                "nothing is watched yet; ask again in a second",
            ));
        };
        let (kind, body) =
            if prefers_protobuf(headers) { (PROTOBUF, so_far.protobuf()) } else { (TEXT, so_far.text()) };
        Ok(Content { kind, policy: "default-src 'none'".into(), body })
    }
}

/// Whether the media type that a scraper prefers, the first of equal ones, is protobuf.
fn prefers_protobuf(headers: &HeaderMap) -> bool {
    let lists = headers.get_all(ACCEPT).iter().filter_map(|list| list.to_str().ok());
    let types = lists.flat_map(|list| list.split(',')).map(|media_type| (quality(media_type), media_type));
    let most = types.reduce(|most, next| if next.0 > most.0 { next } else { most });
    most.is_some_and(|(quality, media_type)| quality > 0.0 && is_protobuf(media_type))
}

fn quality(media_type: &str) -> f64 {
    let quality = parts(media_type).find(|(name, _)| name.eq_ignore_ascii_case("q"));
    let number = quality.map_or(Ok(1.0), |(_, value)| value.parse::<f64>());
    number.ok().filter(|number| number.is_finite()).map_or(0.0, |number| number.clamp(0.0, 1.0))
}

fn is_protobuf(media_type: &str) -> bool {
    parts(PROTOBUF).all(|(name, value)| {
        parts(media_type).any(|of| of.0.eq_ignore_ascii_case(name) && of.1.eq_ignore_ascii_case(value))
    })
}

/// The type, without a value, and the parameters with theirs, which may be quoted.
fn parts(media_type: &str) -> impl Iterator<Item = (&str, &str)> {
    let parts = media_type.split(';').map(|part| part.split_once('=').unwrap_or((part, "")));
    parts.map(|(name, value)| (name.trim(), value.trim().trim_matches('"')))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use netfathom_model::record::{SocketWay, WatchTimes};
    use netfathom_results::store;

    use super::*;

    #[test]
    fn a_format_is_written_once_and_only_if_it_is_requested() {
        let fixture = concat!(env!("CARGO_MANIFEST_DIR"), "/../results/tests/fixtures/watch-both.json");
        let measurement = Arc::new(store::read(Path::new(fixture)).unwrap().measurement);
        let so_far = SoFar::new(Arc::clone(&measurement));
        assert!(so_far.text.get().is_none() && so_far.protobuf.get().is_none());
        let text = so_far.text();
        assert!(text.ends_with(b"# EOF\n") && so_far.protobuf.get().is_none());
        // The same bytes, not equal ones.
        assert_eq!(so_far.text().as_ptr(), text.as_ptr());
        assert_eq!(so_far.protobuf().as_ptr(), so_far.protobuf().as_ptr());
        assert_ne!(SoFar::new(measurement).text().as_ptr(), text.as_ptr());
    }

    fn processes(name: Option<&str>, n: u64) -> WatchProcesses {
        let mut histogram = netfathom_stats::Histogram::new(3);
        histogram.add_many(100, n);
        let total = WatchTimes::new(&histogram, 100 * n as i64);
        let receive = SocketWay { total, stages: Vec::new() };
        let sockets = WatchSocket { receive, ..WatchSocket::default() };
        WatchProcesses { name: name.map(str::to_owned), pids: Vec::new(), sockets }
    }

    #[test]
    fn processes_beyond_the_most_are_one_and_nothing_is_lost() {
        let named = |number| processes(Some(&format!("p{number:02}")), 10);
        let all: Vec<WatchProcesses> = [processes(None, 3)].into_iter().chain((0..20).map(named)).collect();
        let labels = by_label(&all);
        let seen = |label: &str| labels[label].messages();
        assert_eq!((labels.len(), seen("p00"), seen("p15"), seen(OTHER)), (17, 10, 10, 43));
    }

    #[test]
    fn names_that_print_alike_are_one_label() {
        let all = ["a\u{1b}", "a\u{202e}", "b"].map(|name| processes(Some(name), 10));
        let labels = by_label(&all);
        let seen: Vec<(&str, u64)> = labels.iter().map(|(name, of)| (name.as_str(), of.messages())).collect();
        assert_eq!(seen, [("a ", 20), ("b", 10)]);
    }

    #[test]
    fn protobuf_is_for_scrapers_that_prefer_it() {
        let text = "application/openmetrics-text;version=1.0.0";
        let delimited = PROTOBUF.replace(' ', "");
        let prefers = |accept: &str| {
            let headers = HeaderMap::from_iter([(ACCEPT, accept.parse().unwrap())]);
            prefers_protobuf(&headers)
        };
        for accept in [
            // Prometheus 2.42 and 3.
            format!("{delimited},{text};q=0.8,{text};q=0.75,text/plain;version=0.0.4;q=0.5,*/*;q=0.1"),
            format!("{delimited};q=0.6,{text};escaping=allow-utf-8;q=0.5,*/*;q=0.2"),
            format!("{text};q=0.5, {PROTOBUF}"),
            format!("{delimited};q=0.1,{text};q=NaN"),
            format!("{delimited};q=7,{text};q=9"),
            PROTOBUF.replace("delimited", "\"delimited\"").replace("encoding", "Encoding"),
            PROTOBUF.to_owned(),
        ] {
            assert!(prefers(&accept), "{accept}");
        }
        for accept in [
            format!("{text};q=0.6,{delimited};q=0.5"),
            format!("{text},{delimited}"),
            format!("{delimited};q=0"),
            format!("{delimited};Q=0"),
            format!("{delimited};q =0.1,{text};q=0.2"),
            format!("{delimited};q=-1"),
            format!("{delimited};q=NaN"),
            format!("{delimited};q=inf"),
            PROTOBUF.replace("delimited", "text"),
            "application/vnd.google.protobuf".to_owned(),
            "*/*".to_owned(),
        ] {
            assert!(!prefers(&accept), "{accept}");
        }
        assert!(!prefers_protobuf(&HeaderMap::new()));
    }
}
