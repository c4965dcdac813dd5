//! Where exports, comparisons and named reports go: standard output, or a file that is whole or as it was.

use std::fs::{self, File};
use std::io::{self, BufWriter, ErrorKind, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use anyhow::{Result, anyhow, bail};
use netfathom_results::export::ExportError;
use netfathom_results::store;

use crate::output;

/// What came of writing: what was left out, or why not.
pub type Written = Result<Vec<String>, ExportError>;

/// Whether it names standard input or output.
pub fn is_dash(path: &Path) -> bool {
    path.as_os_str() == "-"
}

/// The directory of a run that was named by it or by its record; `None` of standard input.
pub fn directory_of(run: &Path) -> Option<PathBuf> {
    if is_dash(run) {
        return None;
    }
    if run.is_dir() {
        return Some(run.to_owned());
    }
    let parent = run.parent()?;
    Some(if parent.as_os_str().is_empty() { PathBuf::from(".") } else { parent.to_owned() })
}

/// Refuses to write over what the run is made of, or another one.
pub fn spare_run(run: &Path, to: &Path) -> Result<()> {
    let Ok(there) = fs::metadata(to) else { return Ok(()) };
    let of_run = directory_of(run).into_iter().flat_map(|at| own_files(&at)).chain([run.to_owned()]);
    let same = |file: PathBuf| {
        fs::metadata(file)
            .is_ok_and(|own| !own.is_dir() && (own.dev(), own.ino()) == (there.dev(), there.ino()))
    };
    if of_run.into_iter().any(same) {
        bail!("{} is a file of the run itself; choose another file with --output", to.display());
    }
    let any_runs = [store::RECORD_FILE, store::SAMPLES_FILE, store::TAGS_FILE];
    if there.is_file() && any_runs.into_iter().any(|name| to.file_name() == Some(name.as_ref())) {
        bail!("{} is a file of a run; choose another file with --output", to.display());
    }
    Ok(())
}

/// What netfathom itself keeps in the directory of a run.
fn own_files(directory: &Path) -> Vec<PathBuf> {
    let named =
        [store::RECORD_FILE, store::REPORT_FILE, store::SAMPLES_FILE, store::CAPTURE_FILE, store::TAGS_FILE];
    let captured = |path: &PathBuf| path.extension().is_some_and(|e| e == "pcap" || e == "nflog");
    let entries = fs::read_dir(directory).into_iter().flatten().flatten().map(|entry| entry.path());
    named.iter().map(|name| directory.join(name)).chain(entries.filter(captured)).collect()
}

/// Writes text, or what is not for terminals, to standard output.
pub fn to_standard_output(write: impl FnOnce(&mut (dyn Write + Send)) -> Written) -> Result<Vec<String>> {
    put(output::spared(io::stdout()), write).map_err(|error| explained(error, "to ", "standard output"))
}

/// Writes to a file: beside it first, so that what stands there stays until the new one is whole. A device or a
/// pipe is written to as it is.
pub fn to_file(path: &Path, write: impl FnOnce(&mut (dyn Write + Send)) -> Written) -> Result<Vec<String>> {
    // Of a link, the file that it leads to; but none that stands in the directory of a run is followed, which may be
    // another user's.
    let is_of_run = path.with_file_name(store::RECORD_FILE).exists();
    if is_of_run && path.is_symlink() {
        bail!(
            "{} is a symbolic link in the directory of a run; remove it, or name another file",
            path.display()
        );
    }
    let place = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let special = fs::metadata(&place).is_ok_and(|there| !there.is_file());
    let written =
        if special { straight(&place, write) } else { store::write_whole(&place, |file| put(file, write)) };
    written.map_err(|error| explained(error, "", &path.display().to_string()))
}

fn explained(error: ExportError, to: &str, place: &str) -> anyhow::Error {
    match error {
        // What is still in it is not read any more.
        ExportError::Io(why) if why.kind() == ErrorKind::BrokenPipe => {
            anyhow!("{place} was closed before everything was written")
        }
        ExportError::Io(why) => anyhow!("cannot write {to}{place}: {why}{}", remedy(&why)),
        other => other.into(),
    }
}

/// Writes a text to a file, as [`to_file`] does.
pub fn text_to_file(path: &Path, text: &str) -> Result<()> {
    to_file(path, |out| Ok(out.write_all(text.as_bytes()).map(|()| Vec::new())?)).map(drop)
}

fn straight(place: &Path, write: impl FnOnce(&mut (dyn Write + Send)) -> Written) -> Written {
    put(output::spared(File::options().write(true).open(place)?), write)
}

fn put(out: impl Write + Send, write: impl FnOnce(&mut (dyn Write + Send)) -> Written) -> Written {
    let mut out = BufWriter::new(out);
    let left_out = write(&mut out)?;
    out.flush()?;
    Ok(left_out)
}

fn remedy(why: &io::Error) -> &'static str {
    match why.kind() {
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => {
            "; free some space there or choose another place with --output"
        }
        ErrorKind::FileTooLarge => "; raise the limit of file sizes (ulimit -f)",
        ErrorKind::IsADirectory => "; name a file with --output",
        _ => "; choose another place with --output",
    }
}
