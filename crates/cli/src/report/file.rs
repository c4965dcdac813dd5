//! Writing a report beside its record: never out of its run's directory.

use std::ffi::OsStr;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use anyhow::{Result, anyhow, bail};
use netfathom_results::store;
use netfathom_sys::directory::Directory;

/// Refuses a run directory with a record that is a link out of it: a report written there would be of another run.
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

/// Where a report goes that has no other place: the directory of its record, which is held open from before the record
/// is read.
pub struct Beside {
    pub directory: Directory,
    name: PathBuf,
}

impl Beside {
    /// In the directory of a run or of a file of one, or of any file in the working directory.
    pub fn of(directory: &Path, name: &OsStr) -> Result<Self> {
        let opened = Directory::open(directory);
        let directory =
            opened.map_err(|why| anyhow!("cannot open the directory {}: {why}", directory.display()))?;
        Ok(Self { directory, name: name.into() })
    }

    pub fn path(&self) -> PathBuf {
        self.directory.path().join(&self.name)
    }

    /// Writes it, whole or not at all. A link that stands there is not followed.
    pub fn write(&self, text: &str) -> Result<()> {
        let path = self.path();
        if self.directory.holds(&self.name) && !self.directory.is_file(&self.name) {
            match fs::read_link(&path) {
                Ok(to) => bail!(
                    "{} is a symbolic link to {}; nothing was written. Remove the link, or name a file with --output",
                    path.display(),
                    to.display()
                ),
                Err(_) => {
                    bail!("{} is no file; nothing was written. Name a file with --output", path.display())
                }
            }
        }
        let write = |file: &mut fs::File| file.write_all(text.as_bytes());
        let written: io::Result<()> = store::write_whole_in(&self.directory, self.name.as_os_str(), write);
        written.map_err(|why| {
            anyhow!("cannot write {}: {why}; choose another file with --output", path.display())
        })
    }
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
