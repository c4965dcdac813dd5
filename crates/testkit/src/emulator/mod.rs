//! Machines with other kernels, in software emulation (QEMU): what works is seen there, how fast it is not.

mod image;
mod kernel;
mod machine;

pub use image::{Image, missing_program};
pub use kernel::{Kernel, Wanted};
pub use machine::Machine;

use std::fs::{self, File};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// Between two looks at whether the machine has gone off.
const NAP: Duration = Duration::from_millis(50);

/// Lines of its console that an error shows.
const LAST_LINES: usize = 30;

/// Boots a kernel with an image, in the emulator, and waits until it has run its script and gone off. The files that
/// the script wrote to `/out` are then in the folder's `out`. Returns what the machine wrote to its console.
pub fn boot(kernel: &Kernel, image: &Image, folder: &Path, limit: Duration) -> Result<String, String> {
    let (console, machine) = (folder.join("console"), kernel.machine);
    let qemu = Command::new(machine.emulator())
        .args(machine.hardware())
        // With a thread per CPU, one CPU can run a breakpoint that the other has just removed (text_poke of a static
        // key): 6.12 panics.
        .args(["-accel", "tcg,thread=single", "-m", "1024", "-smp", "2"])
        .args(["-display", "none", "-monitor", "none", "-no-reboot", "-nic", "none"])
        .arg("-serial")
        .arg(format!("file:{}", console.display()))
        .arg("-kernel")
        .arg(kernel.binary())
        .arg("-initrd")
        .arg(image.path())
        .args(["-append", machine.command_line()])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(File::create(folder.join("qemu")).map_err(|e| format!("{}: {e}", folder.display()))?)
        .spawn()
        .map_err(|e| format!("cannot start {}: {e}", machine.emulator()))?;
    let ended = Running(qemu).wait(limit);
    let unpack = r#"mkdir "$1" && tr -d '\r' <"$2" | sed '1,/^BEGIN FILES$/d; /^END FILES$/,$d' | base64 -d | tar -xz -C "$1""#;
    let mut unpacking = Command::new("sh");
    let unpacked = image::tool(unpacking.args(["-c", unpack, "sh"]).arg(folder.join("out")).arg(&console));
    let console = fs::read(console).map_or(String::new(), |text| String::from_utf8_lossy(&text).into_owned());
    let console = console.split("BEGIN FILES").next().unwrap_or_default().to_owned();
    ended.and(unpacked).map(|()| console.clone()).map_err(|why| {
        let end = console.lines().count().saturating_sub(LAST_LINES);
        let end: Vec<&str> = console.lines().skip(end).collect();
        format!("{why}; the end of its console:\n{}", end.join("\n"))
    })
}

/// An emulator, which ends with this value.
struct Running(Child);

impl Running {
    fn wait(mut self, limit: Duration) -> Result<(), String> {
        let deadline = Instant::now() + limit;
        loop {
            match self.0.try_wait() {
                Ok(Some(status)) if status.success() => return Ok(()),
                Ok(Some(status)) => return Err(format!("the emulator failed ({status})")),
                Ok(None) if Instant::now() < deadline => sleep(NAP),
                Ok(None) => return Err(format!("the machine is still on after {limit:?}")),
                Err(e) => return Err(format!("cannot wait for the emulator: {e}")),
            }
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // It has ended already, or it is to end.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
