//! The PID namespace that numbers this process, for `include/who.h`.

use std::fs::File;
use std::io;
use std::os::unix::fs::MetadataExt;

/// Where the kernel shows the PID namespace of this process (since 3.8).
pub(crate) const OWN: &str = "/proc/self/ns/pid";
/// PROC_PID_INIT_INO of linux/proc_ns.h: the PID namespace that all others are in.
const FIRST: u64 = 0xefff_fffc;

/// What a `struct pid_namespace` holds; both 0 for the first namespace.
pub(crate) struct PidNamespace {
    pub device: u64,
    pub inode: u64,
}

pub(crate) fn own() -> io::Result<PidNamespace> {
    let namespace = File::open(OWN)?.metadata()?;
    // From the first namespace every process is seen, those in a container's too; from another
    // only those of the very same can be distinguished.
    Ok(match namespace.ino() {
        FIRST => PidNamespace { device: 0, inode: 0 },
        inode => PidNamespace { device: kernel_device(namespace.dev()), inode },
    })
}

/// The number of a device as the kernel has it within, which stat(2) shows in another order.
fn kernel_device(device: u64) -> u64 {
    u64::from(libc::major(device)) << 20 | u64::from(libc::minor(device))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn devices_are_numbered_as_in_the_kernel() {
        assert_eq!(kernel_device(4), 4);
        assert_eq!(kernel_device(libc::makedev(8, 300)), 8 << 20 | 300);
    }
}
