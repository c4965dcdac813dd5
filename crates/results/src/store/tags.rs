//! What a user calls a run: a small file of names in its directory.

use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use netfathom_sys::directory::Directory;
use rustix::io::Errno;
use serde::{Deserialize, Serialize};

use super::id::{back_from_last, started_of};
use super::run_dir::replace;
use super::{TAGS_FILE, WriteError};

const MOST_BYTES: usize = 100;
/// What a file of tags may take; ours takes less than a page.
const MOST_FILE_BYTES: u64 = 65_536;

#[derive(Default, Serialize, Deserialize)]
struct Tags {
    tags: Vec<String>,
}

/// Why a run could not be tagged.
#[derive(Debug, thiserror::Error)]
pub enum TagError {
    #[error("{path} would be larger than {most_bytes} bytes; remove some tags first, with --remove", path = .path.display())]
    TooMany { path: PathBuf, most_bytes: u64 },
    #[error("`{name}` cannot be a tag: {why}; write letters, digits, and . _ - / between them")]
    Name { name: String, why: &'static str },
    #[error("cannot read {path}: {why}; remove it to tag this run anew", path = .path.display())]
    Damaged { path: PathBuf, why: String },
    #[error(transparent)]
    Write(#[from] WriteError),
}

/// Gives a run of `out` these tags besides those that it has, and returns all.
pub fn tag(run: &Path, names: &[String]) -> Result<Vec<String>, TagError> {
    names.iter().try_for_each(|name| check(name))?;
    change(run, |tags| tags.extend(names.iter().cloned()))
}

/// Takes these tags from a run, and returns those that it still has. One that it has not is none the less gone.
pub fn untag(run: &Path, names: &[String]) -> Result<Vec<String>, TagError> {
    change(run, |tags| tags.retain(|tag| !names.contains(tag)))
}

fn change(run: &Path, edit: impl FnOnce(&mut Vec<String>)) -> Result<Vec<String>, TagError> {
    let path = run.join(TAGS_FILE);
    let io = |source: io::Error| WriteError::Io { action: "write", path: path.clone(), source, kept: true };
    // Of two who tag at once, the second waits. Not every file system has locks.
    let out = Directory::open_to_write(run.parent().unwrap_or(Path::new(""))).map_err(io)?;
    let turn = out.again().inspect(|out| drop(out.lock()));
    let inside = out.within(run.file_name().unwrap_or_default()).map_err(io)?;
    let mut tags = of_run(&inside).map_err(|why| TagError::Damaged { path: path.clone(), why })?;
    edit(&mut tags);
    tags.sort_unstable();
    tags.dedup();
    let mut json = serde_json::to_vec(&Tags { tags: tags.clone() }).map_err(|e| io(e.into()))?;
    json.push(b'\n');
    if json.len() as u64 > MOST_FILE_BYTES {
        return Err(TagError::TooMany { path, most_bytes: MOST_FILE_BYTES });
    }
    replace(&inside, TAGS_FILE, |file| file.write_all(&json).map_err(Into::into))?;
    drop(turn);
    Ok(tags)
}

/// The tags of a run, or what is wrong with them.
pub(super) fn of_run(run: &Directory) -> Result<Vec<String>, String> {
    let file = match run.file(TAGS_FILE).map_err(|e| (Errno::from_io_error(&e), e)) {
        Ok(file) => file,
        Err((Some(Errno::NOENT), _)) => return Ok(Vec::new()),
        Err((Some(Errno::LOOP), _)) => return Err("it is a symbolic link, which is not followed".into()),
        Err((_, why)) => return Err(why.to_string()),
    };
    if !file.metadata().is_ok_and(|about| about.is_file()) {
        return Err("it is no plain file".into());
    }
    let mut json = Vec::new();
    file.take(MOST_FILE_BYTES).read_to_end(&mut json).map_err(|e| e.to_string())?;
    let Tags { tags } = serde_json::from_slice(&json).map_err(|e| format!("it is damaged: {e}"))?;
    tags.iter().try_for_each(|name| check(name)).map_err(|e| e.to_string())?;
    Ok(tags)
}

/// Whether a name can be a tag: what is no option, no path, and no other way to name a run.
fn check(name: &str) -> Result<(), TagError> {
    let refused = |why| Err(TagError::Name { name: name.into(), why });
    if name.is_empty() || name.len() > MOST_BYTES {
        return refused("it must have 1 to 100 characters");
    }
    if !name.chars().all(|c| c.is_ascii_alphanumeric() || "._-/".contains(c)) {
        return refused("it has another character");
    }
    if !name.split('/').all(|part| part.starts_with(|c: char| c.is_ascii_alphanumeric())) {
        return refused("it, and what follows a /, must begin with a letter or a digit");
    }
    if back_from_last(name).is_some() || started_of(name).is_some() {
        return refused("it names a run already");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_tags_are_checked() {
        for good in ["base", "v1.2", "before/tuning", "a-b_c", "6.1", "lastly"] {
            assert!(check(good).is_ok(), "{good}");
        }
        let long = "a".repeat(101);
        for bad in
            ["", "-x", "a b", "../x", "/x", "a//b", "a/", "last", "é", "a\nb", "a\u{1b}[31m", ".", &long]
        {
            assert!(check(bad).is_err(), "{bad:?}");
        }
        assert!(check("20261121T031400Z-stack-1a2b3c").is_err());
    }
}
