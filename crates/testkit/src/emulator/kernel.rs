//! Kernels of Debian, out of its packages, which are unpacked and never installed.

use std::cmp::Reverse;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::image::{output, tool};

/// An unpacked kernel package.
pub struct Kernel {
    folder: PathBuf,
    /// Its release, as uname(2) has it.
    pub release: String,
}

impl Kernel {
    /// The newest cloud kernel of a series such as `6.12` among this system's packages; kept in `cache`.
    ///
    /// # Errors
    /// Why it is not to be had.
    pub fn of_debian(series: &str, cache: &Path) -> Result<Self, String> {
        if cfg!(not(target_arch = "x86_64")) {
            return Err("only machines of x86-64 are emulated".into());
        }
        let package = newest(series)?;
        let folder = cache.join(&package);
        if !folder.exists() {
            unpack(&package, &folder)?;
        }
        let release = package.trim_start_matches("linux-image-").to_owned();
        Ok(Self { folder, release })
    }

    /// What a boot loader loads.
    #[must_use]
    pub fn binary(&self) -> PathBuf {
        self.folder.join("boot").join(format!("vmlinuz-{}", self.release))
    }

    /// Where its modules are.
    #[must_use]
    pub fn modules(&self) -> PathBuf {
        self.folder.join("lib/modules").join(&self.release)
    }
}

fn newest(series: &str) -> Result<String, String> {
    let begin = format!("linux-image-{series}.");
    let known = output(Command::new("apt-cache").arg("pkgnames").arg(&begin))?;
    let cloud = known.lines().filter(|name| name.starts_with(&begin) && name.ends_with("-cloud-amd64"));
    let numbers = |name: &str| -> Vec<u64> {
        name.split(|c: char| !c.is_ascii_digit()).filter_map(|digits| digits.parse().ok()).collect()
    };
    let newest = cloud.min_by_key(|name| Reverse(numbers(name)));
    newest.map(str::to_owned).ok_or_else(|| {
        format!("there is no package {begin}*-cloud-amd64 here: it is one of Debian 12; run apt-get update")
    })
}

/// Two at once do it both; the first one that is whole stays.
fn unpack(package: &str, to: &Path) -> Result<(), String> {
    let parent = to.parent().unwrap_or(Path::new("."));
    let scratch = parent.join(format!("{package}.{}", std::process::id()));
    let said = |e: std::io::Error| format!("{}: {e}", scratch.display());
    fs::create_dir_all(&scratch).map_err(said)?;
    let unpacked = tool(Command::new("apt-get").args(["download", package]).current_dir(&scratch))
        .map_err(|why| format!("{package} cannot be downloaded: {why}"))
        .and_then(|()| {
            tool(Command::new("sh").args(["-c", "dpkg-deb -x *.deb . && rm *.deb"]).current_dir(&scratch))
        });
    if unpacked.is_ok() {
        // Whoever was first has put the same there.
        let _ = fs::rename(&scratch, to);
    }
    let _ = fs::remove_dir_all(&scratch);
    unpacked
}
