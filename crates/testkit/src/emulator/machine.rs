//! The machines that are emulated.

use std::path::PathBuf;

use super::kernel::unpacked;

/// Where make puts what is built for another machine; it is made by scripts/cross.
const TARGET: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../target");

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Machine {
    X86_64,
    Aarch64,
}

impl Machine {
    pub(super) fn of_debian(architecture: &str) -> Option<Self> {
        [Self::X86_64, Self::Aarch64].into_iter().find(|machine| machine.debian() == architecture)
    }

    pub fn debian(self) -> &'static str {
        match self {
            Self::X86_64 => "amd64",
            Self::Aarch64 => "arm64",
        }
    }

    pub fn is_own(self) -> bool {
        match self {
            Self::X86_64 => cfg!(target_arch = "x86_64"),
            Self::Aarch64 => cfg!(target_arch = "aarch64"),
        }
    }

    pub(super) fn emulator(self) -> &'static str {
        match self {
            Self::X86_64 => "qemu-system-x86_64",
            Self::Aarch64 => "qemu-system-aarch64",
        }
    }

    /// What is to be emulated beside the processors' number and the memory.
    pub(super) fn hardware(self) -> &'static [&'static str] {
        match self {
            // A double fault of 6.12 behind a cmpxchg16b under QEMU 7.2 has not come again without it.
            Self::X86_64 => &["-cpu", "max,-cx16"],
            Self::Aarch64 => &["-machine", "virt", "-cpu", "cortex-a72"],
        }
    }

    /// The kernel's console, and what it needs beside. Without tsc=reliable a reading of the clock takes a microsecond.
    pub(super) fn command_line(self) -> &'static str {
        match self {
            Self::X86_64 => "console=ttyS0 quiet panic=-1 tsc=reliable",
            Self::Aarch64 => "console=ttyAMA0 quiet panic=-1",
        }
    }

    pub(super) fn strip(self) -> &'static str {
        match self {
            _ if self.is_own() => "strip",
            Self::X86_64 => "x86_64-linux-gnu-strip",
            Self::Aarch64 => "aarch64-linux-gnu-strip",
        }
    }

    /// Where busybox and the libraries of another machine are; those of this one are the system's own.
    pub(super) fn system(self) -> Result<Option<PathBuf>, String> {
        const PACKAGES: [&str; 5] = ["busybox-static", "libc6", "libgcc-s1", "libelf1", "zlib1g"];
        if self.is_own() {
            return Ok(None);
        }
        let folder = PathBuf::from(TARGET).join(format!("emulated-{}", self.debian()));
        unpacked(self, "bookworm", &PACKAGES, &folder).map(Some)
    }
}
