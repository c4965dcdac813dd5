//! What there is to ask for: the page, the list, and the report of each run, drawn when it is asked for.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use hyper::StatusCode;
use netfathom_results::render::{html, listed};
use netfathom_results::store::{self, ReadError};
use percent_encoding::percent_decode_str;
use tokio::sync::Semaphore;

use super::listing;

/// How many answers are worked on at once: the machine may be measuring.
pub const MOST_AT_WORK: usize = 2;
/// Where reports stand.
pub const REPORTS: &str = "report/";
/// A report brings its own policy, which stands in it; this is what only a header can say.
const REPORT_POLICY: &str = "frame-ancestors 'none'";
const HTML: &str = "text/html; charset=utf-8";

/// The runs of one directory.
pub struct Site {
    out: PathBuf,
    at_work: Arc<Semaphore>,
}

/// What is sent.
pub struct Content {
    pub kind: &'static str,
    pub policy: String,
    pub text: String,
}

/// Why nothing is.
pub struct Missing {
    pub status: StatusCode,
    pub why: String,
}

impl Missing {
    fn new(status: StatusCode, why: impl ToString) -> Self {
        Self { status, why: why.to_string() }
    }
}

/// What a path asks for.
enum Wanted {
    Page,
    List,
    Icon,
    Report(OsString),
}

impl Site {
    /// Over the runs in `out`.
    pub fn new(out: PathBuf) -> Self {
        Self { out, at_work: Arc::new(Semaphore::new(MOST_AT_WORK)) }
    }

    /// What stands at a path of ours.
    pub async fn content(&self, path: &str) -> Result<Content, Missing> {
        let wanted = wanted(path).ok_or_else(|| {
            Missing::new(StatusCode::NOT_FOUND, format!("there is no {path:?} here; / has all"))
        })?;
        let failed = |why: &dyn std::fmt::Display| Missing::new(StatusCode::INTERNAL_SERVER_ERROR, why);
        let turn = Arc::clone(&self.at_work).acquire_owned().await.map_err(|e| failed(&e))?;
        let out = self.out.clone();
        let work = tokio::task::spawn_blocking(move || {
            let content = make(&out, wanted);
            // Kept until the work is done, also where nobody waits for it any more.
            drop(turn);
            content
        });
        work.await.map_err(|e| failed(&e))?
    }
}

/// `None` of a path where nothing stands.
fn wanted(path: &str) -> Option<Wanted> {
    match path.strip_prefix('/')? {
        "" => Some(Wanted::Page),
        "runs.json" => Some(Wanted::List),
        "favicon.ico" => Some(Wanted::Icon),
        rest => {
            let name: Vec<u8> = percent_decode_str(rest.strip_prefix(REPORTS)?).collect();
            Some(Wanted::Report(OsString::from_vec(name)))
        }
    }
}

fn make(out: &Path, wanted: Wanted) -> Result<Content, Missing> {
    let failed = |why: &dyn std::fmt::Display| Missing::new(StatusCode::INTERNAL_SERVER_ERROR, why);
    let content = |kind, policy: &str, text| Content { kind, policy: policy.into(), text };
    match wanted {
        Wanted::Page => {
            let page = listed::render(&out.display().to_string()).map_err(|e| failed(&e))?;
            Ok(content(HTML, listed::policy(), page))
        }
        Wanted::List => {
            let list = listing::json(out).map_err(|e| failed(&e))?;
            Ok(content("application/json", "default-src 'none'", list))
        }
        // Browsers ask for one unasked.
        Wanted::Icon => Ok(content("image/x-icon", "default-src 'none'", String::new())),
        Wanted::Report(name) => Ok(content(HTML, REPORT_POLICY, report(out, &name)?)),
    }
}

fn report(out: &Path, name: &OsStr) -> Result<String, Missing> {
    let record = store::read_run(out, name).map_err(|e| match e {
        ReadError::NotFound { .. } | ReadError::NotARun { .. } => Missing::new(StatusCode::NOT_FOUND, e),
        e => Missing::new(StatusCode::UNPROCESSABLE_ENTITY, e),
    })?;
    html::render(&record).map_err(|e| Missing::new(StatusCode::UNPROCESSABLE_ENTITY, e))
}
