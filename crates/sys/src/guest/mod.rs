//! Guests with other kernels, by QEMU: with this machine's processors (KVM), or emulated, where what works is seen but
//! not how fast.

mod image;
mod machine;

pub use image::{Image, missing_program, output, tool};
pub use machine::Machine;

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Lines of its console that an error shows.
const LAST_LINES: usize = 30;

/// A kernel as it lies on a disk.
#[derive(Clone, Debug)]
pub struct Kernel {
    /// What it runs on.
    pub machine: Machine,
    /// What a boot loader takes.
    pub binary: PathBuf,
    /// The directory of its modules; none where all that is needed is built in.
    pub modules: Option<PathBuf>,
    /// As uname(2) has it; the name of the modules' directory.
    pub release: String,
}

/// Who runs a guest's instructions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum By {
    /// This machine's processors.
    Kvm,
    /// QEMU: times there are the emulator's own.
    Emulation,
}

impl By {
    /// What this machine allows.
    pub fn best() -> Self {
        let opened = File::options().read(true).write(true).open("/dev/kvm");
        if opened.is_ok() { Self::Kvm } else { Self::Emulation }
    }
}

/// What an emulated kernel need not do: guard against its CPU at each system call, wait for RCU's callbacks, clear memory,
/// ask security modules, see whether a timer ticks: it panics where the emulator has no CPU at that moment.
const LIGHT: &str =
    "no_timer_check mitigations=off nopti kpti=0 rcupdate.rcu_expedited=1 init_on_alloc=0 apparmor=0 audit=0";

/// The program that boots a kernel with an image, and ends when the script has run and the guest gone off. Its console
/// is kept in a file of the folder.
///
/// # Errors
/// If the folder cannot be written to.
pub fn boot(kernel: &Kernel, image: &Image, folder: &Path, by: By) -> io::Result<Command> {
    let machine = kernel.machine;
    let mut qemu = Command::new(machine.emulator());
    let mut command_line = machine.command_line().to_owned();
    match by {
        By::Kvm => qemu.args(machine.own_hardware()).args(["-accel", "kvm"]),
        By::Emulation => {
            command_line = format!("{command_line} {LIGHT}");
            // With a thread per CPU, one CPU can run a breakpoint that the other has just removed (text_poke of a static
            // key): 6.12 panics.
            qemu.args(machine.hardware(&kernel.release)).args(["-accel", "tcg,thread=single"])
        }
    };
    qemu.args(["-m", "1024", "-smp", "2"])
        .args(["-display", "none", "-monitor", "none", "-no-reboot", "-nic", "none"])
        .arg("-serial")
        .arg(format!("file:{}", console(folder).display()))
        .arg("-kernel")
        .arg(&kernel.binary)
        .arg("-initrd")
        .arg(image.path())
        .args(["-append", &command_line])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(File::create(folder.join("qemu"))?);
    Ok(qemu)
}

/// Where a guest with this folder keeps its console.
pub fn console(folder: &Path) -> PathBuf {
    folder.join("console")
}

/// Puts the files that the script wrote to `/out` into the folder's `out`, and returns what else the guest wrote to its
/// console.
///
/// # Errors
/// The end of the console, if the script did not end.
pub fn unpack(folder: &Path) -> Result<String, String> {
    const UNPACK: &str = r#"mkdir "$1" && tr -d '\r' <"$2" | sed '1,/^BEGIN FILES$/d; /^END FILES$/,$d' | base64 -d | tar -xz -C "$1""#;
    let mut unpacking = Command::new("sh");
    unpacking.args(["-c", UNPACK, "sh"]).arg(folder.join("out")).arg(console(folder));
    let unpacked = tool(&mut unpacking);
    let console =
        fs::read(console(folder)).map_or(String::new(), |text| String::from_utf8_lossy(&text).into_owned());
    let console = console.split("BEGIN FILES").next().unwrap_or_default().to_owned();
    unpacked.map(|()| console.clone()).map_err(|why| {
        let end = console.lines().count().saturating_sub(LAST_LINES);
        let end: Vec<&str> = console.lines().skip(end).collect();
        let qemu = fs::read_to_string(folder.join("qemu")).unwrap_or_default();
        format!("{why}; {qemu}the end of its console:\n{}", end.join("\n"))
    })
}
