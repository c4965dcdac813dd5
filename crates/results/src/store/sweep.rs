//! What killed runs leave behind.

use std::fs::{self, File, TryLockError};
use std::path::{Path, PathBuf};

/// Removes unfinished files from the run directories of `out` whose writer is gone, and
/// returns them. Files of live processes stay, and so does everything that is not ours.
///
/// Best effort: what cannot be read or removed stays for the next time.
pub fn sweep(out: &Path) -> Vec<PathBuf> {
    let runs = entries(out).filter(|p| p.is_dir() && !p.is_symlink());
    runs.flat_map(|run| entries(&run).collect::<Vec<_>>())
        // Opening a pipe, say, would wait for its other end.
        .filter(|file| file.symlink_metadata().is_ok_and(|kind| kind.is_file()))
        .filter(|file| writer(file).is_some_and(|pid| !is_alive(pid)) && !is_locked(file))
        .filter(|file| fs::remove_file(file).is_ok())
        .collect()
}

fn entries(dir: &Path) -> impl Iterator<Item = PathBuf> {
    fs::read_dir(dir).into_iter().flatten().flatten().map(|e| e.path())
}

/// The process id in the name of an unfinished file; `None` of any other file.
fn writer(file: &Path) -> Option<u32> {
    let name = file.file_name()?.to_str()?;
    let (of, pid) = name.strip_suffix(".tmp")?.rsplit_once('.')?;
    let ours =
        [super::RECORD_FILE, super::REPORT_FILE, super::SAMPLES_FILE, super::CAPTURE_FILE, super::TAGS_FILE];
    (ours.contains(&of) || is_of_capture(of)).then(|| pid.parse().ok())?
}

/// Whether it is what the pcap tap captures or logs during a trial or a burst.
fn is_of_capture(name: &str) -> bool {
    (name.starts_with("trial-") || name.starts_with("burst-"))
        && (name.ends_with(".pcap") || name.ends_with(".nflog"))
}

fn is_alive(pid: u32) -> bool {
    Path::new("/proc").join(pid.to_string()).exists()
}

/// Whether a process that we may not see, in a container say, is still writing.
fn is_locked(file: &Path) -> bool {
    File::open(file).is_ok_and(|f| matches!(f.try_lock(), Err(TryLockError::WouldBlock)))
}
