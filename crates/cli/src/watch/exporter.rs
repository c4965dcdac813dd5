//! What a run saw so far, for Prometheus: its counts and times of the last second, at /metrics.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};

use anyhow::{Context, Result};
use hyper::StatusCode;
use netfathom_model::record::Measurement;
use netfathom_results::export::{self, Part};
use netfathom_sys::capability;
use tokio::sync::oneshot;

use super::second::Processes;
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

    pub fn set(&self, so_far: &Measurement, processes: &Processes) {
        let parts: Vec<Part<'_>> =
            processes.iter().map(|(name, seen)| Part { label: ("process", name), seen }).collect();
        let text = export::exposition(so_far, &parts);
        *self.page.text.lock().unwrap_or_else(PoisonError::into_inner) = text;
    }
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
