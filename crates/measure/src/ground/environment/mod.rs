//! The machine a record is taken on.

pub mod cgroup;
mod device;
pub mod hypervisor;
mod machine;
mod reading;
mod settings;
mod sysctls;

use std::collections::BTreeMap;
use std::fs;
use std::hint::black_box;
use std::path::Path;
use std::time::Instant;

use netfathom_model::environment::{Device, Environment, Settings, ThreadPlace};
use netfathom_sys::clock::realtime_ahead_ns;
use netfathom_sys::cpu;

use crate::ground::lab::Lab;

/// Readings of the clock in a batch: enough that the clock's own resolution is nothing.
const CLOCK_BATCH: u32 = 1000;
/// Batches; an interruption spoils few of them, and the median none.
const CLOCK_BATCHES: usize = 31;

/// Describes this machine, with the threads and devices that the measurement uses, and the lab that these are in.
/// It takes some milliseconds, most of them for a thousand sysctls. Call it once everything is set up, from a thread
/// that is not bound to one processor, for the processors counted are those that it may use.
pub fn read(threads: Vec<ThreadPlace>, devices: Vec<Device>, lab: Option<&Lab>) -> Environment {
    let cpuinfo = cpuinfo();
    // The processor of the first thread; on most machines all have the same governor.
    let cpu = threads.first().map_or(0, |thread| thread.cpu);
    Environment {
        host: host(),
        realtime_ahead_ns: realtime_ahead_ns(),
        kernel: kernel(),
        cpu_model: cpu_model(&cpuinfo),
        cpus: cpu::allowed().map_or(0, |cpus| cpus.len()),
        clocksource: line("/sys/devices/system/clocksource/clocksource0/current_clocksource"),
        governor: line(format!("/sys/devices/system/cpu/cpu{cpu}/cpufreq/scaling_governor")),
        virtualised: is_virtual(),
        clock_read_ns: clock_read_ns(),
        mitigations: lines_of(Path::new("/sys/devices/system/cpu/vulnerabilities")),
        settings: settings::read(&devices, lab),
        devices,
        threads,
    }
}

/// The settings of this host now, those of all its devices included.
pub fn host_settings() -> Settings {
    let device = |name| Device { role: String::new(), name, mtu: 0, qdisc: String::new() };
    let devices: Vec<Device> = reading::names(Path::new("/sys/class/net")).into_iter().map(device).collect();
    settings::read(&devices, None)
}

/// The host's own name, where the kernel shows it.
pub fn host() -> Option<String> {
    line("/proc/sys/kernel/hostname")
}

/// Release and build, as `uname -rv` prints them.
pub fn kernel() -> String {
    let parts = ["/proc/sys/kernel/osrelease", "/proc/sys/kernel/version"];
    parts.into_iter().filter_map(line).collect::<Vec<_>>().join(" ")
}

/// x86 writes a name; Arm leaves it to others to know its numbers.
fn cpu_model(cpuinfo: &str) -> String {
    let find = |key: &str| field(cpuinfo, key).map(str::to_owned);
    let arm = || Some(format!("implementer {} part {}", find("CPU implementer")?, find("CPU part")?));
    find("model name").or_else(arm).unwrap_or_default()
}

fn cpuinfo() -> String {
    fs::read_to_string("/proc/cpuinfo").unwrap_or_default()
}

/// Whether a hypervisor runs this machine.
pub fn is_virtual() -> bool {
    matches!(hypervisor::find(), hypervisor::Hypervisor::Found(_))
}

/// The first value of a key in the form of /proc/cpuinfo.
fn field<'a>(text: &'a str, key: &str) -> Option<&'a str> {
    let pairs = text.lines().filter_map(|line| line.split_once(':'));
    pairs
        .filter(|(name, _)| name.trim() == key)
        .map(|(_, value)| value.trim())
        .find(|value| !value.is_empty())
}

/// What one reading of CLOCK_MONOTONIC, which is what [`Instant`] reads, costs: the median
/// of several batches, in nanoseconds.
fn clock_read_ns() -> f64 {
    let mut batches = [0.0; CLOCK_BATCHES];
    for cost in &mut batches {
        let start = Instant::now();
        for _ in 0..CLOCK_BATCH {
            black_box(Instant::now());
        }
        *cost = start.elapsed().as_nanos() as f64 / f64::from(CLOCK_BATCH);
    }
    batches.sort_by(f64::total_cmp);
    batches[CLOCK_BATCHES / 2]
}

/// The first line of every file in a folder, by the name of the file.
fn lines_of(folder: &Path) -> BTreeMap<String, String> {
    let files = fs::read_dir(folder).into_iter().flatten().flatten();
    files.filter_map(|file| Some((file.file_name().into_string().ok()?, line(file.path())?))).collect()
}

/// The first line of a file, in single spaces; `None` when it cannot be read or is empty.
fn line(path: impl AsRef<Path>) -> Option<String> {
    let text = fs::read_to_string(path).ok()?;
    let words: Vec<&str> = text.lines().next()?.split_whitespace().collect();
    if words.is_empty() { None } else { Some(words.join(" ")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    const X86: &str = "processor\t: 0\nmodel\t\t: 1\nmodel name\t: AMD EPYC\n";
    const ARM: &str = "processor\t: 0\nFeatures\t: fp\nCPU implementer\t: 0x41\nCPU part\t: 0xd0c\n";

    #[test]
    fn processors_are_named() {
        assert_eq!(cpu_model(X86), "AMD EPYC");
        assert_eq!(cpu_model(ARM), "implementer 0x41 part 0xd0c");
        assert_eq!(cpu_model(""), "");
    }

    #[test]
    fn what_cannot_be_read_is_missing() {
        let nowhere = Path::new("/nonexistent");
        assert!(lines_of(nowhere).is_empty());
        assert_eq!(line(nowhere), None);
        assert_eq!(line("/dev/null"), None);
    }

    #[test]
    fn this_machine_is_described() {
        let threads = vec![ThreadPlace { role: "sender".into(), cpu: 0 }];
        let here = read(threads.clone(), Vec::new(), None);
        assert!(here.kernel.starts_with(|c: char| c.is_ascii_digit()), "{}", here.kernel);
        assert!(here.cpus >= 1);
        assert!(here.clock_read_ns > 0.0 && here.clock_read_ns < 100_000.0, "{}", here.clock_read_ns);
        assert_eq!(here.threads, threads);
    }
}
