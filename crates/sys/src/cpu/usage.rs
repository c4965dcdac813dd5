//! What processors and threads were busy with, as the kernel counts it.

use std::fs;
use std::io;
use std::os::unix::fs::FileExt as _;

use super::CpuError;

/// What a processor did with its time since the machine started, in nanoseconds.
///
/// The kernel counts whole ticks (10 ms on most machines) and rounds each kind by itself, so
/// the sum is right to a few ticks only: take differences over a second or more.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ProcessorTimes {
    /// Programs, nice ones included; the guests of a hypervisor too.
    pub user_ns: u64,
    /// The kernel for programs and in threads of its own.
    pub system_ns: u64,
    pub irq_ns: u64,
    /// What interrupts left to be done, network packets above all. What a thread of its
    /// own does of it, ksoftirqd, counts here as well.
    pub softirq_ns: u64,
    /// Nothing, waiting for disks included.
    pub idle_ns: u64,
    /// Another machine of the same host ran instead.
    pub steal_ns: u64,
}

impl ProcessorTimes {
    /// What was added since an earlier reading. The kernel may take a tick of idle time back:
    /// no kind goes below zero.
    pub fn since(&self, earlier: &Self) -> Self {
        Self {
            user_ns: self.user_ns.saturating_sub(earlier.user_ns),
            system_ns: self.system_ns.saturating_sub(earlier.system_ns),
            irq_ns: self.irq_ns.saturating_sub(earlier.irq_ns),
            softirq_ns: self.softirq_ns.saturating_sub(earlier.softirq_ns),
            idle_ns: self.idle_ns.saturating_sub(earlier.idle_ns),
            steal_ns: self.steal_ns.saturating_sub(earlier.steal_ns),
        }
    }

    /// All but idle and stolen time.
    pub fn busy_ns(&self) -> u64 {
        self.user_ns + self.system_ns + self.irq_ns + self.softirq_ns
    }
}

/// Reads the times of one processor from /proc/stat.
pub fn processor_times(cpu: usize) -> Result<ProcessorTimes, CpuError> {
    let read = fs::read_to_string("/proc/stat").and_then(|text| parse_times(&text, cpu, tick_ns()?));
    let action = format!("read the times of CPU {cpu} from /proc/stat");
    read.map_err(CpuError::new(action, "; is /proc mounted, and the CPU online?"))
}

/// The unit of /proc/stat: a hundredth of a second, on any machine that this was tried on.
pub(crate) fn tick_ns() -> io::Result<u64> {
    // SAFETY: no pointers.
    match u64::try_from(unsafe { libc::sysconf(libc::_SC_CLK_TCK) }) {
        Ok(ticks) if ticks > 0 => Ok(1_000_000_000 / ticks),
        _ => Err(io::Error::last_os_error()),
    }
}

fn parse_times(text: &str, cpu: usize, tick_ns: u64) -> io::Result<ProcessorTimes> {
    parse_line(text, &format!("cpu{cpu}"), tick_ns).map(|(times, _)| times)
}

/// The times in the line of that name, and which part of the idle time waited for a disk.
pub(super) fn parse_line(text: &str, name: &str, tick_ns: u64) -> io::Result<(ProcessorTimes, u64)> {
    let fields = text.lines().find_map(|line| {
        let mut words = line.split_ascii_whitespace();
        (words.next() == Some(name)).then_some(words)
    });
    let fields = fields.ok_or_else(|| io::Error::new(io::ErrorKind::NotFound, format!("no line {name}")))?;
    let ns: Vec<u64> = fields.map_while(|word| word.parse::<u64>().ok()).map(|n| n * tick_ns).collect();
    // user nice system idle iowait irq softirq steal; guest times follow, and are in user.
    let [user, nice, system, idle, iowait, irq, softirq, steal, ..] = ns[..] else {
        return Err(io::Error::new(io::ErrorKind::InvalidData, format!("line {name} is too short")));
    };
    let times = ProcessorTimes {
        user_ns: user + nice,
        system_ns: system,
        irq_ns: irq,
        softirq_ns: softirq,
        idle_ns: idle + iowait,
        steal_ns: steal,
    };
    Ok((times, iowait))
}

/// How the scheduler treated a thread since it began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Scheduling {
    /// Time on a processor, in nanoseconds.
    pub on_cpu_ns: u64,
    /// Time ready to run, but waiting for a processor, in nanoseconds.
    pub run_delay_ns: u64,
}

/// Reads how the scheduler treated a thread of this process, by the number that
/// [`thread_id`] gave it.
///
/// What the kernel shows for a thread that runs on another processor is as old as its last
/// tick or switch.
///
/// # Errors
/// When this process has no such thread (any more), or the kernel was built without
/// CONFIG_SCHED_INFO.
pub fn scheduling(thread: u32) -> Result<Scheduling, CpuError> {
    let path = format!("/proc/self/task/{thread}/schedstat");
    let read = fs::read_to_string(&path).and_then(|text| parse_scheduling(&text));
    let hint = "; does the thread still run, and has this kernel CONFIG_SCHED_INFO?";
    read.map_err(CpuError::new(format!("read {path}"), hint))
}

/// How long a thread has waited for a processor. The file stays open, so that a reading is one system call.
#[derive(Debug)]
pub struct RunDelay(fs::File);

impl RunDelay {
    /// # Errors
    /// When the kernel was built without CONFIG_SCHED_INFO, or this process has no more files.
    pub fn of_this_thread() -> io::Result<Self> {
        fs::File::open("/proc/thread-self/schedstat").map(Self)
    }

    /// Nanoseconds since the thread began, ready to run, but waiting for a processor.
    ///
    /// # Errors
    /// When the kernel shows something else than it has done since Linux 2.6.
    pub fn read_ns(&self) -> io::Result<u64> {
        let mut text = [0; 128];
        let length = self.0.read_at(&mut text, 0)?;
        Ok(parse_scheduling(&String::from_utf8_lossy(&text[..length]))?.run_delay_ns)
    }
}

pub(crate) fn parse_scheduling(text: &str) -> io::Result<Scheduling> {
    let numbers: Vec<u64> = text.split_ascii_whitespace().map_while(|word| word.parse().ok()).collect();
    match numbers[..] {
        [on_cpu_ns, run_delay_ns, _slices] => Ok(Scheduling { on_cpu_ns, run_delay_ns }),
        _ => Err(io::Error::new(io::ErrorKind::InvalidData, format!("unexpected content {text:?}"))),
    }
}

/// The number of the calling thread, unique on the machine while it runs.
pub fn thread_id() -> u32 {
    rustix::thread::gettid().as_raw_pid().cast_unsigned()
}

#[cfg(test)]
mod tests {
    use std::hint::black_box;
    use std::sync::mpsc;
    use std::thread;

    use super::*;
    use crate::cpu::{allowed, pin, thread_time_ns};

    fn work(ns: u64) {
        let end = thread_time_ns() + ns;
        while thread_time_ns() < end {
            black_box((0..1000_u64).fold(0, |sum, n| black_box(sum ^ n)));
        }
    }

    #[test]
    fn the_columns_map_to_kinds_by_position() {
        let text =
            "cpu  9 9 9 9 9 9 9 9 9 9\ncpu0 1 2 3 4 5 6 7 8 9 10\ncpu10 0 0 0 0 0 0 0 70 0 0\nintr 1 2\n";
        let expected = ProcessorTimes {
            user_ns: 30,
            system_ns: 30,
            irq_ns: 60,
            softirq_ns: 70,
            idle_ns: 90,
            steal_ns: 80,
        };
        assert_eq!(parse_times(text, 0, 10).unwrap(), expected);
        assert_eq!(parse_times(text, 10, 1).unwrap().steal_ns, 70);
        assert_eq!(parse_times(text, 1, 1).unwrap_err().kind(), io::ErrorKind::NotFound);
        assert_eq!(expected.since(&ProcessorTimes { irq_ns: 99, ..expected }), ProcessorTimes::default());
        assert_eq!(expected.busy_ns(), 190);
    }

    #[test]
    fn work_is_seen_on_the_processor_it_was_done_on() {
        let cpu = *allowed().unwrap().last().unwrap();
        let gained = thread::spawn(move || {
            pin(cpu).unwrap();
            let before = processor_times(cpu).unwrap();
            work(300_000_000);
            processor_times(cpu).unwrap().since(&before)
        });
        // Others may have added to it; ticks may have missed a few.
        assert!(gained.join().unwrap().busy_ns() >= 200_000_000);
    }

    #[test]
    fn a_processor_that_is_not_there_is_named() {
        let error = processor_times(99_999).unwrap_err().to_string();
        assert!(error.contains("CPU 99999") && error.contains("no line cpu99999"), "{error}");
    }

    #[test]
    fn another_thread_is_followed() {
        let (say, hear) = mpsc::channel();
        let (finish, finished) = mpsc::channel::<()>();
        let worker = thread::spawn(move || {
            work(50_000_000);
            say.send((thread_id(), thread_time_ns())).unwrap();
            finished.recv().unwrap_err();
        });
        let (id, took) = hear.recv().unwrap();
        let seen = scheduling(id).unwrap();
        assert_ne!(id, thread_id());
        // Both count the same: within a tick of 10 ms.
        assert!(seen.on_cpu_ns + 10_000_000 >= took, "{seen:?}, {took}");
        drop(finish);
        worker.join().unwrap();
        assert!(scheduling(id).unwrap_err().to_string().contains("does the thread still run"));
    }

    #[test]
    fn waiting_for_a_busy_processor_is_counted() {
        let cpu = *allowed().unwrap().last().unwrap();
        let contender = move || {
            thread::spawn(move || {
                pin(cpu).unwrap();
                let own = RunDelay::of_this_thread().unwrap();
                work(100_000_000);
                let (run_delay_ns, account) = (own.read_ns().unwrap(), scheduling(thread_id()).unwrap());
                // Between the two it may have waited once more.
                assert!(run_delay_ns <= account.run_delay_ns, "{run_delay_ns} {account:?}");
                Scheduling { run_delay_ns, ..account }
            })
        };
        let [a, b] = [contender(), contender()].map(|thread| thread.join().unwrap());
        // Two halves of one processor: together they waited about as long as one worked.
        assert!(a.run_delay_ns + b.run_delay_ns >= 30_000_000, "{a:?} {b:?}");
        assert!(a.on_cpu_ns >= 90_000_000 && b.on_cpu_ns >= 90_000_000, "{a:?} {b:?}");
    }
}
