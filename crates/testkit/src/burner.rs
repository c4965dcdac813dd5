//! A neighbour that wants a processor.

use std::fs;
use std::process::{Child, Command, Stdio};

/// A process that takes all that it gets of one processor, gone with this value.
#[derive(Debug)]
pub struct Burner(Child);

impl Burner {
    /// What the kernel calls it.
    pub const NAME: &str = "sha256sum";

    /// # Panics
    /// Where it cannot be started.
    #[must_use]
    pub fn on(cpu: usize) -> Self {
        let mut burner = Command::new("taskset");
        burner.args(["-c", &cpu.to_string(), Self::NAME, "/dev/zero"]).stdout(Stdio::null());
        let burner = Self(burner.spawn().expect("taskset"));
        // Before that it has the name of taskset.
        while fs::read_to_string(burner.file("comm")).expect("its name").trim() != Self::NAME {
            std::thread::yield_now();
        }
        burner
    }

    /// Its number.
    #[must_use]
    pub fn pid(&self) -> u32 {
        self.0.id()
    }

    /// What it ran so far, by the kernel's own account.
    ///
    /// # Panics
    /// Where the kernel keeps none.
    #[must_use]
    pub fn ran_ns(&self) -> u64 {
        let account = fs::read_to_string(self.file("schedstat")).expect("its account");
        account.split_whitespace().next().and_then(|ns| ns.parse().ok()).expect("a number")
    }

    fn file(&self, name: &str) -> String {
        format!("/proc/{}/{name}", self.pid())
    }
}

impl Drop for Burner {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
