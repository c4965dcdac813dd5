//! Writing a report beside its record: never out of its run's directory.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use anyhow::{Result, anyhow, bail};
use netfathom_results::store;

/// Refuses a run directory whose record is a link out of it: what is written beside it would then not be its report.
pub fn stays_inside(run: &Path) -> Result<()> {
    let record = run.join(store::RECORD_FILE);
    let is_link = |path: &Path| path.symlink_metadata().is_ok_and(|kind| kind.is_symlink());
    if !run.is_dir() || !is_link(&record) {
        return Ok(());
    }
    let to = fs::read_link(&record).unwrap_or_default();
    match (run.canonicalize(), record.canonicalize()) {
        (Ok(run), Ok(real)) if real.starts_with(&run) => Ok(()),
        _ => bail!(
            "{} is a symbolic link out of its run, to {}; nothing was written. Name that file itself if it is the one",
            record.display(),
            to.display()
        ),
    }
}

/// Writes beside a record, whole or not at all. A link that stands there is not followed.
pub fn write_beside(path: &Path, text: &str) -> Result<()> {
    if let Ok(kind) = path.symlink_metadata() {
        if kind.is_symlink() {
            let to = fs::read_link(path).unwrap_or_default();
            bail!(
                "{} is a symbolic link to {}; nothing was written. Remove the link, or name a file with --output",
                path.display(),
                to.display()
            );
        }
        if !kind.is_file() {
            bail!("{} is no file; nothing was written. Name a file with --output", path.display());
        }
    }
    let written: io::Result<()> = store::write_whole(path, |file| file.write_all(text.as_bytes()));
    written
        .map_err(|why| anyhow!("cannot write {}: {why}; choose another file with --output", path.display()))
}

/// The file of a record that came by a pipe: its id, which may hold anything, as a name in this directory.
pub fn name_of(id: &str) -> PathBuf {
    let keep = |c: char| if c.is_ascii_alphanumeric() || matches!(c, '-' | '_') { c } else { '_' };
    let name: String = id.chars().take(100).map(keep).collect();
    PathBuf::from(format!("{}.html", if name.is_empty() { "report" } else { &name }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_never_leads_elsewhere() {
        assert_eq!(name_of("20261121T031400Z-stack-1a2b3c"), Path::new("20261121T031400Z-stack-1a2b3c.html"));
        assert_eq!(name_of("../../etc/x\u{1b}[2J"), Path::new("______etc_x__2J.html"));
        assert_eq!(name_of(""), Path::new("report.html"));
    }
}
