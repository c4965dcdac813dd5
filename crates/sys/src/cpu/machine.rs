//! What all processors together were busy with, and how often they changed what they ran.

use std::fs;
use std::io;

use super::CpuError;
use super::usage::{self, ProcessorTimes};

/// Of the whole machine, since it started.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MachineUsage {
    /// The sum over the processors.
    pub times: ProcessorTimes,
    /// The part of the idle time, in nanoseconds, in which a program waited for a disk.
    pub iowait_ns: u64,
    /// How often a processor went from one thread to another.
    pub context_switches: u64,
    pub interrupts: u64,
    pub started: u64,
}

impl MachineUsage {
    /// What was added since an earlier reading. As with [`ProcessorTimes::since`] no time goes
    /// below zero, and iowait may shrink by the kernel's own account (proc(5)).
    pub fn since(&self, earlier: &Self) -> Self {
        Self {
            times: self.times.since(&earlier.times),
            iowait_ns: self.iowait_ns.saturating_sub(earlier.iowait_ns),
            context_switches: self.context_switches.saturating_sub(earlier.context_switches),
            interrupts: self.interrupts.saturating_sub(earlier.interrupts),
            started: self.started.saturating_sub(earlier.started),
        }
    }
}

/// Reads it from /proc/stat.
pub fn machine_usage() -> Result<MachineUsage, CpuError> {
    let read = fs::read_to_string("/proc/stat").and_then(|text| parse(&text, usage::tick_ns()?));
    read.map_err(CpuError::new("read what the machine did from /proc/stat", "; is /proc mounted?"))
}

fn parse(text: &str, tick_ns: u64) -> io::Result<MachineUsage> {
    let number = |name: &str| {
        let words = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
        let first = words.and_then(|words| words.split_ascii_whitespace().next()?.parse().ok());
        first.ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, format!("no line {name}")))
    };
    let (times, iowait_ns) = usage::parse_line(text, "cpu", tick_ns)?;
    Ok(MachineUsage {
        times,
        iowait_ns,
        context_switches: number("ctxt")?,
        interrupts: number("intr")?,
        started: number("processes")?,
    })
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::thread;

    use super::*;

    #[test]
    fn the_sum_of_all_processors_is_taken() {
        let text = "cpu  1 2 3 4 5 6 7 8 9 10\ncpu0 9 9 9 9 9 9 9 9 9 9\nintr 11 12 13\nctxt 14\nprocesses 15\nprocs_running 1\nsoftirq 16 17\n";
        let usage = parse(text, 10).unwrap();
        assert_eq!((usage.times.softirq_ns, usage.times.irq_ns, usage.times.steal_ns), (70, 60, 80));
        assert_eq!((usage.times.idle_ns, usage.iowait_ns), (90, 50));
        assert_eq!((usage.interrupts, usage.context_switches, usage.started), (11, 14, 15));
        assert!(parse("cpu 1 2 3 4 5 6 7 8\n", 10).unwrap_err().to_string().contains("no line ctxt"));
    }

    #[test]
    fn handing_a_byte_to_and_fro_switches() {
        const TIMES: u64 = 2_000;
        let ([mut here, mut there], [mut to, mut fro]) = pipes();
        let before = machine_usage().unwrap();
        let echo = thread::spawn(move || {
            let mut byte = [0];
            while there.read(&mut byte).unwrap() == 1 {
                fro.write_all(&byte).unwrap();
            }
        });
        for _ in 0..TIMES {
            to.write_all(&[1]).unwrap();
            here.read_exact(&mut [0]).unwrap();
        }
        drop(to);
        echo.join().unwrap();
        let gained = machine_usage().unwrap().since(&before);
        // Each turn one thread falls asleep and the other is woken.
        assert!(gained.context_switches >= TIMES && gained.started >= 1, "{gained:?}");
    }

    fn pipes() -> ([io::PipeReader; 2], [io::PipeWriter; 2]) {
        let ((here, fro), (there, to)) = (io::pipe().unwrap(), io::pipe().unwrap());
        ([here, there], [to, fro])
    }
}
