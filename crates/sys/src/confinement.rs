//! What keeps BPF programs from a process that holds the capabilities for them: the kernel refuses with the same errno.

use std::fs;
use std::os::unix::fs::MetadataExt;

use crate::capability::may_trace;

/// PROC_USER_INIT_INO of linux/proc_ns.h: the user namespace in which capabilities count for BPF.
const FIRST: u64 = 0xefff_fffd;

/// What to do where the kernel denied programs that trace.
pub fn tracing_remedy() -> &'static str {
    if !may_trace() {
        return "run as root, or give the program CAP_BPF and CAP_PERFMON";
    }
    confined()
        .unwrap_or("CAP_BPF and CAP_PERFMON are in effect; look at what else denies it, such as SELinux")
}

/// The first thing found that may deny it, and what lifts it.
pub fn confined() -> Option<&'static str> {
    let namespace = fs::metadata("/proc/self/ns/user").map_or(FIRST, |of| of.ino());
    let read = |path| fs::read_to_string(path).unwrap_or_default();
    by(namespace, &read("/proc/thread-self/status"), &read("/sys/kernel/security/lockdown"))
}

fn by(user_namespace: u64, status: &str, lockdown: &str) -> Option<&'static str> {
    // SECCOMP_MODE_FILTER
    let is_filtered = status.lines().any(|line| line.split_whitespace().eq(["Seccomp:", "2"]));
    let is_locked = lockdown.contains("[confidentiality]");
    let found = [(user_namespace != FIRST, NAMESPACE), (is_filtered, SECCOMP), (is_locked, LOCKDOWN)];
    found.into_iter().find_map(|(is_so, remedy)| is_so.then_some(remedy))
}

const NAMESPACE: &str = "this process is in a user namespace, such as that of a rootless container, and BPF requires capabilities outside of it: run netfathom there";
const SECCOMP: &str = "CAP_BPF and CAP_PERFMON are in effect, but a seccomp filter may forbid bpf(2): run with --security-opt seccomp=unconfined (Docker, Podman) or seccompProfile Unconfined (Kubernetes)";
const LOCKDOWN: &str = "CAP_BPF and CAP_PERFMON are in effect, but kernel lockdown is at confidentiality, which forbids BPF to read kernel memory: boot with lockdown=integrity";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_denies_a_capable_process_is_named() {
        let named = |namespace, status, lockdown, word| {
            by(namespace, status, lockdown).is_some_and(|remedy| remedy.contains(word))
        };
        let (free, filtered) = ("Seccomp:\t0\nSeccomp_filters:\t0\n", "Seccomp:\t2\nSeccomp_filters:\t1\n");
        let (open, locked) = ("[none] integrity confidentiality", "none integrity [confidentiality]");
        assert!(named(1, filtered, locked, "user namespace"));
        assert!(named(FIRST, filtered, locked, "seccomp"));
        assert!(named(FIRST, free, locked, "lockdown"));
        assert_eq!(by(FIRST, free, open), None);
        assert_eq!(by(FIRST, "Seccomp:\t0\nSeccomp_filters:\t2\n", ""), None);
    }
}
