//! `netfathom runs show`: what a run is and says.

use std::fs;
use std::path::Path;
use std::process::ExitCode;

use anyhow::{Result, anyhow};
use netfathom_results::story::answer;
use netfathom_results::story::runs::{RunFile, show};
use netfathom_results::{draw, store};
use serde_json::json;

use crate::args::ShowArgs;
use crate::output;

pub fn run(out: &Path, args: &ShowArgs) -> Result<ExitCode> {
    let path = store::resolve(out, &args.run)?;
    // A copy of a record elsewhere has no run around it.
    if path.exists() && !path.is_dir() && path.file_name() != Some(store::RECORD_FILE.as_ref()) {
        return Err(anyhow!(
            "{} is a file, and not a run: name a run's directory or its record.json; `netfathom report` shows a record alone",
            path.display()
        ));
    }
    let run = super::place_of(&path);
    // The run may be the current directory, which has no name.
    let run = run.canonicalize().unwrap_or(run);
    let (Some(name), Some(out)) = (run.file_name(), run.parent()) else {
        return Err(anyhow!("{} is not the directory of a run", run.display()));
    };
    let record = store::read_run(out, name)?;
    let shown = name.to_string_lossy();
    let all = store::catalogue(out)?;
    let entry = all.entries.iter().find(|e| e.name == shown);
    let entry = entry.ok_or_else(|| anyhow!("{} has been removed meanwhile", run.display()))?;
    let files = files(&run);
    output::answer(&if args.json {
        let line = json!({"run": entry, "answer": answer(&record.measurement, &record.verdict), "verdict": record.verdict,
            "findings": record.findings, "files": files});
        serde_json::to_string(&line)?
    } else {
        draw::terminal(&show(entry, &record, &files), output::width(), output::color())
    })
}

/// The files beside each other in the run's directory.
fn files(run: &Path) -> Vec<RunFile> {
    let entries = fs::read_dir(run).into_iter().flatten().flatten();
    let file = |e: fs::DirEntry| {
        let about = e.metadata().ok().filter(fs::Metadata::is_file)?;
        Some(RunFile { name: e.file_name().to_string_lossy().into_owned(), bytes: about.len() })
    };
    let mut files: Vec<RunFile> = entries.filter_map(file).collect();
    files.sort_by(|a, b| a.name.cmp(&b.name));
    files
}
