//! `netfathom reproduce`: the catalogue, or one of its experiments.

use std::fs;
use std::io;
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context, Result, anyhow};
use netfathom_measure::kind::cost::guard::remove_what_is_left;
use netfathom_model::plan::{Project, ReproducePlan};
use netfathom_model::print;
use netfathom_papers::{Experiment, catalogue};
use netfathom_results::page::{Page, Style, Table};

use crate::args::{OutputArgs, ReproduceArgs};
use crate::keep::Run;
use crate::progress::Expected;
use crate::{guard, output, plans};

pub fn run(args: &ReproduceArgs) -> Result<ExitCode> {
    let Some(name) = &args.name else { return list(&args.output) };
    let (experiment, plan) = output::understood(understand(name, args))?;
    make(experiment, &plan, &args.output)
}

/// Runs the experiment that a plan names, for another command.
pub fn run_named(plan: &ReproducePlan, output: &OutputArgs) -> Result<ExitCode> {
    make(netfathom_papers::find(&plan.name).ok_or_else(|| unknown(&plan.name))?, plan, output)
}

fn make(experiment: &'static Experiment, plan: &ReproducePlan, output: &OutputArgs) -> Result<ExitCode> {
    // Some of them start other programs.
    if let Some(status) = guard::watch_over(Duration::ZERO, |_| || remove_what_is_left(None))? {
        return Ok(status);
    }
    Run::new(output, Expected::About(experiment.expected(plan.quick)))
        .make(|observer, stop| netfathom_papers::run(experiment, plan, observer, stop))
}

fn understand(name: &str, args: &ReproduceArgs) -> Result<(&'static Experiment, ReproducePlan)> {
    let experiment = netfathom_papers::find(name).ok_or_else(|| unknown(name))?;
    let (to, allow) = plans::hosts(&args.to, &args.allow)?;
    let plan = ReproducePlan {
        name: name.into(),
        quick: args.quick,
        tap: args.tap,
        projects: args.projects.as_deref().map(projects).transpose()?,
        seed: args.seed.unwrap_or_else(plans::fresh_seed),
        to,
        allow,
    };
    experiment.accepts(&plan)?;
    Ok((experiment, plan))
}

/// The directories with a Makefile in this one, the smallest first.
fn projects(parent: &Path) -> Result<Vec<Project>> {
    let failed = || format!("--projects {}: cannot read it", parent.display());
    let mut found = Vec::new();
    for entry in fs::read_dir(parent).with_context(failed)? {
        let directory = fs::canonicalize(entry.with_context(failed)?.path()).with_context(failed)?;
        if directory.join("Makefile").is_file() {
            let size_bytes = size_bytes(&directory).with_context(failed)?;
            found.push(Project { directory, size_bytes });
        }
    }
    found.sort_by_key(|project| project.size_bytes);
    Ok(found)
}

fn size_bytes(directory: &Path) -> io::Result<u64> {
    fs::read_dir(directory)?.try_fold(0, |sum, entry| {
        let (entry, kind) = entry.and_then(|entry| Ok((entry.path(), entry.file_type()?)))?;
        Ok(sum + if kind.is_dir() { size_bytes(&entry)? } else { fs::symlink_metadata(&entry)?.len() })
    })
}

/// Names all that there are, those that are written most alike first.
fn unknown(name: &str) -> anyhow::Error {
    let mut names: Vec<&str> = catalogue().map(|experiment| experiment.name).collect();
    names.sort_by_key(|known| strsim::levenshtein(name, known));
    anyhow!("there is no experiment `{name}`; choose one of: {}", names.join(", "))
}

fn list(output: &OutputArgs) -> Result<ExitCode> {
    if output.json {
        let all: Vec<_> = catalogue().map(as_json).collect();
        output::print(&serde_json::to_string(&all)?)?;
    } else if output.verbose {
        output::page(&in_words(), true)?;
    } else {
        output::page(&as_table(), true)?;
        output::print("\nrun one: netfathom reproduce NAME [--quick]; sources: netfathom reproduce -v")?;
    }
    Ok(ExitCode::SUCCESS)
}

fn as_json(e: &Experiment) -> serde_json::Value {
    serde_json::json!({
        "name": e.name, "title": e.title, "source": e.source, "shows": e.shows,
        "quick_s": e.quick.as_secs(), "full_s": e.full.as_secs(), "needs": e.needs(),
    })
}

fn as_table() -> Page {
    let mut table = Table::of("<experiment|takes|<");
    for e in catalogue() {
        let root = if e.needs_root { " (root)" } else { "" };
        table.row_open([e.name, &print::lasting(e.full)], &format!("{}{root}", e.title));
    }
    let mut page = Page::default();
    page.text(&format!(
        "{} experiments in the size of their source; with --quick within two minutes",
        catalogue().count()
    ));
    page.table(table);
    page
}

fn in_words() -> Page {
    let mut page = Page::default();
    for e in catalogue() {
        page.heading(e.name);
        page.text(e.title);
        let takes = format!("about {}, with --quick {}", print::lasting(e.full), print::lasting(e.quick));
        let with = e.counterpart().map(|there| format!("another host (--to), where `{there}` runs"));
        let lines = [("shows", e.shows), ("source", e.source), ("takes", &takes), ("needs", e.needs())];
        for (label, text) in lines.into_iter().chain(with.iter().map(|with| ("with", with.as_str()))) {
            page.labelled(Style::Plain, &format!("  {label:<6} "), text);
        }
    }
    page
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn projects_rise_in_size_and_have_a_makefile() {
        let parent = tempfile::tempdir().unwrap();
        for (name, bytes) in [("large", 5000), ("small", 10), ("none", 0)] {
            let directory = parent.path().join(name).join("src");
            fs::create_dir_all(&directory).unwrap();
            fs::write(directory.join("one.c"), vec![b' '; bytes]).unwrap();
            if name != "none" {
                fs::write(parent.path().join(name).join("Makefile"), "all:\n").unwrap();
            }
        }
        let found = projects(parent.path()).unwrap();
        let name = |p: &Project| p.directory.file_name().unwrap().to_str().unwrap().to_owned();
        let all: Vec<_> = found.iter().map(|p| (name(p), p.size_bytes)).collect();
        assert_eq!(all, [("small".into(), 15), ("large".into(), 5005)]);
        let error = projects(&parent.path().join("gone")).unwrap_err();
        assert!(format!("{error:#}").contains("--projects"), "{error:#}");
    }
}
