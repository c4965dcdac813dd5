//! `netfathom runs remove` and `prune`: says what goes and what that frees, asks, removes.

use netfathom_model::print::counted;
use std::io::{self, BufRead, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result, anyhow};
use netfathom_model::print::bytes;
use netfathom_model::verdict::Level;
use netfathom_results::store::{self, RunEntry};

use super::name_in;
use crate::args::{PruneArgs, RemoveArgs};
use crate::{exit, output};

pub fn remove(out: &Path, args: &RemoveArgs) -> Result<ExitCode> {
    let names = args.runs.iter().map(|typed| name_in(out, typed)).collect::<Result<Vec<_>>>()?;
    let all = store::catalogue(out)?;
    // All are known before the first one goes.
    let run_of = |name: &String| -> Result<PathBuf> { Ok(all.named(out, name)?.path.clone()) };
    let mut runs = names.iter().map(run_of).collect::<Result<Vec<_>>>()?;
    runs.sort_unstable();
    runs.dedup();
    go(&runs, args.yes, false)
}

pub fn prune(out: &Path, args: &PruneArgs) -> Result<ExitCode> {
    // A verdict that stands beside a record may be of another one.
    let all = store::catalogue_of_records(out)?;
    let filter = args.filter.filter();
    let wanted = all.entries.iter().filter(|e| filter.wants(e));
    // What cannot be read may be of a newer netfathom: it goes only by its name.
    let (readable, unread): (Vec<&RunEntry>, Vec<&RunEntry>) = wanted.partition(|e| e.head.is_some());
    let (old, spared): (Vec<&RunEntry>, Vec<&RunEntry>) = readable
        .into_iter()
        .enumerate()
        .filter(|&(place, entry)| goes(args, place, entry))
        .map(|(_, entry)| entry)
        .partition(|e| args.tagged || (e.tags.is_empty() && e.tags_problem.is_none()));
    let mut left = Vec::new();
    if !spared.is_empty() {
        left.push(format!("{} tagged: --tagged takes them too", spared.len()));
    }
    if !unread.is_empty() {
        left.push(format!("{} without a readable record: remove them by name", unread.len()));
    }
    if !left.is_empty() {
        output::print(&format!("spared: {}", left.join("; ")))?;
    }
    let runs: Vec<PathBuf> = old.iter().map(|e| e.path.clone()).collect();
    go(&runs, args.yes, args.dry_run)
}

/// Whether everything that was asked for says that this run, `place` before the newest, goes.
fn goes(args: &PruneArgs, place: usize, entry: &RunEntry) -> bool {
    args.keep.is_none_or(|keep| place >= keep)
        && args.older_than.is_none_or(|then| entry.started < then.first)
        && (!args.void || entry.head.as_ref().is_some_and(|h| h.verdict == Level::Void))
}

fn go(runs: &[PathBuf], yes: bool, dry: bool) -> Result<ExitCode> {
    if runs.is_empty() {
        return output::answer("nothing to remove");
    }
    let sizes: Vec<u64> = runs.iter().map(|run| store::size_bytes(run)).collect();
    // A name may hold what would look like another line.
    let named = |run: &PathBuf| run.display().to_string().replace(netfathom_results::page::steers, "?");
    let lines =
        runs.iter().zip(&sizes).map(|(run, size)| format!("  {}  {}\n", named(run), bytes(*size as f64)));
    let sum = format!("{} of {}", counted(runs.len(), "run"), bytes(sizes.iter().sum::<u64>() as f64));
    output::print(&lines.collect::<String>())?;
    if dry {
        return output::answer(&format!("would remove {sum}"));
    }
    match yes || agreed(&sum)? {
        true => remove_all(runs),
        false => {
            output::print("nothing was removed")?;
            Ok(exit::FAILED.into())
        }
    }
}

fn agreed(sum: &str) -> Result<bool> {
    if !io::stdin().is_terminal() {
        return Err(anyhow!(
            "nothing was removed: there is no terminal to ask on; add --yes to remove {sum}"
        ));
    }
    write!(io::stderr(), "remove {sum}? [y/N] ").context("cannot ask")?;
    let mut answer = String::new();
    io::stdin().lock().read_line(&mut answer).context("cannot read the answer")?;
    Ok(matches!(answer.trim(), "y" | "Y" | "yes"))
}

fn remove_all(runs: &[PathBuf]) -> Result<ExitCode> {
    let mut removed = 0;
    for run in runs {
        match store::remove(run) {
            Ok(()) => removed += 1,
            Err(error) => output::complain(&error.into()),
        }
    }
    output::print(&format!("removed {}", counted(removed, "run")))?;
    Ok(if removed == runs.len() { ExitCode::SUCCESS } else { exit::FAILED.into() })
}
