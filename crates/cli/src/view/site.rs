//! What there is to ask for: the page, the list, and the report of each run, drawn when it is asked for.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use hyper::{HeaderMap, StatusCode};
use netfathom_model::record::Record;
use netfathom_results::compare::{self, Run, Wishes};
use netfathom_results::render::{html, listed};
use netfathom_results::store::{self, ReadError, RunEntry};
use percent_encoding::{NON_ALPHANUMERIC, percent_decode_str, percent_encode};
use serde::Serialize;
use tokio::sync::Semaphore;

use crate::http::{self, Content, Missing};

/// How many reports are drawn at once: the machine may be measuring.
pub const MOST_AT_WORK: usize = 2;
const REPORTS: &str = "report/";
/// Where comparisons stand, and what names a run of one.
const COMPARISONS: &str = "compare";
const RUN: &str = "run=";
/// How many runs are compared at once; each is drawn beside the first.
const MOST_COMPARED: usize = 9;
/// A report brings its own policy, which stands in it; this is what only a header can say.
const REPORT_POLICY: &str = "frame-ancestors 'none'";
const HTML: &str = "text/html; charset=utf-8";

pub struct Site {
    out: PathBuf,
    reports: Arc<Semaphore>,
    /// Beside the reports, so that a huge one does not keep a reader from the list.
    lists: Arc<Semaphore>,
}

enum Wanted {
    Page,
    List,
    Icon,
    Report(OsString),
    /// The first with each of the others.
    Comparison(Vec<OsString>),
}

impl Site {
    /// Over the runs in `out`.
    pub fn new(out: PathBuf) -> Self {
        Self { out, reports: Arc::new(Semaphore::new(MOST_AT_WORK)), lists: Arc::new(Semaphore::new(1)) }
    }
}

impl http::Site for Site {
    fn is_local(&self) -> bool {
        true
    }

    async fn content(&self, path: &str, query: &str, _headers: &HeaderMap) -> Result<Content, Missing> {
        let wanted = wanted(path, query).ok_or_else(|| {
            Missing::new(StatusCode::NOT_FOUND, format!("there is no {path:?} here; / has all"))
        })?;
        let turns = match wanted {
            Wanted::Page | Wanted::Icon | Wanted::List => &self.lists,
            Wanted::Report(_) | Wanted::Comparison(_) => &self.reports,
        };
        let turn = Arc::clone(turns).acquire_owned().await.map_err(failed)?;
        let out = self.out.clone();
        let work = tokio::task::spawn_blocking(move || {
            let content = make(&out, wanted);
            // Kept until the work is done, also where its client is gone.
            drop(turn);
            content
        });
        work.await.map_err(failed)?
    }
}

/// `None` of a path where nothing stands.
fn wanted(path: &str, query: &str) -> Option<Wanted> {
    match path.strip_prefix('/')? {
        "" => Some(Wanted::Page),
        "runs.json" => Some(Wanted::List),
        "favicon.ico" => Some(Wanted::Icon),
        COMPARISONS => {
            let names = query.split('&').filter_map(|part| part.strip_prefix(RUN));
            Some(Wanted::Comparison(names.map(decoded).collect()))
        }
        rest => Some(Wanted::Report(decoded(rest.strip_prefix(REPORTS)?))),
    }
}

fn decoded(name: &str) -> OsString {
    OsString::from_vec(percent_decode_str(name).collect())
}

fn make(out: &Path, wanted: Wanted) -> Result<Content, Missing> {
    let content =
        |kind, policy: &str, text: String| Content { kind, policy: policy.into(), body: text.into() };
    match wanted {
        Wanted::Page => {
            let page = listed::render(&out.display().to_string()).map_err(failed)?;
            Ok(content(HTML, listed::policy(), page))
        }
        Wanted::List => {
            let list = listing(out).map_err(failed)?;
            Ok(content("application/json", "default-src 'none'", list))
        }
        // Browsers ask for one unasked.
        Wanted::Icon => Ok(content("image/x-icon", "default-src 'none'", String::new())),
        Wanted::Report(name) => {
            let report = html::render(&record(out, &name)?).map_err(undrawn)?;
            Ok(content(HTML, REPORT_POLICY, report))
        }
        Wanted::Comparison(names) => Ok(content(HTML, REPORT_POLICY, comparison(out, &names)?)),
    }
}

/// The list that the page asks for.
#[derive(Serialize)]
struct Listing<'a> {
    entries: Vec<Listed<'a>>,
    strangers: usize,
    stranger_names: &'a [String],
}

#[derive(Serialize)]
struct Listed<'a> {
    #[serde(flatten)]
    entry: &'a RunEntry,
    /// Where its report stands; a run without a readable record has none.
    report: Option<String>,
}

fn listing(out: &Path) -> anyhow::Result<String> {
    let all = store::catalogue(out)?;
    let entries = all.entries.iter().map(|entry| Listed { entry, report: address(entry) }).collect();
    let listing = Listing { entries, strangers: all.strangers, stranger_names: &all.stranger_names };
    Ok(serde_json::to_string(&listing)?)
}

fn address(entry: &RunEntry) -> Option<String> {
    let name = entry.path.file_name().filter(|_| entry.head.is_some())?;
    Some(format!("{REPORTS}{}", percent_encode(name.as_bytes(), NON_ALPHANUMERIC)))
}

fn failed(why: impl ToString) -> Missing {
    Missing::new(StatusCode::INTERNAL_SERVER_ERROR, why)
}

fn record(out: &Path, name: &OsStr) -> Result<Record, Missing> {
    store::read_run(out, name).map_err(|e| match e {
        ReadError::NotFound { .. } | ReadError::NotARun { .. } => Missing::new(StatusCode::NOT_FOUND, e),
        e => undrawn(e),
    })
}

/// It is there, and cannot be shown.
fn undrawn(why: impl ToString) -> Missing {
    Missing::new(StatusCode::UNPROCESSABLE_ENTITY, why)
}

fn comparison(out: &Path, names: &[OsString]) -> Result<String, Missing> {
    let bad = |why: String| Missing::new(StatusCode::BAD_REQUEST, why);
    let [first, others @ ..] = names else { return Err(bad("name two runs to compare".into())) };
    if others.is_empty() || names.len() > MOST_COMPARED {
        return Err(bad(format!("name 2 to {MOST_COMPARED} runs to compare, not {}", names.len())));
    }
    let read = |name: &OsString| {
        Ok::<_, Missing>(Run { name: name.to_string_lossy().into_owned(), record: record(out, name)? })
    };
    let first = read(first)?;
    let mut all = Vec::new();
    for other in others {
        let compared = compare::apart(&first, &read(other)?, &Wishes::default()).map_err(undrawn)?;
        let gates = compare::gates(&compared, &[]).map_err(undrawn)?;
        all.push((compared, gates));
    }
    html::render_comparisons(&all).map_err(undrawn)
}
