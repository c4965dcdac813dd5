//! A small web server that only shows: GET and HEAD, bounded connections, requests and times.

use std::future::Future;
use std::io;
use std::net::{SocketAddr, TcpListener};

use anyhow::{Error, anyhow};
use hyper::body::Bytes;
use hyper::{HeaderMap, StatusCode};

mod answer;
mod serve;

pub use serve::until;

/// What a server has to show.
pub trait Site: Send + Sync + 'static {
    /// What stands at a path, with what was asked behind it and in the headers.
    fn content(
        &self,
        path: &str,
        query: &str,
        headers: &HeaderMap,
    ) -> impl Future<Output = Result<Content, Missing>> + Send;

    /// Whether it is for this machine alone: then it answers under names of the loopback device only.
    fn is_local(&self) -> bool;
}

pub struct Content {
    pub kind: &'static str,
    pub policy: String,
    pub body: Bytes,
}

pub struct Missing {
    pub status: StatusCode,
    pub why: String,
}

impl Missing {
    pub fn new(status: StatusCode, why: impl ToString) -> Self {
        Self { status, why: why.to_string() }
    }
}

/// Listens there. `option` is what chooses the port.
///
/// # Errors
/// Why not, and what to do.
pub fn bind(address: SocketAddr, option: &str) -> Result<TcpListener, Error> {
    TcpListener::bind(address).map_err(|why| match why.kind() {
        io::ErrorKind::AddrInUse => anyhow!(
            "cannot listen at {address}: another program has that port; choose another with {option}, or port 0 for any"
        ),
        io::ErrorKind::PermissionDenied => anyhow!(
            "cannot listen at {address}: {why}; choose a port from 1024 on with {option}, or port 0 for any"
        ),
        _ => anyhow!("cannot listen at {address}: {why}"),
    })
}
