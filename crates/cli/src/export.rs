//! `netfathom export`: a run in a format that other programs read.

use std::fs::{self, File};
use std::io::IsTerminal;
use std::os::unix::fs::FileTypeExt;
use std::path::Path;
use std::process::ExitCode;

use anyhow::{Result, anyhow};
use netfathom_results::export::{self, Extent, Format, What};
use netfathom_results::store;

use crate::args::ExportArgs;
use crate::{output, target};

pub fn run(args: &ExportArgs) -> Result<ExitCode> {
    let format = args.to;
    let to_file = args.output.as_deref().filter(|path| !target::is_dash(path));
    if let Some(why) = misused(args, to_file) {
        return output::misused(why);
    }
    let path = args.run.path()?;
    let record = store::read(&path)?;
    let directory = target::directory_of(&path);
    let samples = directory.as_ref().map(|directory| directory.join(store::SAMPLES_FILE));
    let run = export::StoredRun { record, samples };
    let extent = Extent { what: args.what.unwrap_or(What::Trials), all: args.all };
    let left_out = match to_file {
        Some(file) => {
            target::spare_run(&path, file)?;
            target::to_file(file, |out| export::write(out, &run, format, extent))?
        }
        None => target::to_standard_output(|out| export::write(out, &run, format, extent))?,
    };
    for sentence in left_out {
        output::complain(&anyhow!("left out: {sentence}"));
    }
    Ok(ExitCode::SUCCESS)
}

fn misused(args: &ExportArgs, to_file: Option<&Path>) -> Option<String> {
    let (format, name) = (args.to, args.to.name());
    if args.what.is_some() && !format.is_table() {
        return Some(format!(
            "--what chooses a table of parquet and csv; {name} has only one content: leave --what out"
        ));
    }
    if args.all && format != Format::Openmetrics {
        return Some(format!("--all belongs to --to openmetrics; {name} has everything: leave --all out"));
    }
    (!format.is_text() && goes_to_terminal(to_file)).then(|| {
        format!(
            "{name} is binary and would garble a terminal: name a file with --output, or write into a pipe"
        )
    })
}

fn goes_to_terminal(to_file: Option<&Path>) -> bool {
    let Some(file) = to_file else { return std::io::stdout().is_terminal() };
    // Opening anything else may wait, or change what is there.
    let is_device = fs::metadata(file).is_ok_and(|there| there.file_type().is_char_device());
    is_device && File::options().write(true).open(file).is_ok_and(|file| file.is_terminal())
}
