//! From what a user types to a run's directory.

use std::path::{Path, PathBuf};

use super::{Catalogue, CatalogueError, RunEntry, catalogue};
use crate::store::RECORD_FILE;
use crate::store::id::back_from_last;

const MOST_NAMED: usize = 4;

/// Why a name is not that of one run.
#[derive(Debug, thiserror::Error)]
pub enum ResolveError {
    #[error(transparent)]
    Catalogue(#[from] CatalogueError),
    #[error("no run in {out} is called `{name}`: write its directory's name or a beginning of it that no other has, its short id, a tag, last or last~1; `netfathom runs --out {out}` lists them", out = .out.display())]
    Unknown {
        name: String,
        /// Where it was sought.
        out: PathBuf,
    },
    #[error("`{name}` is {count} runs: {runs}; write more of the name", runs = .named.join(", "))]
    Ambiguous {
        name: String,
        count: usize,
        /// The newest of them.
        named: Vec<String>,
    },
    /// `last~N` of fewer runs.
    #[error("there is no `{name}`: {out} holds {count} runs with a record", out = .out.display())]
    TooFew {
        name: String,
        /// Where it was sought.
        out: PathBuf,
        count: usize,
    },
}

/// The run that is called `name`: by a path, by the name of its directory in `out` or a beginning of it that no other
/// has, by its short id, by a tag, or as `last` and `last~1`. `-`, standard input, stays what it is, and
/// `/dev/stdin` is the same.
pub fn resolve(out: &Path, name: &Path) -> Result<PathBuf, ResolveError> {
    // To open a FIFO by that name would wait for another writer.
    if name == Path::new("/dev/stdin") {
        return Ok("-".into());
    }
    let by_path = |path: &Path| path.is_file() || path.join(RECORD_FILE).is_file();
    let text = name.to_str().filter(|text| !matches!(*text, "" | "-" | "." | ".."));
    let Some(text) = text.filter(|_| !by_path(name)) else { return Ok(name.to_owned()) };
    let all = catalogue(out).map_err(ResolveError::from);
    match all.and_then(|all| all.named(out, text).map(|entry| entry.path.clone())) {
        // It is there, though no run: whoever reads it says what it is instead. A path is no name.
        Err(ResolveError::Unknown { .. } | ResolveError::Catalogue(_)) if is_path(name) => {
            Ok(name.to_owned())
        }
        found => found,
    }
}

fn is_path(name: &Path) -> bool {
    name.exists() || name.is_absolute() || name.starts_with(".") || name.starts_with("..")
}

impl Catalogue {
    /// The run that is called `name`, without regard to paths.
    pub fn named(&self, out: &Path, name: &str) -> Result<&RunEntry, ResolveError> {
        if let Some(back) = back_from_last(name) {
            // A run that has only begun has nothing to show yet.
            let mut there = self.entries.iter().filter(|run| run.has_record());
            let count = there.clone().count();
            let too_few = || ResolveError::TooFew { name: name.into(), out: out.to_owned(), count };
            return there.nth(back).ok_or_else(too_few);
        }
        let exactly = |e: &&RunEntry| e.name == name;
        let tagged = |e: &&RunEntry| e.tags.iter().any(|tag| tag == name);
        let begins = |e: &&RunEntry| e.name.starts_with(name) || short_id(&e.name).starts_with(name);
        self.only(name, exactly)
            .or_else(|| self.only(name, tagged))
            .or_else(|| self.only(name, begins))
            .unwrap_or_else(|| Err(ResolveError::Unknown { name: name.into(), out: out.to_owned() }))
    }

    /// `None` where there is none such.
    fn only(&self, name: &str, such: impl Fn(&&RunEntry) -> bool) -> Option<Result<&RunEntry, ResolveError>> {
        let mut found = self.entries.iter().filter(such);
        let first = found.next()?;
        let others: Vec<&RunEntry> = found.collect();
        if others.is_empty() {
            return Some(Ok(first));
        }
        let all = std::iter::once(first).chain(others.iter().copied());
        let named = all.take(MOST_NAMED).map(|e| e.name.clone());
        let named = named.chain((others.len() >= MOST_NAMED).then(|| "…".to_owned())).collect();
        Some(Err(ResolveError::Ambiguous { name: name.into(), count: others.len() + 1, named }))
    }
}

/// What stands behind the last dash of a run's name.
fn short_id(name: &str) -> &str {
    name.rsplit('-').next().unwrap_or(name)
}
