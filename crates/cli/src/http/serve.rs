//! Connections: how many, how long, and how much of a request.

use std::collections::VecDeque;
use std::future::Future;
use std::io;
use std::net::TcpListener;
use std::sync::Arc;
use std::time::Duration;

use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::TcpStream;
use tokio::task::AbortHandle;

use super::Site;
use super::answer::answer;

/// A browser needs six. Beyond these the oldest is closed, so that idle connections keep no client out.
const MOST_CONNECTIONS: usize = 64;
/// What a request's line and headers may take to come, and to be.
const HEADER_TIME: Duration = Duration::from_secs(10);
const MOST_HEADER_BYTES: usize = 16 * 1024;
/// What one request may take in all, drawing and slow readers included.
const REQUEST_TIME: Duration = Duration::from_secs(120);
/// Pause before the next accept where the system has no descriptors left.
const BREATH: Duration = Duration::from_millis(100);

/// Serves until `end`.
///
/// # Errors
/// If the listener refuses to be watched.
pub async fn until<S: Site>(
    end: impl Future<Output = ()>,
    listener: TcpListener,
    site: Arc<S>,
) -> io::Result<()> {
    listener.set_nonblocking(true)?;
    let mut end = std::pin::pin!(end);
    let listener = tokio::net::TcpListener::from_std(listener)?;
    let mut open = VecDeque::new();
    loop {
        tokio::select! {
            () = &mut end => return Ok(()),
            came = listener.accept() => match came {
                Ok((stream, _)) => admit(&mut open, stream, &site),
                // A connection that is gone again, or no descriptor for it.
                Err(_) => tokio::time::sleep(BREATH).await,
            },
        }
    }
}

fn admit<S: Site>(open: &mut VecDeque<AbortHandle>, stream: TcpStream, site: &Arc<S>) {
    open.retain(|connection| !connection.is_finished());
    if open.len() >= MOST_CONNECTIONS
        && let Some(oldest) = open.pop_front()
    {
        oldest.abort();
    }
    let site = Arc::clone(site);
    let connection = async move {
        let service = service_fn(|request| answer(Arc::clone(&site), request));
        let one = http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(HEADER_TIME)
            .max_buf_size(MOST_HEADER_BYTES)
            // A request a connection: what is open is then what is being answered.
            .keep_alive(false)
            .serve_connection(TokioIo::new(stream), service);
        // Whoever breaks off or is too slow hears no more.
        let _ = tokio::time::timeout(REQUEST_TIME, one).await;
    };
    open.push_back(tokio::spawn(connection).abort_handle());
}
