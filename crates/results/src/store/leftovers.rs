//! What killed runs leave behind.

use std::ffi::OsStr;
use std::fs::TryLockError;
use std::path::{Path, PathBuf};

use netfathom_sys::directory::Directory;

/// Removes unfinished files without a living writer from the run directories of `out`, and
/// returns them. Files of live processes stay, and so does everything that is not ours. A link of another user is not
/// followed, to `out` itself neither.
///
/// Best effort: what cannot be read or removed stays for the next time.
pub fn remove_leftovers(out: &Path) -> Vec<PathBuf> {
    let Ok(out) = Directory::open_to_write(out) else { return Vec::new() };
    let names = out.names().unwrap_or_default();
    names.iter().filter_map(|name| out.within(name).ok()).flat_map(|run| removed(&run)).collect()
}

fn removed(run: &Directory) -> Vec<PathBuf> {
    let names = run.names().unwrap_or_default();
    names
        .iter()
        .filter(|name| writer(name).is_some_and(|pid| !is_alive(pid)))
        // Opening a pipe, say, would wait for its other end.
        .filter(|name| run.is_file(name) && !is_locked(run, name))
        .filter(|name| run.remove(name).is_ok())
        .map(|name| run.path().join(name))
        .collect()
}

/// The process id in the name of an unfinished file; `None` of any other file.
fn writer(name: &OsStr) -> Option<u32> {
    let (of, pid) = name.to_str()?.strip_suffix(".tmp")?.rsplit_once('.')?;
    let ours = [
        super::RECORD_FILE,
        super::HEAD_FILE,
        super::REPORT_FILE,
        super::SAMPLES_FILE,
        super::CAPTURE_FILE,
        super::TAGS_FILE,
    ];
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
fn is_locked(run: &Directory, name: &OsStr) -> bool {
    run.file(name).is_ok_and(|f| matches!(f.try_lock(), Err(TryLockError::WouldBlock)))
}
