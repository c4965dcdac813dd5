//! A process that keeps a CPU busy.

use std::fs;
use std::process::{Command, Stdio};

use crate::Killed;

/// A process that takes all that it gets of one processor, gone with this value.
#[derive(Debug)]
pub struct Burner(Killed);

impl Burner {
    /// What the kernel calls it.
    pub const NAME: &str = "sha256sum";

    /// # Panics
    /// Where it cannot be started.
    pub fn on(cpu: usize) -> Self {
        Self::spawn("taskset", &["-c", &cpu.to_string(), Self::NAME, "/dev/zero"])
    }

    /// The same for 5 ms, then idle for `idle_ms`, and so on, before all threads of a lower real-time priority than 60
    /// (SCHED_FIFO).
    ///
    /// # Panics
    /// Where it cannot be started.
    pub fn alternating(cpu: usize, idle_ms: u32) -> Self {
        let program =
            format!("while (1) {{ my $end = time + 0.005; 1 while time < $end; sleep 0.001 * {idle_ms} }}");
        let args = [
            "-f",
            "60",
            "taskset",
            "-c",
            &cpu.to_string(),
            "perl",
            "-MTime::HiRes=time,sleep",
            "-e",
            &program,
        ];
        Self::spawn("chrt", &args)
    }

    fn spawn(by: &str, args: &[&str]) -> Self {
        let burner = Self(Killed(Command::new(by).args(args).stdout(Stdio::null()).spawn().expect(by)));
        // Before that it has the name of what starts it.
        while !args.contains(&fs::read_to_string(burner.file("comm")).expect("its name").trim()) {
            std::thread::yield_now();
        }
        burner
    }

    /// Its number.
    pub fn pid(&self) -> u32 {
        self.0.id()
    }

    /// What it ran so far, by the kernel's own account.
    ///
    /// # Panics
    /// Where the kernel keeps none.
    pub fn ran_ns(&self) -> u64 {
        let account = fs::read_to_string(self.file("schedstat")).expect("its account");
        account.split_whitespace().next().and_then(|ns| ns.parse().ok()).expect("a number")
    }

    fn file(&self, name: &str) -> String {
        format!("/proc/{}/{name}", self.pid())
    }
}
