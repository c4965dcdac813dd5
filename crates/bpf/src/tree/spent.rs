//! What a tree spent, and what is unknown.

/// What the threads of a tree spent that have ended. Their whole lives count, from the fork on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Spent {
    /// On processors, in nanoseconds, as the scheduler counts it.
    pub ran_ns: u64,
    /// In run queues: could have run, and did not. `None` where the kernel does not count it.
    pub waited_ns: Option<u64>,
    /// Processor time in user space, as the kernel divides it: on most kernels by who runs at each tick.
    pub user_ns: u64,
    /// Processor time in the kernel, likewise.
    pub system_ns: u64,
    /// Page faults without input.
    pub minor_faults: u64,
    /// Page faults that waited for input.
    pub major_faults: u64,
    /// How often they let others run, to wait or to end.
    pub voluntary_switches: u64,
    pub involuntary_switches: u64,
    /// Bytes that storage had to read for them; `None` without CONFIG_TASK_IO_ACCOUNTING.
    pub read_bytes: Option<u64>,
    /// Waiting for storage, in nanoseconds; `None` unless `kernel.task_delayacct` was set at their forks.
    pub blocked_ns: Option<u64>,
    pub threads: u64,
    /// Threads that had not ended, which are in none of them.
    pub running: u64,
    /// Threads that ended and are not summed yet (see [`super::Trees::settle`]).
    pub unsettled: u64,
    /// Of `threads`, those with figures of the moment when they began to end, for want of later ones:
    /// what they ran since the last tick of the clock is missing.
    pub early: u64,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Lost {
    /// Events for which there was no room.
    pub events: u64,
    /// Threads beyond the 8192 that can be followed at a time.
    pub threads: u64,
    /// Paths of opened files that could not be read, of whichever name.
    pub unread_paths: u64,
    /// Paths that were not in memory as their call began and were read when it was over; nothing is lost
    /// with them.
    pub late_paths: u64,
}
