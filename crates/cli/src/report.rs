//! `netfathom report`: a picture of a run, from its record alone.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Result, anyhow};
use netfathom_model::record::Record;
use netfathom_results::render::{html, terminal};
use netfathom_results::store;

use crate::args::{Format, ReportArgs};
use crate::output;

/// Runs the command.
pub fn run(args: &ReportArgs) -> Result<ExitCode> {
    let args = &ReportArgs { run: store::resolve(&args.out, &args.run)?, ..args.clone() };
    let record = store::read(&args.run)?;
    let text = match args.format {
        Format::Html => html::render(&record)?,
        Format::Txt => terminal::render(&record, output::width(), output::color()),
    };
    match target(args, &record) {
        None => output::print(&text)?,
        Some(path) => {
            spare_record(&args.run, &path)?;
            std::fs::write(&path, text).map_err(|why| {
                anyhow!("cannot write {}: {why}; choose another file with --output", path.display())
            })?;
            output::print(&format!("report: {}", path.display()))?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Refuses to write a picture over the record that it is drawn from.
fn spare_record(run: &Path, to: &Path) -> Result<()> {
    let record = if run.is_dir() { run.join(store::RECORD_FILE) } else { run.to_owned() };
    match (record.canonicalize(), to.canonicalize()) {
        (Ok(record), Ok(to)) if record == to => {
            Err(anyhow!("{} is the record itself; choose another file with --output", to.display()))
        }
        _ => Ok(()),
    }
}

/// The file to write; `None` is standard output.
fn target(args: &ReportArgs, record: &Record) -> Option<PathBuf> {
    let is_dash = |p: &Path| p.as_os_str() == "-";
    match (&args.output, args.format) {
        (Some(path), _) if is_dash(path) => None,
        (Some(path), _) => Some(path.clone()),
        (None, Format::Txt) => None,
        (None, Format::Html) if is_dash(&args.run) => Some(format!("{}.html", record.id).into()),
        (None, Format::Html) if args.run.is_dir() => Some(args.run.join("report.html")),
        (None, Format::Html) => Some(args.run.with_file_name("report.html")),
    }
}
