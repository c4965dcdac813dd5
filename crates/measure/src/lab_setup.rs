//! Commands that change the hosts of each lab before anything is measured in them.

use std::process::{Command, Stdio};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use netfathom_model::plan::Family;
use netfathom_sys::sysfs;

use crate::lab::{Lab, LabError, Role};

static COMMANDS: OnceLock<Vec<String>> = OnceLock::new();
static RAN: AtomicBool = AtomicBool::new(false);

/// From now on these run in both hosts of every lab of this process, once it is there. The first call counts.
pub fn set(commands: &[String]) {
    let _ = COMMANDS.set(commands.to_vec());
}

/// Whether there are commands, and no lab has been made for them yet.
#[must_use]
pub fn is_pending() -> bool {
    COMMANDS.get().is_some_and(|commands| !commands.is_empty()) && !RAN.load(Relaxed)
}

/// Runs them in a lab.
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
    shell.args(["-c", command]).stdin(Stdio::null());
    shell.env("ROLE", role.name()).env("DEVICE", device);
    shell.env("ADDRESS", addresses[0].to_string()).env("PEER", addresses[1].to_string());
    // With the sysfs of that host, where its device has its queues.
    let ended = host.run(|| sysfs::with_own(|_| shell.output()))?;
    let output = ended.and_then(|output| output).map_err(|error| failed(error.to_string()))?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    Err(failed(format!("{}: {}", output.status, said.trim())))
}
