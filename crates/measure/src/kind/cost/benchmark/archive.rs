//! The programs that read a [`Tree`](super::tree::Tree): GNU tar, alone and with gzip.

use std::io;
use std::path::Path;
use std::process::{Command, Stdio};

/// GNU tar does not read files when its archive is /dev/null. It does for this device, which throws
/// away what is written to it as well: no second program that reads a pipe is in the measurement.
const NOWHERE: &str = "/dev/zero";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Archive {
    /// An archive: files are read, mostly in the kernel.
    Tar,
    /// The same compressed by gzip, beside it: mostly in user mode, as the paper's (61 s of user
    /// time to 7 s of the system's).
    TarGzip,
}

impl Archive {
    /// The command: it opens the planted files in their order, each once, and has read all of the
    /// tree when it ends. It is the root of all processes that take part.
    pub fn command(self, root: &Path) -> Command {
        let mut command = Command::new("tar");
        // Names of users would be looked up in files, or in the network.
        command.args(["--create", "--sort=name", "--numeric-owner", "--file", NOWHERE]);
        if self == Self::TarGzip {
            command.arg("--gzip");
        }
        command.arg("--directory").arg(root).arg(".");
        // Options that a user may have set for tar and gzip are not part of the benchmark.
        command.env_remove("TAR_OPTIONS").env_remove("GZIP").env("LC_ALL", "C");
        command.stdin(Stdio::null()).stdout(Stdio::null());
        command
    }

    pub fn check(self) -> Result<(), ProgramError> {
        let text = version("tar")?;
        if !text.contains("GNU tar") {
            let found = text.lines().next().unwrap_or_default().to_owned();
            return Err(ProgramError::OtherTar { found });
        }
        if self == Self::TarGzip { version("gzip").map(drop) } else { Ok(()) }
    }
}

/// Why a benchmark cannot be run.
#[derive(Debug, thiserror::Error)]
pub enum ProgramError {
    #[error("cannot run {program}: {source}; install it (Debian: apt install {program})")]
    Missing { program: &'static str, source: io::Error },
    #[error("tar is `{found}`, not GNU tar, which alone reads in a known order (--sort=name): install that")]
    OtherTar { found: String },
}

fn version(program: &'static str) -> Result<String, ProgramError> {
    let output = Command::new(program).arg("--version").stdin(Stdio::null()).output();
    let output = output.map_err(|source| ProgramError::Missing { program, source })?;
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}
