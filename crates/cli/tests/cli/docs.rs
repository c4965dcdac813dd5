//! The documentation: its commands are run, its links followed.

use std::path::{Path, PathBuf};

mod book;
mod commands;
mod kernels;
mod links;
mod words;

fn sources() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}
