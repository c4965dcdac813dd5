//! What processes of others spent so far, their own time to a nanosecond.

use std::collections::BTreeMap;
use std::{fs, io};

use crate::clock;
use crate::cpu::tick_ns;

/// The kernel's clock of what all threads of a process ran, those that have ended too (CPUCLOCK_SCHED).
const OF_PROCESS: libc::clockid_t = 2;
/// Of the words of `/proc/PID/stat` after the name: cutime and cstime, in ticks.
const OF_CHILDREN: [usize; 2] = [13, 14];

/// Processor time of a process, of all threads that it ever had, and of the children that it waited for, in
/// nanoseconds. A zombie still has it. The part of the children is kept in ticks of the clock, mostly 10 ms.
pub fn spent_ns(pid: u32) -> io::Result<u64> {
    Ok(own_ns(pid)? + of_children_ns(pid)?)
}

/// What each process that /proc shows ran so far, in nanoseconds, without its children.
pub fn spent_by_all() -> BTreeMap<u32, u64> {
    let pids = super::all().unwrap_or_default().into_iter();
    // One that ended in between is left out.
    pids.filter_map(|pid| Some((pid, own_ns(pid).ok()?))).collect()
}

/// Whether a process ignores a signal. Children of one that ignores their end (SIGCHLD) leave no trace of what they spent.
pub fn ignores(pid: u32, signal: i32) -> bool {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|hex| u64::from_str_radix(hex.trim(), 16).ok()).unwrap_or(0);
    mask & (1 << (signal - 1)) != 0
}

fn own_ns(pid: u32) -> io::Result<u64> {
    // As clock_getcpuclockid(3) makes it.
    let clock = (!pid.cast_signed() << 3) | OF_PROCESS;
    clock::of_others_ns(clock)
}

fn of_children_ns(pid: u32) -> io::Result<u64> {
    let stat = super::look::after_name(pid).ok_or(io::ErrorKind::NotFound)?;
    let words: Vec<&str> = stat.split_ascii_whitespace().collect();
    let ticks = |at: usize| words.get(at).and_then(|word| word.parse::<u64>().ok());
    let sum = ticks(OF_CHILDREN[0]).zip(ticks(OF_CHILDREN[1])).map(|(user, system)| user + system);
    Ok(sum.ok_or(io::ErrorKind::InvalidData)? * tick_ns()?)
}

#[cfg(test)]
mod tests {
    use std::io::{BufRead, BufReader};
    use std::process::{Command, Stdio};

    use super::super::{Process, SIGCHLD, SIGKILL, reap};
    use super::*;

    const BUSY: &str = "i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done";

    #[test]
    fn what_children_spent_is_there_after_they_were_waited_for() {
        let script = format!("({BUSY}); echo; read x; {BUSY}");
        let shell = ["-c", &script];
        let piped = || Command::new("sh").args(shell).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
        let mut child = piped().unwrap();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut String::new()).unwrap();
        let (own, of_children) = (own_ns(child.id()).unwrap(), of_children_ns(child.id()).unwrap());
        assert!(own > 0 && of_children > own, "{own} {of_children}");
        drop(child.stdin.take());
        Process::open(child.id()).unwrap().wait(std::time::Duration::MAX, &false.into()).unwrap();
        // It is a zombie now.
        let spent = spent_ns(child.id()).unwrap();
        let usage = reap(child).unwrap().usage;
        let tick = 20_000_000;
        assert!(spent.abs_diff(usage.user_ns + usage.system_ns) < tick, "{spent} {usage:?}");
        assert!(spent > of_children + own);
    }

    #[test]
    fn who_ignores_the_end_of_children_is_known() {
        let ignores = Command::new("env").args(["--ignore-signal=CHLD", "sleep", "60"]).spawn().unwrap();
        // It begins as our fork does.
        while !super::ignores(ignores.id(), SIGCHLD) {
            std::thread::sleep(std::time::Duration::from_millis(1));
            assert!(super::super::lives(ignores.id()));
        }
        assert!(!super::ignores(std::process::id(), SIGCHLD));
        Process::open(ignores.id()).unwrap().signal(SIGKILL).unwrap();
        reap(ignores).unwrap();
    }
}
