//! Steering (RPS): which processor takes the packets that arrive on a device through the
//! protocols. Without it that is the processor they arrive on, which for a veth is the one
//! that sent them: sender and stack then share it.

use std::{fs, io};

use crate::sysfs;

refusal! {
    /// What could not be done, why, and what to do.
    SteerError:
    libc::EPERM | libc::EACCES => "; this needs CAP_SYS_ADMIN and CAP_NET_ADMIN: run as root",
    libc::ENOENT => "; no such device is in this network namespace, or this kernel has no CONFIG_RPS",
    libc::EINVAL | libc::EOVERFLOW => "; is there such a CPU, and is it not isolated?",
}

/// Lets packets that arrive on the first queue of a device of the calling thread's namespace
/// pass the protocols on this processor, whichever they arrive on; `None` lets them stay.
///
/// It is for devices of our own, a veth of a lab: the setting is not undone, it goes with the
/// device. Frames for XDP and AF_XDP are not steered, for they never get that far.
///
/// # Errors
/// Without CAP_SYS_ADMIN, when there is no such device or processor, or when the kernel was
/// built without CONFIG_RPS.
pub fn to_processor(device: &str, cpu: Option<usize>) -> Result<(), SteerError> {
    let write = || {
        // A name is one part of a path, and no way out of it.
        if device.is_empty() || device.contains('/') || device.starts_with('.') {
            return Err(io::Error::from_raw_os_error(libc::ENOENT));
        }
        let queue = format!("class/net/{device}/queues/rx-0/rps_cpus");
        sysfs::with_own(|sysfs| fs::write(sysfs.join(queue), mask(cpu)))?
    };
    let action = match cpu {
        Some(cpu) => format!("steer what arrives on device {device} to CPU {cpu}"),
        None => format!("leave what arrives on device {device} where it is"),
    };
    write().map_err(SteerError::new(action))
}

/// A mask as the kernel reads it: words of 32 bits in hexadecimal, the highest first.
fn mask(cpu: Option<usize>) -> String {
    const BITS: usize = u32::BITS as usize;
    match cpu {
        Some(cpu) => format!("{:x}{}", 1_u32 << (cpu % BITS), ",00000000".repeat(cpu / BITS)),
        None => "0".into(),
    }
}

#[cfg(test)]
mod tests {
    use std::thread;

    use netfathom_testkit::{needs_root, skip};
    use rustix::mount::{MountPropagationFlags, mount_change};

    use super::*;
    use crate::cpu;
    use crate::lab::{DEVICE, Lab};

    #[test]
    fn a_mask_has_one_bit() {
        let masks = [Some(0), Some(5), Some(31), Some(32), Some(70), None].map(mask);
        assert_eq!(masks, ["1", "20", "80000000", "1,00000000", "40,00000000,00000000", "0"]);
    }

    #[test]
    fn what_cannot_be_steered_says_so_and_leaves_no_mount() {
        needs_root!();
        thread::spawn(|| {
            share_mounts();
            let mounts = || fs::read_to_string("/proc/thread-self/mountinfo").unwrap();
            let before = mounts();
            let lab = Lab::create();
            let errors = lab.hosts[1].run(|| {
                [("no-such-dev", 0), ("../lo", 0), (DEVICE, 8191)]
                    .map(|(device, cpu)| to_processor(device, Some(cpu)).unwrap_err().to_string())
            });
            let [missing, path, processor] = errors.unwrap();
            assert!(
                missing.contains("no such device") && path.contains("no such device"),
                "{missing} {path}"
            );
            assert!(processor.contains("to CPU 8191"), "{processor}");
            assert_eq!(mounts(), before);
        })
        .join()
        .unwrap();
    }

    /// Makes mounts propagate between the calling thread's tree and those made from it, in both
    /// directions (MS_SHARED), as systemd does on a host.
    fn share_mounts() {
        // SAFETY: no pointers; it concerns the calling thread alone.
        assert_eq!(unsafe { libc::unshare(libc::CLONE_NEWNS) }, 0);
        for how in [MountPropagationFlags::PRIVATE, MountPropagationFlags::SHARED] {
            mount_change("/", how | MountPropagationFlags::REC).unwrap();
        }
    }

    /// Packets that a processor took through the protocols because another steered them there.
    fn steered(cpu: usize) -> u64 {
        let text = fs::read_to_string("/proc/net/softnet_stat").unwrap();
        let column = |line: &str, at: usize| {
            u64::from_str_radix(line.split_ascii_whitespace().nth(at).unwrap(), 16).unwrap()
        };
        // Column 9 counts the interrupts that carried them, 12 says which processor it is.
        text.lines().find(|line| column(line, 12) == cpu as u64).map(|line| column(line, 9)).unwrap()
    }

    #[test]
    fn packets_pass_the_protocols_where_they_were_steered() {
        needs_root!();
        let [here, there] = match cpu::allowed().unwrap()[..] {
            [first, .., last] => [first, last],
            _ => {
                skip!("needs two processors");
            }
        };
        let lab = Lab::create();
        let (sender, reader) = lab.pair();
        let send = |steer: Option<usize>| {
            lab.hosts[1].run(|| to_processor(DEVICE, steer).unwrap()).unwrap();
            let before = steered(there);
            for number in 0..2000_u32 {
                sender.send(&number.to_ne_bytes()).unwrap();
                reader.recv(&mut [0; 64]).unwrap();
            }
            steered(there) - before
        };
        let gained = thread::scope(|scope| {
            let pinned = scope.spawn(|| {
                cpu::pin(here).unwrap();
                [send(None), send(Some(there)), send(None)]
            });
            pinned.join().unwrap()
        });
        // One interrupt carries what has come until it is served: here a message at a time.
        // Other tests may steer a little at the same time; none sends this much.
        assert!(gained[1] > 1000 && gained[0] < 500 && gained[2] < 500, "{gained:?}");
    }
}
