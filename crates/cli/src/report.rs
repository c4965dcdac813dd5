//! `netfathom report`: a picture of a run, from its record alone.

mod file;

use std::io::{self, IsTerminal};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Result, anyhow, bail};
use netfathom_model::record::Record;
use netfathom_results::render::{html, markdown, terminal};
use netfathom_results::store;

use crate::args::{Format, ReportArgs};
use crate::{browser, exit, output, target};

/// Runs the command.
pub fn run(args: &ReportArgs) -> Result<ExitCode> {
    if args.open && prints(args) {
        output::complain(&anyhow!(
            "--open shows a file, and this report goes to standard output; name a file with --output"
        ));
        return Ok(exit::USAGE.into());
    }
    if args.format == Format::Html && prints(args) && io::stdout().is_terminal() {
        output::complain(&anyhow!("--format html: standard output is a terminal; name a file with --output"));
        return Ok(exit::USAGE.into());
    }
    let run = args.run.path()?;
    file::stays_inside(&run)?;
    let record = store::read(&run)?;
    let text = match args.format {
        Format::Html => html_of(&run, &record)?,
        Format::Md => markdown::render(&record),
        Format::Txt if prints(args) => terminal::render(&record, output::width(), output::color()),
        Format::Txt => terminal::render(&record, 80, false),
    };
    match place(args, &run, &record) {
        Target::Output => output::print(&text)?,
        Target::Named(path) => {
            // A report may be drawn again over the one that is there.
            if path.file_name() != Some(store::REPORT_FILE.as_ref()) {
                target::spare_run(&run, &path)?;
            }
            target::text_to_file(&path, &text)?;
            written(args, &path)?;
        }
        // Its name is the record's own word, and may be that of anything.
        Target::Beside(path) if is_dash(&run) && path.exists() => {
            bail!("{} is there already; name a file with --output", path.display())
        }
        Target::Beside(path) => {
            file::write_beside(&path, &text)?;
            written(args, &path)?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// With the raw samples that stand beside a record on disk.
fn html_of(run: &Path, record: &Record) -> Result<String> {
    let directory = if run.is_dir() { Some(run) } else { run.parent() };
    // A record that came by a pipe has no run beside it.
    Ok(match directory.filter(|_| !is_dash(run)) {
        Some(dir) => html::render_run(record, dir)?,
        None => html::render(record)?,
    })
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

fn is_dash(path: &Path) -> bool {
    path.as_os_str() == "-"
}

/// Whether the report goes to standard output.
fn prints(args: &ReportArgs) -> bool {
    args.output.as_deref().map_or(args.format != Format::Html, is_dash)
}

/// Where a report goes.
enum Target {
    Output,
    /// The user named it.
    Named(PathBuf),
    /// Beside the record, where a link may have been left by others.
    Beside(PathBuf),
}

fn place(args: &ReportArgs, run: &Path, record: &Record) -> Target {
    match &args.output {
        _ if prints(args) => Target::Output,
        Some(path) => Target::Named(path.clone()),
        None if is_dash(run) => Target::Beside(file::name_of(&record.id)),
        None if run.is_dir() => Target::Beside(run.join(store::REPORT_FILE)),
        None => Target::Beside(run.with_file_name(store::REPORT_FILE)),
    }
}
