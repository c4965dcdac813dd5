//! A directory of ours that goes with us, and what killed runs have left of theirs.

use std::ffi::OsStr;
use std::fs::{File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use netfathom_sys::directory::Directory;
use netfathom_sys::process::started;

/// Before the kind, the owner's process id, its start and a number: `netfathom-tree-4711-123456-0`.
const PREFIX: &str = "netfathom-";

/// What directories of ours are for: a part of their names.
pub const KINDS: [&str; 3] = [TREE, LIGHT, PROJECTS];
pub const TREE: &str = "tree";
/// What the phases of the light benchmark write.
pub const LIGHT: &str = "light";
pub const PROJECTS: &str = "projects";

/// A directory of this process, removed when it is dropped.
#[derive(Debug)]
pub struct Workplace {
    parent: Directory,
    directory: Directory,
    /// Locked, which says to processes that do not see our ids that it is in use.
    _lock: Option<File>,
}

impl Workplace {
    /// Makes one in a directory, after removing those of this kind that a dead process left.
    pub fn create(parent: &Path, kind: &str) -> io::Result<Self> {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        sweep(parent, kind);
        let pid = std::process::id();
        let started = started(pid).ok_or_else(|| io::Error::other("cannot read /proc/self/stat"))?;
        let name = format!("{PREFIX}{kind}-{pid}-{started}-{}", NUMBER.fetch_add(1, Relaxed));
        let parent = Directory::open_to_write(parent)?;
        let directory = parent.make(name)?;
        // Not every file system has locks; the owner's id alone does there.
        let lock = directory.again().ok().filter(|lock| lock.try_lock().is_ok());
        Ok(Self { parent, directory, _lock: lock })
    }

    pub fn path(&self) -> &Path {
        self.directory.path()
    }

    /// Itself, wherever its name leads by now: for what is written into it.
    pub fn directory(&self) -> &Directory {
        &self.directory
    }
}

impl Drop for Workplace {
    fn drop(&mut self) {
        // What stays after all, the next start finds.
        let _ = remove(&self.parent, &self.directory);
    }
}

/// Removes directories of this kind that a dead process left, and returns them. Best effort: what
/// cannot be read or removed stays for the next time. Directories of other users stay.
pub fn sweep(parent: &Path, kind: &str) -> Vec<PathBuf> {
    let Ok(parent) = Directory::open_to_write(parent) else { return Vec::new() };
    let names = parent.names().unwrap_or_default();
    names
        .iter()
        .filter(|name| owner(name, kind).is_some_and(|(pid, start)| started(pid) != Some(start)))
        .filter_map(|name| parent.within(name).ok())
        .filter(|left| left.is_ours() && !is_locked(left))
        .filter(|left| remove(&parent, left).is_ok())
        .map(|left| left.path().to_owned())
        .collect()
}

fn remove(parent: &Directory, directory: &Directory) -> io::Result<()> {
    directory.clear()?;
    parent.remove_empty(directory.path().file_name().unwrap_or_default())
}

/// Process id and start of the owner, as the name has them.
fn owner(name: &OsStr, kind: &str) -> Option<(u32, u64)> {
    let mut parts = name.to_str()?.strip_prefix(PREFIX)?.strip_prefix(kind)?.strip_prefix('-')?.split('-');
    let (pid, start, number) = (parts.next()?, parts.next()?, parts.next()?);
    number.parse::<u32>().ok().filter(|_| parts.next().is_none())?;
    Some((pid.parse().ok()?, start.parse().ok()?))
}

fn is_locked(directory: &Directory) -> bool {
    directory.again().is_ok_and(|dir| matches!(dir.try_lock(), Err(TryLockError::WouldBlock)))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    /// The id of a process that is gone, and when it started.
    fn somebody_gone() -> (u32, u64) {
        let mut child = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        let found = (child.id(), started(child.id()).unwrap());
        child.kill().unwrap();
        child.wait().unwrap();
        found
    }

    #[test]
    fn it_goes_with_its_value() {
        let parent = tempfile::tempdir().unwrap();
        let [one, other] = [0, 1].map(|_| Workplace::create(parent.path(), "tree").unwrap());
        fs::create_dir(one.path().join("deep")).unwrap();
        fs::write(one.path().join("deep/file"), "x").unwrap();
        let gone = one.path().to_owned();
        drop(one);
        assert!(!gone.exists() && other.path().exists());
    }

    #[test]
    fn what_the_dead_left_is_removed_and_the_rest_stays() {
        let parent = tempfile::tempdir().unwrap();
        let make = |name: String| {
            let path = parent.path().join(name);
            fs::create_dir(&path).unwrap();
            fs::write(path.join("file"), "x").unwrap();
            path
        };
        let ((gone, its_start), us) = (somebody_gone(), std::process::id());
        let ours = started(us).unwrap();
        let left = [
            make(format!("netfathom-tree-{gone}-{its_start}-0")),
            // Our number is used again: it is not our directory.
            make(format!("netfathom-tree-{us}-{}-3", ours - 1)),
        ];
        let alive = Workplace::create(parent.path(), "tree").unwrap();
        let stays = [
            make(format!("netfathom-tree-{us}-{ours}-77")),
            make(format!("netfathom-light-{gone}-{its_start}-0")),
            make(format!("netfathom-tree-{gone}-{its_start}")),
            make("netfathom-tree-mine".into()),
            alive.path().to_owned(),
        ];
        assert_eq!(left.each_ref().map(|path| path.exists()), [false, false]);
        assert_eq!(stays.each_ref().map(|path| path.exists()), [true; 5]);
    }

    #[test]
    fn a_locked_one_is_in_use_whoever_it_names() {
        let parent = tempfile::tempdir().unwrap();
        let (gone, its_start) = somebody_gone();
        let path = parent.path().join(format!("netfathom-tree-{gone}-{its_start}-0"));
        fs::create_dir(&path).unwrap();
        let lock = File::open(&path).unwrap();
        lock.try_lock().unwrap();
        assert!(sweep(parent.path(), "tree").is_empty());
        drop(lock);
        assert_eq!(sweep(parent.path(), "tree"), [path]);
    }

    #[test]
    fn who_has_ended_owns_nothing_before_it_is_reaped() {
        let parent = tempfile::tempdir().unwrap();
        let mut child = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        let path =
            parent.path().join(format!("netfathom-light-{}-{}-0", child.id(), started(child.id()).unwrap()));
        fs::create_dir(&path).unwrap();
        child.kill().unwrap();
        let ended = || started(child.id()).is_none();
        while !ended() {
            std::thread::yield_now();
        }
        assert_eq!(sweep(parent.path(), "light"), [path]);
        child.wait().unwrap();
    }

    #[test]
    fn a_link_in_the_place_of_the_directory_is_not_followed() {
        let parent = tempfile::tempdir().unwrap();
        let (victim, moved) = (parent.path().join("victim"), parent.path().join("moved"));
        fs::create_dir(&victim).unwrap();
        fs::write(victim.join("precious"), "x").unwrap();
        let place = Workplace::create(parent.path(), "tree").unwrap();
        let path = place.path().to_owned();
        fs::rename(&path, &moved).unwrap();
        std::os::unix::fs::symlink(&victim, &path).unwrap();
        place.directory().create_new("file").unwrap();
        assert!(moved.join("file").exists() && !victim.join("file").exists());
        drop(place);
        assert_eq!(fs::read(victim.join("precious")).unwrap(), b"x");
        assert_eq!(fs::read_dir(&moved).unwrap().count(), 0);
    }
}
