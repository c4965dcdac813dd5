//! What a benchmark spent, from whoever knows it.

use netfathom_bpf::tree;
use netfathom_sys::cpu::Scheduling;
use netfathom_sys::process::Usage;

/// What a tree of processes spent; `None` if unknown.
///
/// With tracepoints, the sum over all threads that had ended, from their forks on. Otherwise, what the
/// kernel reports to a parent: for the first process, and for those that their own parents waited for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Spent {
    /// On processors, in nanoseconds.
    pub ran_ns: Option<u64>,
    /// Waiting for a processor, in nanoseconds.
    pub waited_ns: Option<u64>,
    /// Of `ran_ns` in user space, as the kernel divides it.
    pub user_ns: Option<u64>,
    /// Of `ran_ns` in the kernel, likewise.
    pub system_ns: Option<u64>,
    pub minor_faults: Option<u64>,
    pub major_faults: Option<u64>,
    /// How often they let others run, to wait.
    pub voluntary_switches: Option<u64>,
    pub involuntary_switches: Option<u64>,
    /// Bytes that storage had to read.
    pub read_bytes: Option<u64>,
    /// Bytes that were caused to be written to storage.
    pub written_bytes: Option<u64>,
    /// Waiting for storage, in nanoseconds.
    pub blocked_ns: Option<u64>,
    /// The most memory that one of the processes had, in bytes.
    pub peak_rss_bytes: Option<u64>,
    pub threads: Option<u64>,
    /// Of those, threads without their last moments, up to a clock tick each: no process reaped them,
    /// or the kernel reported them too late.
    pub early_threads: Option<u64>,
    /// Threads that are not within them: they had not ended, nothing was heard of their end, or there was no room
    /// to follow them.
    pub missing_threads: Option<u64>,
}

impl From<tree::Spent> for Spent {
    fn from(spent: tree::Spent) -> Self {
        Self {
            ran_ns: Some(spent.ran_ns),
            waited_ns: spent.waited_ns,
            user_ns: Some(spent.user_ns),
            system_ns: Some(spent.system_ns),
            minor_faults: Some(spent.minor_faults),
            major_faults: Some(spent.major_faults),
            voluntary_switches: Some(spent.voluntary_switches),
            involuntary_switches: Some(spent.involuntary_switches),
            read_bytes: spent.read_bytes,
            written_bytes: spent.written_bytes,
            blocked_ns: spent.blocked_ns,
            peak_rss_bytes: spent.peak_rss_bytes,
            threads: Some(spent.threads),
            early_threads: Some(spent.early),
            missing_threads: Some(spent.running + spent.unsettled),
        }
    }
}

impl Spent {
    /// From the usage that the kernel reports to a parent. `first` are the times of the process's first
    /// thread; `parent_peak_bytes` is the memory that its parent had, which the kernel counts as the
    /// child's.
    pub(super) fn from_usage(usage: &Usage, first: Option<Scheduling>, parent_peak_bytes: u64) -> Self {
        let ran_ns = usage.user_ns + usage.system_ns;
        // Both are cut to microseconds. If the first thread is all that ran, its wait is all there was.
        let is_all = |first: &Scheduling| first.on_cpu_ns.abs_diff(ran_ns) <= 2_000;
        Self {
            ran_ns: Some(ran_ns),
            waited_ns: first.filter(is_all).map(|first| first.run_delay_ns),
            user_ns: Some(usage.user_ns),
            system_ns: Some(usage.system_ns),
            minor_faults: Some(usage.minor_faults),
            major_faults: Some(usage.major_faults),
            voluntary_switches: Some(usage.voluntary_switches),
            involuntary_switches: Some(usage.involuntary_switches),
            read_bytes: Some(usage.read_bytes),
            written_bytes: Some(usage.written_bytes),
            peak_rss_bytes: Some(usage.peak_rss_bytes).filter(|&peak| peak > parent_peak_bytes),
            ..Self::default()
        }
    }
}
