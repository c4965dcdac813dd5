//! The list that the page asks for.

use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use anyhow::Result;
use netfathom_results::store::{self, RunEntry};
use percent_encoding::{NON_ALPHANUMERIC, percent_encode};
use serde::Serialize;

use super::site::REPORTS;

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

pub fn json(out: &Path) -> Result<String> {
    let all = store::catalogue(out)?;
    let entries = all.entries.iter().map(|entry| Listed { entry, report: address(entry) }).collect();
    let listing = Listing { entries, strangers: all.strangers, stranger_names: &all.stranger_names };
    Ok(serde_json::to_string(&listing)?)
}

fn address(entry: &RunEntry) -> Option<String> {
    let name = entry.path.file_name().filter(|_| entry.head.is_some())?;
    Some(format!("{REPORTS}{}", percent_encode(name.as_bytes(), NON_ALPHANUMERIC)))
}
