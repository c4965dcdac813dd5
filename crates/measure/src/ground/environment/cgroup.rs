//! Control groups of both versions, and what they limit.

use std::path::{Path, PathBuf};
use std::{fs, io, iter};

use netfathom_sys::process::proc_is_ours;

use super::reading::{Reading, words};

/// By the name that records have: the controller of the first version, its file, and that of the second.
type Limit = (&'static str, &'static str, &'static str, &'static str);

const QUOTA: Limit = ("cgroup.cpu.max", "cpu", "cpu.cfs_quota_us", "cpu.max");
const LIMITS: [Limit; 5] = [
    QUOTA,
    ("cgroup.cpu.weight", "cpu", "cpu.shares", "cpu.weight"),
    ("cgroup.memory.max", "memory", "memory.limit_in_bytes", "memory.max"),
    ("cgroup.memory.high", "memory", "memory.soft_limit_in_bytes", "memory.high"),
    ("cgroup.cpuset", "cpuset", "cpuset.effective_cpus", "cpuset.cpus.effective"),
];

/// Its directory, and that of the first one of its hierarchy.
type Group = (PathBuf, PathBuf);

/// The groups of a process, and all mounts.
fn tables(process: &str) -> io::Result<[String; 2]> {
    Ok([fs::read_to_string(format!("/proc/{process}/cgroup"))?, fs::read_to_string("/proc/self/mountinfo")?])
}

/// Reads what limits this process.
pub fn read(into: &mut Reading) {
    let tables = match tables("self") {
        Ok(tables) => tables,
        Err(error) => return into.miss("cgroup.", error),
    };
    for limit in LIMITS {
        match place(&tables, limit).map(|(group, file)| limits(&group, file)) {
            Some(limits) if limits.is_empty() => into.put(limit.0, "none"),
            Some(limits) => into.put(limit.0, limits.join(", ")),
            None => into.miss(limit.0, "no control groups are mounted"),
        }
    }
}

/// How to raise the CPU quota of a process: in which file, if that is known.
pub fn raise_quota(pid: Option<u32>) -> String {
    let pid = pid.filter(|_| proc_is_ours());
    let quota = pid.and_then(|pid| quota(&tables(&pid.to_string()).ok()?));
    quota.unwrap_or_else(|| {
        "raise the CPU quota of its cgroup (cpu.max, or cpu.cfs_quota_us of cgroup version 1)".into()
    })
}

/// The same of the nearest group that has one.
fn quota(tables: &[String; 2]) -> Option<String> {
    let (group, file) = place(tables, QUOTA)?;
    let (path, _) = limiting(&group, file).into_iter().next()?;
    let none = if file == QUOTA.2 { "-1" } else { "max" };
    // systemd writes backslashes into names.
    Some(format!("raise the CPU quota of its cgroup, or remove it (`echo {none} > '{}'`)", path.display()))
}

/// The group that a limit is of, and the name of its file there.
fn place([groups, mounts]: &[String; 2], (_, controller, old, new): Limit) -> Option<(Group, &'static str)> {
    let first = own_group(groups, mounts, Some(controller)).map(|group| (group, old));
    first.or_else(|| Some((own_group(groups, mounts, None)?, new)))
}

/// The directory of the own group in the hierarchy of a controller, and how far up it goes; `None` for that of version 2.
fn own_group(groups: &str, mounts: &str, controller: Option<&str>) -> Option<Group> {
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

/// Limits from the own group up.
fn limits(group: &Group, file: &str) -> Vec<String> {
    let mut all: Vec<String> = limiting(group, file).into_iter().map(|(_, limit)| limit).collect();
    all.dedup();
    all
}

/// The files that have them, without those that limit nothing.
fn limiting((own, top): &Group, file: &str) -> Vec<(PathBuf, String)> {
    // As much as fits into the kernel's own counter.
    let unlimited = |value: &str| {
        matches!(value, "max" | "-1" | "") || value.starts_with("max ") || value.starts_with("9223372036854")
    };
    let groups = iter::successors(Some(own.as_path()), |group| group.parent())
        .take_while(|group| group.starts_with(top));
    let limit = |group: &Path| {
        let path = group.join(file);
        let limit = words(&path).ok().filter(|value| !unlimited(value))?;
        Some((path, limit))
    };
    groups.filter_map(limit).collect()
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
    fn a_quota_is_raised_in_the_file_of_the_nearest_group_that_has_one() {
        let top = tempfile::tempdir().unwrap();
        let group = top.path().join("a");
        fs::create_dir_all(group.join("b")).unwrap();
        let raise = |file: &str, limit: &str, list: &str, kind: &str| {
            fs::write(group.join(file), limit).unwrap();
            quota(&[format!("{list}:/a/b\n"), format!("32 31 0:29 / {} rw - {kind}\n", top.path().display())])
        };
        let at = |none: &str, file: &str| {
            let path = group.join(file);
            let remedy = "raise the CPU quota of its cgroup, or remove it";
            Some(format!("{remedy} (`echo {none} > '{}'`)", path.display()))
        };
        let first = |limit| raise("cpu.cfs_quota_us", limit, "4:cpu,cpuacct", "cgroup cgroup rw,cpu,cpuacct");
        assert_eq!([first("50000\n"), first("-1\n")], [at("-1", "cpu.cfs_quota_us"), None]);
        let second = |limit| raise("cpu.max", limit, "0:", "cgroup2 cgroup2 rw");
        assert_eq!([second("50000 100000\n"), second("max 100000\n")], [at("max", "cpu.max"), None]);
    }
}
