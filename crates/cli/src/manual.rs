//! `netfathom man`: a manual page for each command, from the same definitions as `--help`.

use std::fs;
use std::io::{self, Write};
use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context, Result};
use clap::{Command, CommandFactory};
use netfathom_results::store;

use crate::args::{Args, ManArgs};

mod after;
mod page;

pub fn run(args: &ManArgs) -> Result<ExitCode> {
    let mut root = Args::command().disable_help_subcommand(true);
    root.build();
    fs::create_dir_all(&args.dir)
        .with_context(|| format!("cannot make the directory {}", args.dir.display()))?;
    write(&root, &root, args)?;
    Ok(ExitCode::SUCCESS)
}

/// Writes the page of a command and those of its own commands.
fn write(root: &Command, command: &Command, args: &ManArgs) -> Result<()> {
    let path = args.dir.join(format!("{}.1", page::name(command)));
    keep(&path, &page::render(root, command, &args.date)?)?;
    page::visible(command).try_for_each(|below| write(root, below, args))
}

fn keep(path: &Path, page: &[u8]) -> Result<()> {
    let written: io::Result<()> = store::write_whole(path, |file| file.write_all(page));
    written.with_context(|| format!("cannot write {}; choose another directory", path.display()))
}
