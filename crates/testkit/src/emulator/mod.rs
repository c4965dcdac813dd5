//! Machines with other kernels, in software emulation (QEMU): what works is seen there, how fast it is not.

mod image;
mod kernel;

pub use image::{Image, missing_program};
pub use kernel::Kernel;

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// Between two looks at whether the machine has gone off.
const NAP: Duration = Duration::from_millis(50);

/// Lines of its console that an error shows.
const LAST_LINES: usize = 30;

/// What a machine left behind.
pub struct Left {
    /// Everything it wrote to its console.
    pub console: String,
    /// The files that its script wrote to `/out`.
    pub folder: PathBuf,
}

/// Boots a kernel with an image, in the emulator, and waits until it has run its script and gone off.
///
/// # Errors
/// Why not: the emulator does not start, or the machine does not come to the script's end in time. The end of its
/// console is in the text.
pub fn boot(kernel: &Kernel, image: &Image, folder: &Path, limit: Duration) -> Result<Left, String> {
    let [console, files] = ["console", "files"].map(|name| folder.join(name));
    let serial = |path: &Path| format!("file:{}", path.display());
    let qemu = Command::new("qemu-system-x86_64")
        // A double fault of 6.12 behind a cmpxchg16b under QEMU 7.2 has not come again without it. With a thread per
        // CPU, one CPU can run a breakpoint that the other has just removed (text_poke of a static key): 6.12 panics.
        .args(["-accel", "tcg,thread=single", "-cpu", "max,-cx16", "-m", "1024", "-smp", "2"])
        .args(["-display", "none", "-monitor", "none", "-no-reboot", "-nic", "none"])
        .args(["-serial", &serial(&console), "-serial", &serial(&files)])
        .arg("-kernel")
        .arg(kernel.binary())
        .arg("-initrd")
        .arg(image.path())
        // Without tsc=reliable a reading of the clock takes a microsecond.
        .args(["-append", "console=ttyS0 quiet panic=-1 tsc=reliable"])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(File::create(folder.join("qemu")).map_err(|e| format!("{}: {e}", folder.display()))?)
        .spawn()
        .map_err(|e| format!("cannot start qemu-system-x86_64: {e}"))?;
    let ended = Running(qemu).wait(limit);
    let console = fs::read(console).map_or(String::new(), |text| String::from_utf8_lossy(&text).into_owned());
    let out = folder.join("out");
    let unpack = r#"mkdir "$1" && tr -d '\r' <"$2" | base64 -d | tar -xz -C "$1""#;
    let unpacked = image::tool(Command::new("sh").args(["-c", unpack, "sh"]).arg(&out).arg(files));
    match ended.and(unpacked) {
        Ok(()) => Ok(Left { console, folder: out }),
        Err(why) => {
            let end = console.lines().count().saturating_sub(LAST_LINES);
            let end: Vec<&str> = console.lines().skip(end).collect();
            Err(format!("{why}; the end of its console:\n{}", end.join("\n")))
        }
    }
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
