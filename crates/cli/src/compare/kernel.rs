//! Runs in kernels that are given as images. Each run boots its kernel anew, with this netfathom.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};

use anyhow::{Context, Result, anyhow, bail};
use netfathom_model::record::Record;
use netfathom_sys::guest::{self, By, Image, Machine, missing_program};

use crate::{invocation, output};

#[derive(Clone, Debug)]
pub struct Kernel {
    kernel: guest::Kernel,
    by: By,
}

/// What a guest left: the status of its netfathom, its record, and its messages.
pub struct Left {
    pub status: ExitStatus,
    pub record: Vec<u8>,
    pub errors: Vec<u8>,
}

impl Kernel {
    /// `IMAGE`, with modules found by its name, or `IMAGE,MODULES`.
    pub fn of(text: &str, emulate: bool) -> Result<Self> {
        let machine = Machine::ALL.into_iter().find(|machine| machine.is_own());
        let machine = machine.context("--kernel: guests are of x86-64 and arm64 only")?;
        if let Some(package) = missing_program(machine) {
            bail!("--kernel: it takes what Debian has in the package {package}: apt-get install {package}");
        }
        let (image, modules) =
            text.split_once(',').map_or((text, None), |(image, modules)| (image, Some(modules)));
        let binary = PathBuf::from(image);
        let name = binary.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if !binary.is_file() {
            bail!(
                "--kernel {text}: {image} is no file; name an image as a boot loader takes it (bzImage, Image, vmlinuz)"
            );
        }
        let of_name = name.strip_prefix("vmlinuz-").map(|release| Path::new("/lib/modules").join(release));
        let modules = modules.map(PathBuf::from).or_else(|| of_name.filter(|folder| folder.is_dir()));
        if let Some(folder) = modules.as_ref().filter(|folder| !folder.join("kernel").is_dir()) {
            bail!(
                "--kernel {text}: {} has no folder kernel with modules in it; name the directory of one release, such as \
                 /lib/modules/6.12.0, or below INSTALL_MOD_PATH of make modules_install",
                folder.display()
            );
        }
        let release = modules.as_deref().and_then(Path::file_name);
        let release = release.map_or(name, |release| release.to_string_lossy().into_owned());
        Ok(Self {
            kernel: guest::Kernel { machine, binary, modules, release },
            by: if emulate { By::Emulation } else { By::best() },
        })
    }

    pub fn is_emulated(&self) -> bool {
        self.by == By::Emulation
    }

    /// The guest, to be started. It ends after a run with these arguments, and that profile if they name none.
    pub fn boot(&self, words: &[String], profile: Option<&str>, folder: &Path) -> Result<Command> {
        let own = std::env::current_exe().context("cannot find out which program this is")?;
        let program = words.iter().position(|word| word == "--").unwrap_or(words.len());
        let (before, after) = words.split_at(program);
        let all = before.iter().map(String::as_str).chain(["--json", "--out", "/tmp/runs"]);
        let all = shlex::try_join(all.chain(after.iter().map(String::as_str)))
            .context("an argument holds a NUL")?;
        let name = own.file_name().unwrap_or_default().to_string_lossy();
        let profile = profile.map_or_else(String::new, |p| format!("{}={p}", invocation::PROFILE));
        let script =
            format!("cd /tmp; {profile} {name} {all} >/out/record 2>/out/errors; echo $? >/out/status\n");
        let image = Image::make(&self.kernel, &[&own], None, &script, folder).map_err(|why| anyhow!(why))?;
        guest::boot(&self.kernel, &image, folder, self.by).context("cannot start the guest")
    }

    pub fn left(&self, folder: &Path) -> Result<Left> {
        let release = &self.kernel.release;
        guest::unpack(folder)
            .map_err(|why| anyhow!("the kernel {release} did not come to the run's end: {why}"))?;
        let file =
            |name: &str| fs::read(folder.join("out").join(name)).with_context(|| format!("no file {name}"));
        let code: i32 = String::from_utf8_lossy(&file("status")?).trim().parse().context("no exit status")?;
        Ok(Left { status: ExitStatus::from_raw(code << 8), record: file("record")?, errors: file("errors")? })
    }
}

/// An answer without times: both ran, and what one kernel lacks of what the other has.
pub fn without_times(a: &Record, b: &Record) -> String {
    let mut text = "emulated: times are the emulator's, so none are compared\n".to_owned();
    for (side, record) in [("A", a), ("B", b)] {
        let release = &record.environment.kernel;
        let _ = writeln!(text, "{side}: {release} ran to the end: {}", record.verdict.level.name());
    }
    let lacks = [a, b].map(left_out);
    for (side, own, other) in [("A", &lacks[0], &lacks[1]), ("B", &lacks[1], &lacks[0])] {
        for (what, why) in own.iter().filter(|(what, _)| !other.contains_key(*what)) {
            let _ = writeln!(text, "only {side} lacks the {}", output::harmless(&format!("{what}: {why}")));
        }
    }
    if lacks[0].keys().eq(lacks[1].keys()) {
        text += "neither lacks a stage that the other has\n";
    }
    text
}

fn left_out(record: &Record) -> BTreeMap<String, String> {
    let measurement = serde_json::to_value(&record.measurement).unwrap_or_default();
    let left_out = measurement["left_out"].as_array().into_iter().flatten();
    let word = |value: &serde_json::Value| value.as_str().unwrap_or_default().to_owned();
    left_out.map(|left_out| (word(&left_out["what"]), word(&left_out["reason"]))).collect()
}
