//! Debian's kernels in software emulation: what works is seen there, how fast it is not.

mod kernel;

pub use kernel::Wanted;
pub use netfathom_sys::guest::{Kernel, Machine};

use std::path::Path;
use std::thread::sleep;
use std::time::{Duration, Instant};

use netfathom_sys::guest::{self, By, Image};

use crate::Killed;

/// Between two looks at whether the machine has gone off.
const NAP: Duration = Duration::from_millis(50);

/// The package of a program that is not here and that it takes to emulate the machine.
pub fn missing_program(machine: Machine) -> Option<&'static str> {
    guest::missing_program(machine)
}

/// Boots a kernel in the emulator with programs and a script, which leaves files in `/out`, and waits until it has run
/// and the machine gone off. The files are then in the folder's `out`. Returns what the machine wrote to its console.
pub fn boot(
    kernel: &Kernel,
    programs: &[&Path],
    script: &str,
    folder: &Path,
    limit: Duration,
) -> Result<String, String> {
    let image = Image::make(kernel, programs, kernel::system(kernel.machine)?.as_deref(), script, folder)?;
    let failed = |e: std::io::Error| format!("cannot start the emulator: {e}");
    let qemu = guest::boot(kernel, &image, folder, By::Emulation)
        .and_then(|mut qemu| qemu.spawn())
        .map_err(failed)?;
    let ended = end_within(Killed(qemu), limit);
    let unpacked = guest::unpack(folder);
    ended.map_err(|why| format!("{why}; {}", unpacked.as_ref().err().map_or("", String::as_str)))?;
    unpacked
}

fn end_within(mut qemu: Killed, limit: Duration) -> Result<(), String> {
    let deadline = Instant::now() + limit;
    loop {
        match qemu.try_wait() {
            Ok(Some(status)) if status.success() => return Ok(()),
            Ok(Some(status)) => return Err(format!("the emulator failed ({status})")),
            Ok(None) if Instant::now() < deadline => sleep(NAP),
            Ok(None) => return Err(format!("the machine is still on after {limit:?}")),
            Err(e) => return Err(format!("cannot wait for the emulator: {e}")),
        }
    }
}
