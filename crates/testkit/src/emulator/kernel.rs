//! Kernels of Debian, out of its packages, which are unpacked and never installed.

use std::path::{Path, PathBuf};
use std::process::Command;

use netfathom_sys::guest::{Kernel, Machine, output, tool};

/// A kernel that is wanted, as a line of a list has it: name, architecture, suite, packages.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wanted {
    pub name: String,
    pub machine: Machine,
    suite: String,
    packages: Vec<String>,
}

impl Wanted {
    /// Those of a list; what follows a `#` is a comment.
    pub fn of_list(list: &str) -> Result<Vec<Self>, String> {
        let lines = list.lines().map(|line| line.split('#').next().unwrap_or_default().trim());
        lines.filter(|line| !line.is_empty()).map(Self::of_line).collect()
    }

    fn of_line(line: &str) -> Result<Self, String> {
        let words: Vec<&str> = line.split_whitespace().collect();
        let [name, architecture, suite, packages @ ..] = &words[..] else {
            return Err(format!("no kernel: {line}"));
        };
        let machine = Machine::of_debian(architecture).ok_or(format!("no machine to emulate: {line}"))?;
        let packages = packages.iter().map(|&name| name.to_owned()).collect();
        Ok(Self { name: (*name).to_owned(), machine, suite: (*suite).to_owned(), packages })
    }

    /// Its packages, unpacked; kept in `cache`.
    pub fn unpacked(&self, cache: &Path) -> Result<Kernel, String> {
        let packages: Vec<&str> = self.packages.iter().map(String::as_str).collect();
        let name = format!("{}-{}", self.name, self.machine.debian());
        let folder = unpacked(self.machine, &self.suite, &packages, &cache.join(name))?;
        in_folder(&folder, self.machine)
    }
}

/// Packages of Debian, unpacked into a folder unless it is there.
fn unpacked(machine: Machine, suite: &str, packages: &[&str], folder: &Path) -> Result<PathBuf, String> {
    if !folder.exists() {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scripts/debian");
        tool(Command::new(script).args([machine.debian(), suite]).arg(folder).args(packages))?;
    }
    Ok(folder.to_owned())
}

fn in_folder(folder: &Path, machine: Machine) -> Result<Kernel, String> {
    let find = r#"cd "$1"; ls -d lib/modules/* usr/lib/modules/* 2>/dev/null; ls boot/vmlinuz-* usr/lib/modules/*/vmlinuz 2>/dev/null; true"#;
    let found = output(Command::new("sh").args(["-c", find, "sh"]).arg(folder))?;
    let missing = || format!("{}: no kernel with modules in there", folder.display());
    let mut lines = found.lines();
    let (modules, binary) = (lines.next().ok_or_else(missing)?, lines.next().ok_or_else(missing)?);
    let release = Path::new(modules).file_name().ok_or_else(missing)?.to_string_lossy().into_owned();
    Ok(Kernel { machine, modules: Some(folder.join(modules)), binary: folder.join(binary), release })
}

/// Where busybox and the libraries of another machine are; those of this one are the system's own.
pub(super) fn system(machine: Machine) -> Result<Option<PathBuf>, String> {
    const PACKAGES: [&str; 5] = ["busybox-static", "libc6", "libgcc-s1", "libelf1", "zlib1g"];
    /// Where make puts what is built for another machine; it is made by scripts/cross.
    const TARGET: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../target");
    if machine.is_own() {
        return Ok(None);
    }
    let folder = PathBuf::from(TARGET).join(format!("emulated-{}", machine.debian()));
    unpacked(machine, "bookworm", &PACKAGES, &folder).map(Some)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_names_a_kernel_and_where_it_is() {
        let list = "# name\n6.1 arm64 bookworm linux-image-6.1.*-cloud-arm64 # Debian 12\n\n";
        let [kernel] = &Wanted::of_list(list).unwrap()[..] else { panic!("one kernel") };
        assert_eq!((kernel.name.as_str(), kernel.machine), ("6.1", Machine::Aarch64));
        assert_eq!(kernel.packages, ["linux-image-6.1.*-cloud-arm64"]);
        assert!(Wanted::of_list("6.1 vax bookworm x").is_err() && Wanted::of_list("6.1").is_err());
    }
}
