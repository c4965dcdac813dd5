//! A cgroup of a test.

use std::fs;
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// Longer than a process that was ended is still a member.
const LEAVES: Duration = Duration::from_secs(1);

/// Gone with the value, its members back in its parent.
pub struct Group(PathBuf);

impl Group {
    /// `None` where none can be made.
    pub fn below(parent: impl AsRef<Path>, name: &str) -> Option<Self> {
        let group = parent.as_ref().join(name);
        fs::create_dir(&group).ok()?;
        Some(Self(group))
    }

    pub fn path(&self) -> &Path {
        &self.0
    }

    pub fn set(&self, file: &str, value: impl ToString) -> Option<()> {
        fs::write(self.0.join(file), value.to_string()).ok()
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        // Threads of a cgroup that has single ones, or of the first version, before whole processes.
        for list in ["tasks", "cgroup.threads", "cgroup.procs"] {
            for member in fs::read_to_string(self.0.join(list)).unwrap_or_default().lines() {
                let _ = fs::write(self.0.join("..").join(list), member);
            }
        }
        let begin = Instant::now();
        while fs::remove_dir(&self.0).is_err() && begin.elapsed() < LEAVES {
            sleep(Duration::from_millis(1));
        }
    }
}
