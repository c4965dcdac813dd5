//! What has been read of a machine, and what could not be.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::fs;
use std::io::{self, ErrorKind};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use netfathom_model::grouping::by_key;

/// Settings of one network namespace, or of the machine.
#[derive(Debug, Default)]
pub struct Reading {
    pub values: BTreeMap<String, String>,
    /// Why others have none, by the beginning of their names.
    pub missed: BTreeMap<String, String>,
}

impl Reading {
    pub fn put(&mut self, name: impl Into<String>, value: impl ToString) {
        self.values.insert(name.into(), value.to_string());
    }

    /// Keeps that a value could not be read.
    pub fn miss(&mut self, name: impl Into<String>, why: impl ToString) {
        self.missed.insert(name.into(), why.to_string());
    }

    /// Keeps what was read, or why nothing was.
    pub fn keep<V: ToString>(&mut self, name: impl Into<String>, read: io::Result<V>) {
        match read {
            Ok(value) => self.put(name, value),
            Err(error) => self.miss(name, error),
        }
    }

    /// Keeps all that was read of a group, by what follows the beginning of its names; or why nothing was.
    pub fn keep_all<N: Display, V: ToString>(
        &mut self,
        group: String,
        read: io::Result<impl IntoIterator<Item = (N, V)>>,
    ) {
        match read {
            Ok(all) => all.into_iter().for_each(|(name, value)| self.put(format!("{group}{name}"), value)),
            Err(error) => self.miss(group, error),
        }
    }

    /// Keeps what a file says; nothing where this kernel has no such file, or one that can only be written.
    pub fn keep_file(&mut self, name: impl Into<String>, path: &Path) {
        match words(path) {
            Err(error) if error.kind() == ErrorKind::NotFound || is_write_only(path) => {}
            read => self.keep(name, read),
        }
    }
}

pub fn words(path: &Path) -> io::Result<String> {
    Ok(fs::read_to_string(path)?.split_whitespace().collect::<Vec<_>>().join(" "))
}

fn is_write_only(path: &Path) -> bool {
    const ANY_MAY_READ: u32 = 0o444;
    path.metadata().is_ok_and(|about| about.permissions().mode() & ANY_MAY_READ == 0)
}

/// The names in a directory in the order of the numbers in them; none where there is no such directory.
pub fn names(directory: &Path) -> Vec<String> {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    let mut names: Vec<String> = entries.filter_map(|entry| entry.file_name().into_string().ok()).collect();
    names.sort_by_key(|name| (number(name), name.clone()));
    names
}

pub fn number(name: &str) -> Option<usize> {
    name.trim_start_matches(|c: char| !c.is_ascii_digit()).parse().ok()
}

/// One value where all have the same; otherwise each with who has it: `powersave (0, 1), performance (2)`.
pub fn grouped(all: impl IntoIterator<Item = (String, String)>) -> Option<String> {
    match by_key(all.into_iter().map(|(who, value)| (value, who))).as_slice() {
        [] => None,
        [(value, _)] => Some(value.clone()),
        many => {
            let values = many.iter().map(|(value, who)| format!("{value} ({})", who.join(", ")));
            Some(values.collect::<Vec<_>>().join(", "))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_values_are_one() {
        let of = |all: &[(&str, &str)]| grouped(all.iter().map(|&(a, b)| (a.to_owned(), b.to_owned())));
        assert_eq!(of(&[("0", "a"), ("1", "a")]).unwrap(), "a");
        assert_eq!(of(&[("0", "a"), ("1", "b"), ("2", "a")]).unwrap(), "a (0, 2), b (1)");
        assert_eq!(of(&[]), None);
    }

    #[test]
    fn what_cannot_be_read_has_a_reason_and_what_is_not_there_needs_none() {
        let mut reading = Reading::default();
        reading.keep_file("none", Path::new("/nonexistent/x"));
        reading.keep_file("directory", Path::new("/proc"));
        assert!(reading.values.is_empty());
        assert_eq!(reading.missed.keys().collect::<Vec<_>>(), ["directory"]);
    }
}
