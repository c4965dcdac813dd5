//! Debian's kernels in software emulation: what works is seen there, how fast it is not.

mod kernel;

pub use kernel::Wanted;
pub use netfathom_sys::guest::{Kernel, Machine};

use std::fs;
use std::path::Path;
use std::process::ExitStatus;
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

/// A machine that is on.
pub struct Guest<'a> {
    emulator: Killed,
    folder: &'a Path,
    begin: Instant,
    limit: Duration,
}

/// Boots a kernel in the emulator with programs and a script, which leaves files in `/out`. A machine that is still on after
/// `limit` hangs.
pub fn boot<'a>(
    kernel: &Kernel,
    programs: &[&Path],
    script: &str,
    folder: &'a Path,
    limit: Duration,
) -> Result<Guest<'a>, String> {
    let image = Image::make(kernel, programs, kernel::system(kernel.machine)?.as_deref(), script, folder)?;
    let emulator = guest::boot(kernel, &image, folder, By::Emulation).and_then(|mut qemu| qemu.spawn());
    let emulator = Killed(emulator.map_err(|e| format!("cannot start the emulator: {e}"))?);
    Ok(Guest { emulator, folder, begin: Instant::now(), limit })
}

impl Guest<'_> {
    /// The emulator's process.
    pub fn pid(&self) -> u32 {
        self.emulator.id()
    }

    /// Repeats a step until the script writes this to the console.
    pub fn until(&mut self, text: &str, mut step: impl FnMut()) -> Result<(), String> {
        while !self.console().contains(text) {
            if let Some(status) = self.status()? {
                return Err(format!("the emulator ended ({status}) before the script wrote: {text}"));
            }
            step();
        }
        Ok(())
    }

    /// Waits until the script has run and the machine gone off. The files are then in the folder's `out`. Returns what the
    /// machine wrote to its console.
    pub fn end(mut self) -> Result<String, String> {
        let ended = self.go_off();
        drop(self.emulator);
        let unpacked = guest::unpack(self.folder);
        ended.map_err(|why| format!("{why}; {}", unpacked.as_ref().err().map_or("", String::as_str)))?;
        unpacked
    }

    fn go_off(&mut self) -> Result<(), String> {
        loop {
            match self.status()? {
                Some(status) if status.success() => return Ok(()),
                Some(status) => return Err(format!("the emulator failed ({status})")),
                None => sleep(NAP),
            }
        }
    }

    /// How the emulator ended, if it has.
    fn status(&mut self) -> Result<Option<ExitStatus>, String> {
        match self.emulator.try_wait() {
            Ok(None) if self.begin.elapsed() > self.limit => {
                Err(format!("the machine is still on after {:?}", self.limit))
            }
            ended => ended.map_err(|e| format!("cannot wait for the emulator: {e}")),
        }
    }

    fn console(&self) -> String {
        let written = fs::read(guest::console(self.folder)).unwrap_or_default();
        String::from_utf8_lossy(&written).into_owned()
    }
}
