//! `netfathom runs`: finds, shows, tags and removes what earlier runs have left.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Result, anyhow};
use netfathom_results::store::{self, Catalogue, RunEntry};
use netfathom_results::{draw, story};

use crate::args::{ListArgs, RunsArgs, RunsCommand, TagArgs};
use crate::output;
use crate::target::directory_of;

mod removal;
mod show;

const MOST_LINES: usize = 12;

pub fn run(args: &RunsArgs) -> Result<ExitCode> {
    let Some(command) = &args.command else { return list(&args.out, &args.list) };
    if args.list != ListArgs::default() {
        return output::misused(
            "options of the list stand before another command: write them behind it, or leave them out",
        );
    }
    match command {
        RunsCommand::List(list_args) => list(&args.out, list_args),
        RunsCommand::Show(show_args) => show::run(&args.out, show_args),
        RunsCommand::Tag(tag_args) => tag(&args.out, tag_args),
        RunsCommand::Remove(remove_args) => removal::remove(&args.out, remove_args),
        RunsCommand::Prune(prune_args) => removal::prune(&args.out, prune_args),
    }
}

fn list(out: &Path, args: &ListArgs) -> Result<ExitCode> {
    let all = store::catalogue(out)?;
    let filter = args.filter.filter();
    let wanted: Vec<&RunEntry> = all.entries.iter().filter(|e| filter.wants(e)).collect();
    let most = match args.limit {
        Some(0) => usize::MAX,
        Some(limit) => limit,
        None if args.json => usize::MAX,
        None => MOST_LINES,
    };
    let shown = &wanted[..wanted.len().min(most)];
    if args.json {
        return output::answer(&serde_json::to_string(shown)?);
    }
    let notes = notes(out, &all, &wanted, shown.len());
    let page = story::runs::list(shown, &notes, output::width());
    output::answer(&draw::terminal(&page, output::width(), output::color()))
}

/// What the table does not say.
fn notes(out: &Path, all: &Catalogue, wanted: &[&RunEntry], shown: usize) -> Vec<String> {
    let mut notes = Vec::new();
    if wanted.is_empty() {
        let why = if all.entries.is_empty() { "" } else { " that match" };
        notes.push(format!("no runs in {}{why}", out.display()));
    }
    if shown < wanted.len() {
        notes.push(format!("{} more, older: --limit 0 lists all {}", wanted.len() - shown, wanted.len()));
    }
    let unread = all.entries.iter().filter(|e| e.head.is_none()).count();
    let found = wanted.iter().filter(|e| e.head.is_none()).count();
    if unread > found {
        notes.push(format!("{} without a readable record cannot be matched", unread - found));
    }
    if all.strangers > 0 {
        let more = if all.strangers > all.stranger_names.len() { ", …" } else { "" };
        let names = all.stranger_names.join(", ");
        notes.push(format!("not runs, left alone in {}: {names}{more} ({})", out.display(), all.strangers));
    }
    notes
}

fn tag(out: &Path, args: &TagArgs) -> Result<ExitCode> {
    let name = name_in(out, &args.run)?;
    let run = store::catalogue(out)?.named(out, &name)?.path.clone();
    let tags = match args.remove {
        true => store::untag(&run, &args.names),
        false => store::tag(&run, &args.names),
    }?;
    let tags = if tags.is_empty() { "no tags".into() } else { tags.join(" ") };
    output::answer(&format!("{}: {tags}", run.display()))
}

/// The name in `out` of a run that is typed as its path or that of its record; none elsewhere. A name stays as it is.
fn name_in(out: &Path, typed: &str) -> Result<String> {
    let path = place_of(Path::new(typed));
    // A tag may have a slash as well.
    let is_path = path.symlink_metadata().is_ok() && path.parent().is_some_and(|p| !p.as_os_str().is_empty());
    let parent = path.parent().filter(|_| is_path).and_then(|p| p.canonicalize().ok());
    match (parent, path.file_name().and_then(|n| n.to_str())) {
        // What a shell completes.
        (Some(parent), Some(last)) if out.canonicalize().is_ok_and(|out| out == parent) => Ok(last.into()),
        (Some(parent), _) => Err(anyhow!(
            "{typed} is not in {}: name its directory with --out {}",
            out.display(),
            parent.display()
        )),
        _ => Ok(typed.to_owned()),
    }
}

/// Of a record, its run.
fn place_of(path: &Path) -> PathBuf {
    let is_record = path.is_file() && path.file_name() == Some(store::RECORD_FILE.as_ref());
    let run = directory_of(path).filter(|_| is_record).and_then(|run| run.canonicalize().ok());
    run.unwrap_or_else(|| path.to_owned())
}
