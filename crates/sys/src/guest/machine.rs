//! The machines that there are guests of.

/// An architecture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Machine {
    /// Debian's amd64.
    X86_64,
    /// Debian's arm64.
    Aarch64,
}

impl Machine {
    pub const ALL: [Self; 2] = [Self::X86_64, Self::Aarch64];

    /// By the name that Debian gives it.
    pub fn of_debian(architecture: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|machine| machine.debian() == architecture)
    }

    /// The name that Debian gives it.
    pub fn debian(self) -> &'static str {
        match self {
            Self::X86_64 => "amd64",
            Self::Aarch64 => "arm64",
        }
    }

    /// Whether it is that of this process.
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

    /// What a guest with this machine's own processors has (KVM).
    pub(super) fn own_hardware(self) -> &'static [&'static str] {
        match self {
            Self::X86_64 => &["-cpu", "host"],
            Self::Aarch64 => &["-machine", "virt", "-cpu", "host"],
        }
    }

    /// What is to be emulated for a kernel of this release, beside the processors' number and the memory.
    pub(super) fn hardware(self, release: &str) -> &'static [&'static str] {
        match self {
            // Without it Linux 7 has no memory for the storage of sockets and tasks (kmalloc_nolock).
            Self::X86_64 if needs_cmpxchg16b(release) => &["-cpu", "max"],
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
}

fn needs_cmpxchg16b(release: &str) -> bool {
    let major = release.split('.').next().and_then(|major| major.parse::<u32>().ok());
    major.is_some_and(|major| major >= 7)
}
