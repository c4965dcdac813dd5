//! What programs take while the kernel is asked to count it (`BPF_ENABLE_STATS`, Linux 5.8): two reads of a clock each
//! run, so it is asked only for a while.

use std::ffi::OsStr;
use std::io;
use std::ops::Sub;
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd};

use libbpf_rs::libbpf_sys::{self, bpf_prog_get_info_by_fd, bpf_prog_info};
use libbpf_rs::{Object, Program};

/// The kernel counts until this is dropped.
pub struct Counting {
    _until_closed: OwnedFd,
}

impl Counting {
    /// Counts the runs of all programs from now on.
    ///
    /// # Errors
    /// What the kernel refused. Needs CAP_SYS_ADMIN.
    pub fn start() -> io::Result<Self> {
        // SAFETY: the call takes no pointer.
        let fd = unsafe { libbpf_sys::bpf_enable_stats(libbpf_sys::BPF_STATS_RUN_TIME) };
        if fd < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the kernel has just opened it for this alone.
        Ok(Self { _until_closed: unsafe { OwnedFd::from_raw_fd(fd) } })
    }
}

/// The counted runs of programs, on all CPUs together, and the time in them. What it takes to call a program is no part
/// of that.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RunTime {
    pub runs: u64,
    pub ns: u64,
}

impl Sub for RunTime {
    type Output = Self;

    fn sub(self, before: Self) -> Self {
        Self { runs: self.runs - before.runs, ns: self.ns - before.ns }
    }
}

/// Of the loaded programs of an object, since they were loaded.
pub(crate) fn of(object: &Object) -> io::Result<RunTime> {
    let mut sum = RunTime::default();
    for info in loaded(object).map(|program| info(&program)) {
        let info = info?;
        sum.runs += info.run_cnt;
        sum.ns += info.run_time_ns;
    }
    Ok(sum)
}

/// Events that loaded programs did not see, as they were still running on that CPU; without those that `is_left_out`. Since
/// Linux 5.12, of raw tracepoints since 6.1.
pub(crate) fn missed(object: &Object, is_left_out: fn(&OsStr) -> bool) -> io::Result<u64> {
    let programs = loaded(object).filter(|program| !is_left_out(program.name()));
    programs.map(|program| Ok(info(&program)?.recursion_misses)).sum()
}

fn loaded(object: &Object) -> impl Iterator<Item = Program<'_>> {
    object.progs().filter(Program::autoload)
}

fn info(program: &Program<'_>) -> io::Result<bpf_prog_info> {
    let mut info = bpf_prog_info::default();
    let mut bytes = size_of_val(&info) as u32;
    // SAFETY: `info` has room for `bytes`, and asks for none of what it could point to.
    let status =
        unsafe { bpf_prog_get_info_by_fd(program.as_fd().as_raw_fd(), &raw mut info, &raw mut bytes) };
    if status != 0 { Err(io::Error::last_os_error()) } else { Ok(info) }
}
