//! What a run saw so far, for Prometheus: its counts and times of the last second, at /metrics.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};

use anyhow::{Context, Result};
use hyper::StatusCode;
use netfathom_model::record::{Measurement, WatchProcesses, WatchSocket};
use netfathom_results::export::{self, Part};
use netfathom_sys::capability;
use tokio::sync::oneshot;

use crate::http::{self, Content, Missing, Site};
use crate::output;

const PATH: &str = "/metrics";
const KIND: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// Served until it is dropped, by a thread of its own.
pub struct Exporter {
    page: Arc<Page>,
    address: SocketAddr,
    end: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

struct Page {
    /// Empty before the first second.
    text: Mutex<String>,
    is_local: bool,
}

impl Exporter {
    /// # Errors
    /// If it cannot listen there.
    pub fn start(address: SocketAddr) -> Result<Self> {
        let listener = http::bind(address, "--serve")?;
        let address = listener.local_addr().context("cannot learn the address of the exporter")?;
        let page = Arc::new(Page { text: Mutex::default(), is_local: address.ip().is_loopback() });
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

    pub fn set(&self, so_far: &Measurement, processes: &[WatchProcesses]) {
        let labeled = by_label(processes);
        let part = |(&name, seen)| Part { label: ("process", name), seen };
        let parts: Vec<Part<'_>> = labeled.iter().map(part).collect();
        let text = export::exposition(so_far, &parts);
        *self.page.text.lock().unwrap_or_else(PoisonError::into_inner) = text;
    }
}

/// Names of processes with series of their own; a label may have as many values.
const MOST_NAMES: usize = 16;
/// Stands for all others, and for those that are not known.
const OTHER: &str = "other";

/// The first names stay: a series that leaves and returns would look like a restart.
fn by_label(processes: &[WatchProcesses]) -> BTreeMap<&str, WatchSocket> {
    let (mut labels, mut names) = (BTreeMap::<&str, WatchSocket>::new(), 0);
    for of in processes {
        names += usize::from(of.name.is_some());
        let label = of.name.as_deref().filter(|_| names <= MOST_NAMES).unwrap_or(OTHER);
        labels.entry(label).or_default().add(&of.sockets);
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

    async fn content(&self, path: &str, _query: &str) -> Result<Content, Missing> {
        if path != PATH {
            return Err(Missing::new(
                StatusCode::NOT_FOUND,
                format!("there is no {path:?} here; {PATH} has all"),
            ));
        }
        let text = self.text.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if text.is_empty() {
            return Err(Missing::new(
                StatusCode::SERVICE_UNAVAILABLE,
                "nothing is watched yet; ask again in a second",
            ));
        }
        Ok(Content { kind: KIND, policy: "default-src 'none'".into(), text })
    }
}

#[cfg(test)]
mod tests {
    use netfathom_model::record::{SocketWay, WatchTimes};

    use super::*;

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
}
