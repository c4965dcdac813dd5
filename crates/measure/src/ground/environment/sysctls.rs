//! The sysctls of the calling thread's network namespace.

use std::path::Path;

use netfathom_model::environment::Device;

use super::reading::{Reading, names};

const FOLDERS: [&str; 3] = ["net/core", "net/ipv4", "net/ipv6"];
/// Of the rest of the kernel.
const OTHERS: [&str; 4] = [
    "kernel/numa_balancing",
    "kernel/perf_event_paranoid",
    "kernel/timer_migration",
    "kernel/unprivileged_bpf_disabled",
];
/// Secrets, and what is drawn anew at each start.
const LEFT_OUT: [&str; 3] = ["tcp_fastopen_key", "stable_secret", "netdev_rss_key"];
/// Where each device has settings of its own.
const BY_DEVICE: [&str; 2] = ["conf", "neigh"];
/// Those of devices in general, and what a new one begins with.
const GENERAL: [&str; 2] = ["all", "default"];

/// Reads those of the network and a few others, of single devices those of `devices`.
pub fn read(root: &Path, devices: &[Device], into: &mut Reading) {
    let mut missing = true;
    for folder in FOLDERS {
        missing &= !root.join(folder).is_dir();
        walk(root, folder, devices, into);
    }
    if missing {
        into.miss("net.", "/proc/sys/net is not there");
    }
    OTHERS.iter().for_each(|path| into.keep_file(path.replace('/', "."), &root.join(path)));
    let scheduler = names(&root.join("kernel")).into_iter().filter(|name| name.starts_with("sched_"));
    for name in scheduler {
        into.keep_file(format!("kernel.{name}"), &root.join("kernel").join(&name));
    }
    drop_defaults(devices, into);
}

fn walk(root: &Path, folder: &str, devices: &[Device], into: &mut Reading) {
    let by_device = folder.rsplit('/').next().is_some_and(|last| BY_DEVICE.contains(&last));
    let known = |name: &str| GENERAL.contains(&name) || devices.iter().any(|device| device.name == name);
    for name in names(&root.join(folder)) {
        if LEFT_OUT.contains(&&*name) || (by_device && !known(&name)) {
            continue;
        }
        let below = format!("{folder}/{name}");
        let path = root.join(&below);
        if path.is_dir() {
            walk(root, &below, devices, into);
        } else {
            into.keep_file(below.replace('/', "."), &path);
        }
    }
}

/// Leaves out what a device has as any new one has it.
fn drop_defaults(devices: &[Device], into: &mut Reading) {
    let usual = |name: &str, values: &std::collections::BTreeMap<String, String>| {
        devices.iter().any(|device| {
            let (own, general) = (format!(".{}.", device.name), ".default.");
            name.starts_with("net.")
                && name.contains(&own)
                && values.get(&name.replacen(&own, general, 1)) == values.get(name)
        })
    };
    let dropped: Vec<String> = into.values.keys().filter(|name| usual(name, &into.values)).cloned().collect();
    dropped.iter().for_each(|name| drop(into.values.remove(name)));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn device(name: &str) -> Device {
        Device { role: "both".into(), name: name.into(), mtu: 1500, qdisc: "noqueue".into() }
    }

    #[test]
    fn devices_that_are_not_used_are_left_out_and_so_is_what_a_new_one_has() {
        let root = tempfile::tempdir().unwrap();
        let write = |path: &str, value: &str| {
            let path = root.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, value).unwrap();
        };
        write("net/ipv4/tcp_wmem", "4096\t16384\t4194304\n");
        write("net/ipv4/tcp_fastopen_key", "secret\n");
        write("kernel/sched_rt_runtime_us", "950000\n");
        for (name, accept, filter) in [("default", 1, 0), ("eth0", 1, 2), ("eth1", 5, 5)] {
            write(&format!("net/ipv4/conf/{name}/accept_redirects"), &accept.to_string());
            write(&format!("net/ipv4/conf/{name}/rp_filter"), &filter.to_string());
        }
        let mut reading = Reading::default();
        read(root.path(), &[device("eth0")], &mut reading);
        let settings: Vec<String> =
            reading.values.iter().map(|(name, value)| format!("{name}={value}")).collect();
        assert_eq!(
            settings,
            [
                "kernel.sched_rt_runtime_us=950000",
                "net.ipv4.conf.default.accept_redirects=1",
                "net.ipv4.conf.default.rp_filter=0",
                "net.ipv4.conf.eth0.rp_filter=2",
                "net.ipv4.tcp_wmem=4096 16384 4194304",
            ]
        );
        assert!(reading.missed.is_empty(), "{:?}", reading.missed);
    }
}
