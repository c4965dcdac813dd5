//! Commands that change the hosts of each lab before anything is measured in them.

use std::io::{self, Read, Seek, Write};
use std::os::unix::process::CommandExt;
use std::process::{Command, ExitStatus, Stdio};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use netfathom_model::plan::Family;
use netfathom_sys::sysfs;

use super::{Lab, LabError, Role};

/// What stands before each line that a command wrote to standard error.
pub const WROTE: &str = "--setup wrote: ";

static COMMANDS: OnceLock<Vec<String>> = OnceLock::new();
static RAN: AtomicBool = AtomicBool::new(false);

/// From now on these run in both hosts of every lab of this process, once it is there. The first call counts.
pub fn set(commands: &[String]) {
    let _ = COMMANDS.set(commands.to_vec());
}

/// Whether there are commands, and no lab has been made for them yet.
pub fn is_pending() -> bool {
    COMMANDS.get().is_some_and(|commands| !commands.is_empty()) && !RAN.load(Relaxed)
}

pub(crate) fn run(lab: &Lab, device: &str) -> Result<(), LabError> {
    for command in COMMANDS.get().into_iter().flatten() {
        for role in [Role::Sender, Role::Reader] {
            run_one(lab, role, device, command)?;
        }
        RAN.store(true, Relaxed);
    }
    Ok(())
}

fn run_one(lab: &Lab, role: Role, device: &str, command: &str) -> Result<(), LabError> {
    let (host, addresses) = match role {
        Role::Sender => (&lab.sender, [lab.sender_addr(Family::Ipv4), lab.reader_addr(Family::Ipv4)]),
        Role::Reader => (&lab.reader, [lab.reader_addr(Family::Ipv4), lab.sender_addr(Family::Ipv4)]),
    };
    let failed = |why: String| LabError::Setup(format!("{} ({command}): {why}", role.name()));
    let mut shell = Command::new("sh");
    // In a group of its own: Ctrl-C comes to us alone.
    shell.args(["-c", command]).stdin(Stdio::null()).stdout(Stdio::null()).process_group(0);
    shell.env("ROLE", role.name()).env("DEVICE", device);
    shell.env("ADDRESS", addresses[0].to_string()).env("PEER", addresses[1].to_string());
    // With the sysfs of that host, where its device has its queues.
    let ended = host.run(|| sysfs::with_own(|_| with_errors(&mut shell)))?;
    let (status, errors) = ended.and_then(|ended| ended).map_err(|error| failed(error.to_string()))?;
    let errors = errors.trim();
    match status.success() {
        true => {
            // `sysctl -w` succeeds where it may not write.
            errors.lines().for_each(|line| drop(writeln!(io::stderr(), "{WROTE}{line}")));
            Ok(())
        }
        false if errors.is_empty() => Err(failed(status.to_string())),
        false => Err(failed(format!("{status}: {errors}"))),
    }
}

/// Runs it to its end; what it wrote to standard error. By a file: a pipe would not end before a program that it leaves
/// running does.
fn with_errors(shell: &mut Command) -> io::Result<(ExitStatus, String)> {
    let mut file = tempfile::tempfile()?;
    let status = shell.stderr(file.try_clone()?).status()?;
    file.rewind()?;
    let mut errors = Vec::new();
    file.read_to_end(&mut errors)?;
    Ok((status, String::from_utf8_lossy(&errors).into_owned()))
}
