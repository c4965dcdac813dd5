//! What holds for the whole machine: processors, the kernel's command line, rules for packets.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use netfathom_sys::netfilter;

use super::reading::{Reading, grouped, names, number, words};
use super::{cgroup, device};

const CPUS: &str = "/sys/devices/system/cpu";
/// Of all processors, by the names that records have.
const WHOLE: [(&str, &str); 8] = [
    ("cpu.online", "online"),
    ("cpu.isolated", "isolated"),
    ("cpu.nohz_full", "nohz_full"),
    ("cpu.smt", "smt/control"),
    ("cpu.boost", "cpufreq/boost"),
    ("cpu.no_turbo", "intel_pstate/no_turbo"),
    ("cpuidle.driver", "cpuidle/current_driver"),
    ("cpuidle.governor", "cpuidle/current_governor_ro"),
];
/// Of each group of processors that has one frequency.
const FREQUENCY: [(&str, &str); 5] = [
    ("cpu.governor", "scaling_governor"),
    ("cpu.frequency_driver", "scaling_driver"),
    ("cpu.least_khz", "scaling_min_freq"),
    ("cpu.most_khz", "scaling_max_freq"),
    ("cpu.energy_preference", "energy_performance_preference"),
];

/// Reads what is the same in all network namespaces.
pub fn read(into: &mut Reading) {
    into.keep("kernel.command_line", words(Path::new("/proc/cmdline")));
    into.keep_file("memory.transparent_hugepage", Path::new("/sys/kernel/mm/transparent_hugepage/enabled"));
    into.keep_file("irq.default_affinity", Path::new("/proc/irq/default_smp_affinity"));
    if Path::new(CPUS).is_dir() {
        processors(Path::new(CPUS), into);
    } else {
        into.miss("cpu", "/sys is not mounted");
    }
    cgroup::read(into);
    for module in names(Path::new("/sys/module")).iter().filter(|name| name.starts_with("tcp_")) {
        let folder = Path::new("/sys/module").join(module).join("parameters");
        device::parameters(&folder, &format!("module.{module}"), into);
    }
}

fn processors(cpus: &Path, into: &mut Reading) {
    WHOLE.iter().for_each(|(name, file)| into.keep_file(*name, &cpus.join(file)));
    let policies: Vec<PathBuf> = names(&cpus.join("cpufreq"))
        .iter()
        .filter(|name| name.starts_with("policy"))
        .map(|name| cpus.join("cpufreq").join(name))
        .collect();
    for (name, file) in FREQUENCY {
        let of = |policy: &PathBuf| {
            Some((words(&policy.join("affected_cpus")).ok()?, words(&policy.join(file)).ok()?))
        };
        if let Some(value) = grouped(policies.iter().filter_map(of)) {
            into.put(name, value);
        }
    }
    type Read = fn(&Path) -> Option<String>;
    let idle = [("cpuidle.disabled", disabled_states as Read), ("cpuidle.exit_latency_us", exit_latency_us)];
    for (name, read) in idle {
        let of = |cpu: String| {
            let number = number(cpu.strip_prefix("cpu")?)?;
            Some((number.to_string(), read(&cpus.join(&cpu).join("cpuidle"))?))
        };
        if let Some(value) = grouped(names(cpus).into_iter().filter_map(of)) {
            into.put(name, value);
        }
    }
}

/// The idle states that a processor may not enter; `None` where it has no such states.
fn disabled_states(folder: &Path) -> Option<String> {
    let states = names(folder);
    let off = states.iter().filter(|state| is_disabled(&folder.join(state)));
    let off: Vec<String> = off.filter_map(|state| words(&folder.join(state).join("name")).ok()).collect();
    let names = if off.is_empty() { "none".to_owned() } else { off.join("+") };
    (!states.is_empty()).then_some(names)
}

/// What the driver reckons with to leave the deepest state that a processor may enter; `None` where that is unknown.
fn exit_latency_us(folder: &Path) -> Option<String> {
    let states = names(folder).into_iter().map(|state| folder.join(state));
    let enabled = states.filter(|state| !is_disabled(state));
    let latencies = enabled.filter_map(|state| words(&state.join("latency")).ok()?.parse::<u64>().ok());
    latencies.max().map(|us| us.to_string())
}

fn is_disabled(state: &Path) -> bool {
    words(&state.join("disable")).is_ok_and(|disable| disable != "0")
}

/// Counts the rules of the calling thread's network namespace.
pub fn rules(into: &mut Reading) {
    if nf_tables_may_be_asked() {
        match netfilter::nftables_rules() {
            Err(error) if error.kind() == ErrorKind::Unsupported => into.put("nftables.rules", 0),
            read => into.keep("nftables.rules", read),
        }
    } else {
        into.put("nftables.rules", 0);
    }
    into.keep("iptables.rules", netfilter::iptables_rules());
}

/// Asking loads the module, which would change the machine. Where it is a module and not loaded there are no rules.
fn nf_tables_may_be_asked() -> bool {
    let loaded = Path::new("/sys/module/nf_tables").exists();
    let has_modules = Path::new("/proc/modules").exists();
    let built_in = || {
        let release = words(Path::new("/proc/sys/kernel/osrelease")).unwrap_or_default();
        let list = fs::read_to_string(format!("/lib/modules/{release}/modules.builtin")).unwrap_or_default();
        list.lines().any(|line| line.ends_with("/nf_tables.ko"))
    };
    loaded || !has_modules || built_in()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processors_that_differ_are_named() {
        let root = tempfile::tempdir().unwrap();
        for (cpu, off) in [(0, "0"), (1, "1"), (10, "1")] {
            let idle = root.path().join(format!("cpu{cpu}/cpuidle"));
            let (light, state) = (idle.join("state1"), idle.join("state2"));
            let policy = root.path().join(format!("cpufreq/policy{cpu}"));
            fs::create_dir_all(&light).unwrap();
            fs::create_dir_all(&state).unwrap();
            fs::create_dir_all(&policy).unwrap();
            fs::write(state.join("disable"), off).unwrap();
            fs::write(state.join("name"), "C6\n").unwrap();
            fs::write(state.join("latency"), "133\n").unwrap();
            fs::write(light.join("latency"), "2\n").unwrap();
            fs::write(policy.join("affected_cpus"), cpu.to_string()).unwrap();
            fs::write(policy.join("scaling_governor"), "performance\n").unwrap();
        }
        let mut reading = Reading::default();
        processors(root.path(), &mut reading);
        assert_eq!(reading.values["cpu.governor"], "performance");
        assert_eq!(reading.values["cpuidle.disabled"], "none (0), C6 (1, 10)");
        assert_eq!(reading.values["cpuidle.exit_latency_us"], "133 (0), 2 (1, 10)");
    }
}
