//! Commands that change the hosts of each lab before anything is measured in them.

use std::io::{self, Read, Seek, Write};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::Relaxed};

use netfathom_model::plan::Family;
use netfathom_sys::child::{end_with_this_thread, signal_group};
use netfathom_sys::netns::Namespace;
use netfathom_sys::process::SIGKILL;
use netfathom_sys::sysfs;

use super::{Lab, LabError, Role};

/// What stands before each line that a command wrote to standard error.
pub const WROTE: &str = "--setup wrote: ";

static COMMANDS: OnceLock<Vec<String>> = OnceLock::new();
static RAN: AtomicBool = AtomicBool::new(false);
/// The process of the command that runs now, the leader of its group; 0 if none does.
static RUNNING: AtomicU32 = AtomicU32::new(0);

/// From now on these run in both hosts of every lab of this process, once it is there. The first call counts.
pub fn set(commands: &[String]) {
    let _ = COMMANDS.set(commands.to_vec());
}

/// Whether there are commands, and no lab has been made for them yet.
pub fn is_pending() -> bool {
    COMMANDS.get().is_some_and(|commands| !commands.is_empty()) && !RAN.load(Relaxed)
}

/// Passes a signal on to the command that runs now.
pub fn signal(signal: i32) {
    let leader = RUNNING.load(Relaxed);
    if leader != 0 {
        // It may have ended just now.
        let _ = signal_group(leader, signal);
    }
}

/// Ends what the commands left running in a host of a lab.
pub(super) fn end_what_is_left(host: &Namespace) {
    if !RAN.load(Relaxed) {
        return;
    }
    for process in host.processes().unwrap_or_default() {
        // It may have ended just now.
        let _ = process.signal(SIGKILL);
    }
}

pub(crate) fn run(lab: &Lab, device: &str) -> Result<(), LabError> {
    for command in COMMANDS.get().into_iter().flatten() {
        RAN.store(true, Relaxed);
        for role in [Role::Sender, Role::Reader] {
            run_one(lab, role, device, command)?;
        }
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
        false => Err(failed(format!("{status}: {errors}{}", elsewhere(errors)))),
    }
}

/// What to do about a sysctl that hosts of a lab do not have.
fn elsewhere(errors: &str) -> &'static str {
    let mut words = errors.split_whitespace().map(|word| word.trim_end_matches(':'));
    let is_of_host = words.any(|word| word.starts_with("/proc/sys/") && Path::new(word).exists());
    if is_of_host && errors.contains("No such file") {
        "; this sysctl exists on the host alone: change it there, and measure with --loopback"
    } else {
        ""
    }
}

/// Runs it to its end; what it wrote to standard error. By a file: a pipe would not end before a program that it leaves
/// running does.
fn with_errors(shell: &mut Command) -> io::Result<(ExitStatus, String)> {
    let mut file = tempfile::tempfile()?;
    end_with_this_thread(shell);
    let mut child = shell.stderr(file.try_clone()?).spawn()?;
    RUNNING.store(child.id(), Relaxed);
    let status = child.wait();
    RUNNING.store(0, Relaxed);
    let status = status?;
    file.rewind()?;
    let mut errors = Vec::new();
    file.read_to_end(&mut errors)?;
    Ok((status, String::from_utf8_lossy(&errors).into_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sysctl_of_the_host_alone_is_named_as_one() {
        let missing = |path: &str| format!("sysctl: cannot stat {path}: No such file or directory");
        assert!(elsewhere(&missing("/proc/sys/kernel/ostype")).contains("--loopback"));
        assert_eq!(elsewhere(&missing("/proc/sys/kernel/imaginary")), "");
    }
}
