//! The documentation: its commands are run, its links followed.

use std::fs;
use std::path::{Path, PathBuf};

use crate::child::sources;

mod book;
mod commands;
mod kernels;
mod links;
pub mod words;

/// Files of these kinds in a folder, or below it.
fn files(folder: &Path, kinds: &[&str], deep: bool, found: &mut Vec<PathBuf>) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    for path in entries.map(|entry| entry.unwrap().path()) {
        if path.is_dir() && deep {
            files(&path, kinds, deep, found);
        } else if path.extension().is_some_and(|kind| kinds.iter().any(|k| kind == *k)) {
            found.push(path);
        }
    }
}

/// The lines of a page, with their numbers, that are not fenced as code.
fn unfenced(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut fenced = false;
    (1..).zip(text.lines()).filter(move |(_, line)| {
        fenced ^= line.trim_start().starts_with("```");
        !fenced
    })
}

/// A page without its code, which may have names of its own.
fn prose(text: &str) -> impl Iterator<Item = (usize, String)> {
    unfenced(text).map(|(at, line)| (at, line.split('`').step_by(2).collect()))
}
