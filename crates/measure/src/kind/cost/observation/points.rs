//! What is to be a mark, and whether something was it.

use std::ffi::{OsStr, OsString};
use std::path::{Component, Path, PathBuf};

use itertools::Itertools as _;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Points {
    /// Nothing but start and end.
    Ends,
    /// That one of these files begins to be opened, whether or not it is there. See [`matches`].
    Opens(Vec<PathBuf>),
    /// That the benchmark, its processes taken together, begins a system call for the k-th time.
    Calls(Vec<CallPoint>),
}

/// A system call by its number on this architecture, and which of the calls, 1 being the first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CallPoint {
    pub number: u32,
    /// The how manieth of the whole benchmark, from its first program on.
    pub k: u64,
}

impl Points {
    /// The names of the files, each once.
    pub(super) fn names(&self) -> Vec<OsString> {
        let Self::Opens(files) = self else { return Vec::new() };
        files.iter().filter_map(|file| file.file_name()).map(OsStr::to_owned).sorted().dedup().collect()
    }

    /// The pairs of number and k, each once.
    pub(super) fn calls(&self) -> Vec<(u32, u64)> {
        let Self::Calls(calls) = self else { return Vec::new() };
        calls.iter().map(|call| (call.number, call.k)).sorted().dedup().collect()
    }

    /// The places of the points that such an open is, none or several.
    pub(super) fn opened(&self, path: &Path, cut: bool) -> Vec<usize> {
        let Self::Opens(files) = self else { return Vec::new() };
        let of = |(index, file): (usize, &PathBuf)| matches(file, path, cut).then_some(index);
        files.iter().enumerate().filter_map(of).collect()
    }

    /// The places of the points that this call is.
    pub(super) fn called(&self, number: u32, k: u64) -> Vec<usize> {
        let Self::Calls(calls) = self else { return Vec::new() };
        let of = |(index, call): (usize, &CallPoint)| (*call == CallPoint { number, k }).then_some(index);
        calls.iter().enumerate().filter_map(of).collect()
    }
}

/// Whether an opened path may be the file: one of them is the end of the other, component by component, as
/// programs open files relative to folders. So the bare name of a file matches in whichever folder it is. Of a
/// path that is cut the first component is not looked at.
fn matches(file: &Path, opened: &Path, cut: bool) -> bool {
    let here = |part: &Component<'_>| *part != Component::CurDir;
    let mut opened: Vec<_> = opened.components().filter(here).collect();
    if cut && !opened.is_empty() {
        opened.remove(0);
    }
    let mut both = file.components().filter(here).rev().zip(opened.iter().rev().copied());
    let named = opened.last().is_some_and(|name| file.file_name() == Some(name.as_os_str()));
    named && both.all(|(file, opened)| file == opened)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_the_end_of_what_was_opened_or_the_other_way_round() {
        let is = |file: &str, opened: &str| matches(Path::new(file), Path::new(opened), false);
        assert!(is("a/b/c", "/root/a/b/c") && is("/root/a/b/c", "b/c") && is("a/b/c", "c") && is("c", "./c"));
        assert!(is("./a/c", "/root/a/./c"));
        assert!(!is("a/b/c", "a/x/c") && !is("a/b/c", "a/b/d") && !is("b/c", "xb/c"));
        // An absolute path is the whole of it.
        assert!(!is("/b/c", "/a/b/c") && !is("/a/b/c", "/b/c") && !is("c", "/") && !is("c", ".."));
        let cut = |file: &str, opened: &str| matches(Path::new(file), Path::new(opened), true);
        assert!(cut("/root/a/b/c", "oot/a/b/c") && !cut("/root/a/b/c", "oot/b/b/c"));
    }
}
