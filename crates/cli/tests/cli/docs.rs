//! The documentation: its commands are run, its links followed.

use std::path::{Path, PathBuf};

use crate::child::sources;

mod book;
mod commands;
mod kernels;
mod links;
mod words;
