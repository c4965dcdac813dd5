//! What holds for the whole machine: processors, control groups, the kernel's command line, rules for packets.

use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::{fs, iter};

use netfathom_sys::netfilter;

use super::device;
use super::reading::{Reading, grouped, names, number, words};

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
    cgroups(into);
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
    let disabled = names(cpus).into_iter().filter_map(|cpu| {
        let number = number(cpu.strip_prefix("cpu")?)?;
        Some((number.to_string(), disabled_states(&cpus.join(&cpu).join("cpuidle"))?))
    });
    if let Some(value) = grouped(disabled) {
        into.put("cpuidle.disabled", value);
    }
}

/// The idle states that a processor may not enter; `None` where it has no such states.
fn disabled_states(folder: &Path) -> Option<String> {
    let states = names(folder);
    let off =
        states.iter().filter(|state| words(&folder.join(state).join("disable")).is_ok_and(|d| d != "0"));
    let off: Vec<String> = off.filter_map(|state| words(&folder.join(state).join("name")).ok()).collect();
    let names = if off.is_empty() { "none".to_owned() } else { off.join("+") };
    (!states.is_empty()).then_some(names)
}

/// Limits, by the names that records have: the controller of the first version, its file, and that of the second.
const LIMITS: [(&str, &str, &str, &str); 5] = [
    ("cgroup.cpu.max", "cpu", "cpu.cfs_quota_us", "cpu.max"),
    ("cgroup.cpu.weight", "cpu", "cpu.shares", "cpu.weight"),
    ("cgroup.memory.max", "memory", "memory.limit_in_bytes", "memory.max"),
    ("cgroup.memory.high", "memory", "memory.soft_limit_in_bytes", "memory.high"),
    ("cgroup.cpuset", "cpuset", "cpuset.effective_cpus", "cpuset.cpus.effective"),
];

fn cgroups(into: &mut Reading) {
    let read = || -> io::Result<[String; 2]> {
        Ok([fs::read_to_string("/proc/self/cgroup")?, fs::read_to_string("/proc/self/mountinfo")?])
    };
    let [groups, mounts] = match read() {
        Ok(read) => read,
        Err(error) => return into.miss("cgroup.", error),
    };
    let second = own_group(&groups, &mounts, None);
    for (name, controller, old, new) in LIMITS {
        let first = own_group(&groups, &mounts, Some(controller));
        let limits = match (&first, &second) {
            (Some(group), _) => limits(group, old),
            (None, Some(group)) => limits(group, new),
            (None, None) => {
                into.miss(name, "no control groups are mounted");
                continue;
            }
        };
        into.put(name, if limits.is_empty() { "none".to_owned() } else { limits.join(", ") });
    }
}

/// The directory of the own group in the hierarchy of a controller, and how far up it goes; `None` for that of version 2.
fn own_group(groups: &str, mounts: &str, controller: Option<&str>) -> Option<(PathBuf, PathBuf)> {
    let has = |list: &str| list.split(',').any(|one| Some(one) == controller);
    let inside = groups.lines().find_map(|line| {
        let mut parts = line.splitn(3, ':');
        let (number, list, path) = (parts.next()?, parts.next()?, parts.next()?);
        let it = controller.map_or(number == "0" && list.is_empty(), |_| has(list));
        it.then_some(path)
    })?;
    let (root, mounted) = mounts.lines().find_map(|line| {
        let (place, kind) = line.split_once(" - ")?;
        let (place, mut kind): (Vec<&str>, _) = (place.split(' ').collect(), kind.split(' '));
        let it = match (kind.next()?, controller) {
            ("cgroup2", None) => true,
            ("cgroup", Some(_)) => kind.next_back().is_some_and(has),
            _ => false,
        };
        it.then(|| Some((*place.get(3)?, *place.get(4)?)))?
    })?;
    let top = PathBuf::from(mounted);
    // A container sees the hierarchy from its own group on.
    let below = inside.strip_prefix(root).unwrap_or(inside).trim_start_matches('/');
    Some((top.join(below), top))
}

/// Limits from the own group up, without those that limit nothing.
fn limits((own, top): &(PathBuf, PathBuf), file: &str) -> Vec<String> {
    // As much as fits into the kernel's own counter.
    let unlimited = |value: &str| {
        matches!(value, "max" | "-1" | "") || value.starts_with("max ") || value.starts_with("9223372036854")
    };
    let groups = iter::successors(Some(own.as_path()), |group| group.parent())
        .take_while(|group| group.starts_with(top));
    let mut all: Vec<String> =
        groups.filter_map(|group| words(&group.join(file)).ok()).filter(|value| !unlimited(value)).collect();
    all.dedup();
    all
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

    const MOUNTS: &str = "31 23 0:28 / /sys/fs/cgroup rw - tmpfs tmpfs rw,mode=755\n\
        32 31 0:29 /docker/x /sys/fs/cgroup/cpu rw,relatime - cgroup cgroup rw,cpu,cpuacct\n\
        41 31 0:38 / /sys/fs/cgroup/unified rw,relatime shared:9 - cgroup2 cgroup2 rw\n";

    #[test]
    fn the_own_group_is_found_in_either_version() {
        let groups = "4:cpu,cpuacct:/docker/x/y\n0::/user.slice/a\n";
        let first = own_group(groups, MOUNTS, Some("cpu")).unwrap();
        assert_eq!(first.0, Path::new("/sys/fs/cgroup/cpu/y"));
        let second = own_group(groups, MOUNTS, None).unwrap();
        assert_eq!(second.0, Path::new("/sys/fs/cgroup/unified/user.slice/a"));
        assert_eq!(own_group(groups, MOUNTS, Some("memory")), None);
    }

    #[test]
    fn limits_of_groups_above_hold_too() {
        let top = tempfile::tempdir().unwrap();
        let own = top.path().join("a/b");
        fs::create_dir_all(&own).unwrap();
        fs::write(own.join("cpu.max"), "max 100000\n").unwrap();
        fs::write(top.path().join("a/cpu.max"), "50000 100000\n").unwrap();
        assert_eq!(limits(&(own, top.path().to_owned()), "cpu.max"), ["50000 100000"]);
    }

    #[test]
    fn processors_that_differ_are_named() {
        let root = tempfile::tempdir().unwrap();
        for (cpu, off) in [(0, "0"), (1, "1"), (10, "1")] {
            let state = root.path().join(format!("cpu{cpu}/cpuidle/state2"));
            let policy = root.path().join(format!("cpufreq/policy{cpu}"));
            fs::create_dir_all(&state).unwrap();
            fs::create_dir_all(&policy).unwrap();
            fs::write(state.join("disable"), off).unwrap();
            fs::write(state.join("name"), "C6\n").unwrap();
            fs::write(policy.join("affected_cpus"), cpu.to_string()).unwrap();
            fs::write(policy.join("scaling_governor"), "performance\n").unwrap();
        }
        let mut reading = Reading::default();
        processors(root.path(), &mut reading);
        assert_eq!(reading.values["cpu.governor"], "performance");
        assert_eq!(reading.values["cpuidle.disabled"], "none (0), C6 (1, 10)");
    }
}
