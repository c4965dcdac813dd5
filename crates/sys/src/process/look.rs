//! What `/proc` says of a process that may not be ours.

use std::fs;
use std::io;
use std::os::fd::RawFd;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::Path;

use super::Process;

/// Whether `/proc` is that of this PID namespace. In another one, its numbers are those of other processes.
pub fn proc_is_ours() -> bool {
    fs::read_link("/proc/self").is_ok_and(|own| own == Path::new(&std::process::id().to_string()))
}

/// Whether a process is there and has not ended; one that only waits to be reaped has.
pub fn lives(pid: u32) -> bool {
    state(pid).is_some_and(|state| !matches!(state, 'Z' | 'X'))
}

/// Whether it was stopped by a signal, or by a debugger.
pub fn is_stopped(pid: u32) -> bool {
    state(pid).is_some_and(|state| matches!(state, 'T' | 't'))
}

/// Whether it only waits to be reaped.
pub fn has_ended(pid: u32) -> bool {
    state(pid) == Some('Z')
}

/// Its name: the 15 bytes that the kernel keeps of it. `None` if there is no such process, or it is not UTF-8.
pub fn name(pid: u32) -> Option<String> {
    let name = fs::read_to_string(format!("/proc/{pid}/comm")).ok()?;
    Some(name.trim_end_matches('\n').to_owned())
}

/// When a process was started, in ticks since the machine was: numbers are used again, the pair is not. `None` if there
/// is no such process, or it only waits to be reaped.
pub fn started(pid: u32) -> Option<u64> {
    let stat = after_name(pid)?;
    let mut words = stat.split_ascii_whitespace();
    let state = words.next()?;
    words.nth(18)?.parse().ok().filter(|_| !matches!(state, "Z" | "X"))
}

/// The letter of proc(5); `None` if there is no such process.
fn state(pid: u32) -> Option<char> {
    after_name(pid)?.chars().next()
}

/// What is to be seen of a program's environment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Environment {
    /// It is another's, or the process has ended.
    Unknown,
    /// The program is just being replaced by another one: look again.
    Replaced,
    /// As it was when the program was started.
    Known(Vec<u8>),
}

/// The environment that a program was started with.
pub fn environment(pid: u32) -> Environment {
    match fs::read(format!("/proc/{pid}/environ")) {
        // An empty environment has a nonzero address too.
        Ok(text) if text.is_empty() && lives(pid) && environment_address(pid) == Some(0) => {
            Environment::Replaced
        }
        Ok(text) => Environment::Known(text),
        Err(_) => Environment::Unknown,
    }
}

/// The word `env_end` of proc(5).
fn environment_address(pid: u32) -> Option<u64> {
    after_name(pid)?.split_ascii_whitespace().nth(48)?.parse().ok()
}

/// The sockets of a process: their inodes, and the descriptors that it has them by.
///
/// # Errors
/// If there is no such process, or its descriptors are not for us to see.
pub fn sockets(pid: u32) -> io::Result<Vec<(u64, RawFd)>> {
    let socket = |entry: fs::DirEntry| {
        let target = fs::read_link(entry.path()).ok()?;
        let inode = target.to_str()?.strip_prefix("socket:[")?.strip_suffix(']')?.parse().ok()?;
        Some((inode, entry.file_name().to_str()?.parse().ok()?))
    };
    match fs::read_dir(format!("/proc/{pid}/fd")) {
        // What was closed in the meantime is none.
        Ok(entries) => Ok(entries.filter_map(|entry| socket(entry.ok()?)).collect()),
        // The directory is its owner's, whoever may trace the process.
        Err(denied) if denied.kind() == io::ErrorKind::PermissionDenied => sockets_by_number(pid),
        Err(error) => Err(error),
    }
}

fn sockets_by_number(pid: u32) -> io::Result<Vec<(u64, RawFd)>> {
    let status = fs::read_to_string(format!("/proc/{pid}/status"))?;
    let room = status.lines().find_map(|line| line.strip_prefix("FDSize:")?.trim().parse().ok());
    let process = Process::open(pid)?;
    let mut found = Vec::new();
    for number in 0..room.unwrap_or(0) {
        match process.descriptor(number) {
            Ok(descriptor) => {
                let about = fs::File::from(descriptor).metadata()?;
                about.file_type().is_socket().then(|| found.push((about.ino(), number)));
            }
            Err(denied) if denied.kind() == io::ErrorKind::PermissionDenied => return Err(denied),
            Err(_) => {}
        }
    }
    Ok(found)
}

/// The children of this process's first thread, zombies included: those that it started itself, and all that are
/// adopted, see [`adopt_orphans`](super::adopt_orphans).
///
/// # Errors
/// If the kernel does not tell (CONFIG_PROC_CHILDREN).
pub fn children_of_first_thread() -> io::Result<Vec<u32>> {
    children_of(std::process::id())
}

/// The same of another process.
pub(crate) fn children_of(pid: u32) -> io::Result<Vec<u32>> {
    let text = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children"))?;
    Ok(text.split_ascii_whitespace().filter_map(|word| word.parse().ok()).collect())
}

/// Whether it was forked from a program and runs that still (PF_FORKNOEXEC), and that program is ours.
pub fn is_our_fork(pid: u32) -> bool {
    const FORKED_ONLY: u64 = 0x40;
    let flags = after_name(pid).and_then(|stat| stat.split_ascii_whitespace().nth(6)?.parse::<u64>().ok());
    let program = |pid: &str| fs::read_link(format!("/proc/{pid}/exe")).ok();
    flags.is_some_and(|flags| flags & FORKED_ONLY != 0) && program("self") == program(&pid.to_string())
}

/// Its parent, itself, up to the first process of this PID namespace.
pub fn ancestors(pid: u32) -> Vec<u32> {
    let mut found = vec![pid];
    while let Some(parent) = parent(found[found.len() - 1]).filter(|parent| !found.contains(parent)) {
        found.push(parent);
    }
    found
}

pub(super) fn parent(pid: u32) -> Option<u32> {
    let parent = after_name(pid)?.split_ascii_whitespace().nth(1)?.parse().ok()?;
    (parent > 0).then_some(parent)
}

/// `/proc/PID/stat` from the state on; the name before it may contain anything.
pub(super) fn after_name(pid: u32) -> Option<String> {
    let text = fs::read(format!("/proc/{pid}/stat")).ok()?;
    let from = text.iter().rposition(|&byte| byte == b')')? + 2;
    Some(str::from_utf8(text.get(from..)?).ok()?.to_owned())
}

/// Page faults for which its threads, those that have ended too, waited until a page was read, as from a disk. `None` if there
/// is no such process.
pub fn major_faults(pid: u32) -> Option<u64> {
    after_name(pid)?.split_ascii_whitespace().nth(9)?.parse().ok()
}

/// The most memory that it had since its program was started; `None` of a kernel thread, or if it has ended.
pub fn peak_rss_bytes(pid: u32) -> Option<u64> {
    let text = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok().map(|kib| kib * 1024)
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::super::{Process, SIGCONT, SIGKILL, SIGSTOP, descendants, reap};
    use super::*;

    fn until(mut holds: impl FnMut() -> bool) -> bool {
        (0..5000).any(|_| {
            std::thread::sleep(std::time::Duration::from_millis(1));
            holds()
        })
    }

    #[test]
    fn states_are_distinguished() {
        let child = Command::new("sleep").arg("60").spawn().unwrap();
        let pid = child.id();
        let process = Process::open(pid).unwrap();
        assert!(lives(pid) && !is_stopped(pid));
        process.signal(SIGSTOP).unwrap();
        assert!(until(|| is_stopped(pid)) && lives(pid));
        process.signal(SIGCONT).unwrap();
        assert!(until(|| !is_stopped(pid)));
        process.signal(SIGKILL).unwrap();
        assert!(until(|| !lives(pid)));
        // It is still to be reaped.
        assert!(descendants(std::process::id()).unwrap().contains(&pid));
        let faults = major_faults(pid).unwrap();
        let usage = reap(child).unwrap().usage;
        assert!(faults <= usage.major_faults && faults < usage.minor_faults, "{faults} {usage:?}");
        assert!(!lives(pid) && peak_rss_bytes(pid).is_none() && major_faults(pid).is_none());
    }

    #[test]
    fn own_process_is_described_correctly() {
        let own = std::process::id();
        let ancestors = ancestors(own);
        assert!(ancestors.starts_with(&[own]) && ancestors.len() > 1, "{ancestors:?}");
        assert!(descendants(ancestors[1]).unwrap().contains(&own));
        assert!(peak_rss_bytes(own).unwrap() > 100_000);
    }
}
