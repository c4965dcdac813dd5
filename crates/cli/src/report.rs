//! `netfathom report`: a picture of a run, from its record alone.

mod file;

use std::fs;
use std::io::{self, IsTerminal};
use std::path::Path;
use std::process::ExitCode;

use anyhow::{Result, bail};
use netfathom_model::record::Record;
use netfathom_results::render::{self, html};
use netfathom_results::{draw, page, store, story};

use crate::args::{Format, ReportArgs};
use crate::target::is_dash;
use crate::{browser, output, target};
use file::Beside;

pub fn run(args: &ReportArgs) -> Result<ExitCode> {
    if args.open && prints(args) {
        return output::misused(
            "--open shows a file, and this report goes to standard output; name a file with --output",
        );
    }
    if args.format == Format::Html && prints(args) && io::stdout().is_terminal() {
        return output::misused("--format html: standard output is a terminal; name a file with --output");
    }
    let run = args.run.path()?;
    // Opened before the record is read: whatever has its name by then, the report goes where the record was.
    let above = if run.is_dir() { Some(run.as_path()) } else { run.parent() };
    // A pipe or a device has no place for a report beside it.
    let is_pipe = is_dash(&run) || fs::metadata(&run).is_ok_and(|kind| !kind.is_dir() && !kind.is_file());
    let above = above.filter(|_| !is_pipe);
    let beside = above.map(|at| Beside::of(at, store::REPORT_FILE.as_ref())).transpose()?;
    file::stays_inside(&run)?;
    let record = store::read(&run)?;
    let text = match args.format {
        Format::Html => html_of(beside.as_ref(), &record)?,
        Format::Md => render::markdown::render(&record),
        Format::Txt if prints(args) => {
            output::page(&story::of(&record), args.verbose)?;
            if !args.verbose {
                output::print("\nmore: -v")?;
            }
            return Ok(ExitCode::SUCCESS);
        }
        Format::Txt => draw::terminal(&story::of(&record), page::LEAST_WIDTH, false),
    };
    match &args.output {
        _ if prints(args) => output::print(&text)?,
        Some(path) => {
            // A report may be drawn again over the one that is there.
            if path.file_name() != Some(store::REPORT_FILE.as_ref()) {
                target::spare_run(&run, path)?;
            }
            target::text_to_file(path, &text)?;
            written(args, path)?;
        }
        // Beside the record, where a link may have been left by others.
        None => {
            let beside = beside.map_or_else(|| of_pipe(&record), Ok)?;
            let of = if run.is_dir() { Some(store::RECORD_FILE.as_ref()) } else { run.file_name() };
            if !is_pipe && !of.is_some_and(|of| beside.directory.holds(of)) {
                bail!("{} was replaced meanwhile; nothing was written", run.display());
            }
            beside.write(&text)?;
            written(args, &beside.path())?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// With the raw samples that stand beside a record on disk. A record that came by a pipe has no run beside it.
fn html_of(beside: Option<&Beside>, record: &Record) -> Result<String> {
    Ok(match beside {
        Some(beside) => html::render_run(record, &beside.directory)?,
        None => html::render(record)?,
    })
}

/// In this directory. Its name is the record's own word, and may be that of anything.
fn of_pipe(record: &Record) -> Result<Beside> {
    let name = file::name_of(&record.id);
    if name.exists() {
        bail!("{} is there already; name a file with --output", name.display());
    }
    Beside::of(Path::new(""), name.as_os_str())
}

fn written(args: &ReportArgs, path: &Path) -> Result<()> {
    output::print(&format!("report: {}", output::harmless(&path.display().to_string())))?;
    if args.open { open(path) } else { Ok(()) }
}

/// In the browser, or else says where it is and how to open it.
fn open(path: &Path) -> Result<()> {
    let path = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    match browser::show(path.as_os_str()) {
        Ok(()) => Ok(()),
        Err(why) => output::print(&format!(
            "not opened: {}. Open it in any browser, here or on another machine: {}",
            output::harmless(&why),
            output::harmless(&format!("file://{}", path.display()))
        )),
    }
}

fn prints(args: &ReportArgs) -> bool {
    args.output.as_deref().map_or(args.format != Format::Html, is_dash)
}
