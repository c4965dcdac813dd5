//! What a run saw so far, for Prometheus: its counts and times of the last second, at /metrics.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::thread::{self, JoinHandle};

use anyhow::{Context, Result};
use hyper::body::Bytes;
use hyper::{HeaderMap, StatusCode};
use netfathom_model::record::{Measured, Measurement, WatchProcesses, WatchResult, WatchSocket};
use netfathom_results::export::{self, Exposition, Part};
use netfathom_results::page::printable;
use netfathom_sys::capability;
use tokio::sync::oneshot;

use crate::http::{self, Content, Missing, Site};
use crate::output;

mod format;

use format::Format;

const PATH: &str = "/metrics";

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
    /// By [`Format`].
    written: [OnceLock<Bytes>; Format::COUNT],
}

impl SoFar {
    fn new(measurement: Arc<Measurement>) -> Self {
        Self { measurement, written: Default::default() }
    }

    fn body(&self, format: Format) -> Bytes {
        self.written[format as usize].get_or_init(|| format.write(&self.exposition())).clone()
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
        let format = Format::preferred(headers);
        let (kind, body) = (format.media_type(), so_far.body(format));
        Ok(Content { kind, policy: "default-src 'none'".into(), body })
    }
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
        let written = || so_far.written.iter().filter(|format| format.get().is_some()).count();
        assert_eq!(written(), 0);
        let text = so_far.body(Format::OpenMetrics);
        assert!(text.ends_with(b"# EOF\n") && written() == 1);
        for format in [Format::OpenMetrics, Format::Plain, Format::Protobuf] {
            // The same bytes, not equal ones.
            assert_eq!(so_far.body(format).as_ptr(), so_far.body(format).as_ptr());
        }
        assert_ne!(SoFar::new(measurement).body(Format::OpenMetrics).as_ptr(), text.as_ptr());
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
}
