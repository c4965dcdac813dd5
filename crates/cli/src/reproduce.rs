//! `netfathom reproduce`: the catalogue, or one of its experiments.

use std::fs;
use std::io;
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context, Result, anyhow};
use netfathom_measure::kind::cost::guard::remove_what_is_left;
use netfathom_model::plan::{Project, ReproducePlan};
use netfathom_papers::{Experiment, catalogue};

use crate::args::{OutputArgs, ReproduceArgs};
use crate::keep::Run;
use crate::progress::Expected;
use crate::{exit, guard, output, plans};

pub fn run(args: &ReproduceArgs) -> Result<ExitCode> {
    let Some(name) = &args.name else { return list(args.output.json) };
    let Some((experiment, plan)) = output::understood(understand(name, args)) else {
        return Ok(exit::USAGE.into());
    };
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
    let run = Run {
        output,
        expected: Expected::About(experiment.expected(plan.quick)),
        named_cpus: false,
        capture: false,
    };
    run.make(|observer, stop| netfathom_papers::run(experiment, plan, observer, stop))
}

fn understand(name: &str, args: &ReproduceArgs) -> Result<(&'static Experiment, ReproducePlan)> {
    let experiment = netfathom_papers::find(name).ok_or_else(|| unknown(name))?;
    let plan = ReproducePlan {
        name: name.into(),
        quick: args.quick,
        tap: args.tap,
        projects: args.projects.as_deref().map(projects).transpose()?,
        seed: args.seed.unwrap_or_else(plans::fresh_seed),
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
    names.sort_by_key(|known| distance(name, known));
    anyhow!("there is no experiment `{name}`; choose one of: {}", names.join(", "))
}

/// How many letters must be put in, taken out or changed to make one text of the other.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, of_a) in a.chars().enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], i + 1);
        for (j, &of_b) in b.iter().enumerate() {
            let changed = diagonal + usize::from(of_a != of_b);
            diagonal = row[j + 1];
            row[j + 1] = changed.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[b.len()]
}

fn list(json: bool) -> Result<ExitCode> {
    if json {
        let all: Vec<_> = catalogue().map(as_json).collect();
        output::print(&serde_json::to_string(&all)?)?;
    } else {
        let all: Vec<String> = catalogue().map(in_words).collect();
        let end = "Run one with: netfathom reproduce NAME [--quick]";
        output::print(&format!("{}\n\n{end}", all.join("\n\n")))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn as_json(e: &Experiment) -> serde_json::Value {
    serde_json::json!({
        "name": e.name, "title": e.title, "source": e.source, "shows": e.shows,
        "quick_s": e.quick.as_secs(), "full_s": e.full.as_secs(), "needs": e.needs.name(),
    })
}

fn in_words(e: &Experiment) -> String {
    let (quick, full) = (about(e.quick), about(e.full));
    format!(
        "{}\n  {}\n  shows:  {}\n  source: {}\n  takes:  about {full}, with --quick {quick}; needs {}",
        e.name,
        e.title,
        e.shows,
        e.source,
        e.needs.name()
    )
}

fn about(time: Duration) -> String {
    match time.as_secs() {
        s if s < 120 => format!("{s} s"),
        s => format!("{} min", s.div_ceil(60)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_alike_is_near() {
        assert_eq!(distance("", "abc"), 3);
        assert_eq!(distance("borodin-tx", "borodin-tx"), 0);
        assert_eq!(distance("borodin-xt", "borodin-tx"), 2);
        assert_eq!(distance("kitten", "sitting"), 3);
    }

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

    #[test]
    fn the_nearest_name_comes_first() {
        let message = unknown("borodin-revers").to_string();
        assert!(message.contains("choose one of: borodin-reverse, "), "{message}");
        assert!(catalogue().all(|e| message.contains(e.name)), "{message}");
    }
}
