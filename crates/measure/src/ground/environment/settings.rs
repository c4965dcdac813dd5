//! What can be changed on a machine, read where a measurement takes place.

use std::collections::BTreeMap;
use std::path::Path;

use netfathom_model::environment::{Device, Settings};
use netfathom_sys::sysfs;

use super::reading::Reading;
use super::{device, machine, sysctls};
use crate::ground::lab::{Lab, Role};

/// Reads the settings of the calling thread's namespace, and those of the lab's.
pub fn read(devices: &[Device], lab: Option<&Lab>) -> Settings {
    let own = if lab.is_some() { &[] } else { devices };
    let mut host = of_namespace(own, |name, into| device::read_sysfs(Path::new("/sys"), name, into));
    machine::read(&mut host);
    let mut settings = Settings { not_recorded: host.missed, ..Settings::default() };
    for (role, reading) in lab.map(of_lab).unwrap_or_default() {
        let missed = reading.missed.into_iter().map(|(name, why)| (format!("{role}: {name}"), why));
        settings.not_recorded.extend(missed);
        let other: BTreeMap<String, String> =
            reading.values.into_iter().filter(|(name, value)| host.values.get(name) != Some(value)).collect();
        settings.namespaces.insert(role.to_owned(), other);
    }
    settings.host = host.values;
    settings
}

fn of_lab(lab: &Lab) -> Vec<(&'static str, Reading)> {
    let read = |role: Role| {
        let devices = [lab.device(role)];
        let of_sysfs = |name: &str, into: &mut Reading| {
            let outcome = sysfs::with_own(|sys| device::read_sysfs(sys, name, into));
            if let Err(error) = outcome {
                [".queue.", ".irq."].iter().for_each(|group| into.miss(format!("{name}{group}"), &error));
            }
        };
        let reading = lab.host(role).run(|| of_namespace(&devices, of_sysfs)).unwrap_or_else(|error| {
            let mut none = Reading::default();
            none.miss("", error);
            none
        });
        (role.name(), reading)
    };
    std::thread::scope(|scope| {
        // Each takes some milliseconds.
        let reader = scope.spawn(|| read(Role::Reader));
        let sender = read(Role::Sender);
        [Some(sender), reader.join().ok()].into_iter().flatten().collect()
    })
}

/// What a network namespace has of its own, read by a thread in it.
fn of_namespace(devices: &[Device], of_sysfs: impl Fn(&str, &mut Reading)) -> Reading {
    let mut reading = Reading::default();
    sysctls::read(Path::new("/proc/sys"), devices, &mut reading);
    machine::rules(&mut reading);
    let mut names: Vec<&str> = devices.iter().map(|device| device.name.as_str()).collect();
    names.dedup();
    for name in names {
        device::read(name, &mut reading);
        of_sysfs(name, &mut reading);
    }
    reading
}

#[cfg(test)]
mod tests {
    use std::fs;

    use netfathom_sys::{offload, steer};
    use netfathom_testkit::needs_root;

    use super::*;

    const RESERVED: &str = "/proc/sys/net/ipv4/ip_local_port_range";

    fn devices(lab: &Lab) -> Vec<Device> {
        [Role::Sender, Role::Reader].map(|role| lab.device(role)).to_vec()
    }

    #[test]
    fn what_is_changed_in_one_namespace_of_the_lab_is_recorded_there_and_nowhere_else() {
        needs_root!();
        let lab = Lab::create().unwrap();
        let before = read(&devices(&lab), Some(&lab));
        let change = || {
            fs::write(RESERVED, "20000 30001").unwrap();
            let name = lab.device(Role::Sender).name;
            offload::set_feature(&name, "tx-udp-segmentation", false).unwrap();
            steer::to_processor(&name, Some(0)).unwrap();
        };
        lab.sender.run(change).unwrap();
        let after = read(&devices(&lab), Some(&lab));
        let changed: Vec<(&String, &String)> = after.namespaces["sender"]
            .iter()
            .filter(|(name, value)| before.namespaces["sender"].get(*name) != Some(value))
            .collect();
        let name = |name: &str| name.to_owned();
        assert_eq!(
            changed,
            [
                (&name("net.ipv4.ip_local_port_range"), &name("20000 30001")),
                (&name("veth0.feature.tx-udp-segmentation"), &name("off")),
                (&name("veth0.queue.rps_cpus"), &name("1")),
            ]
        );
        assert_eq!(after.namespaces["reader"], before.namespaces["reader"]);
        assert_eq!((&after.host, &after.not_recorded), (&before.host, &before.not_recorded));
    }

    /// Prints what it takes: `cargo test -p netfathom-measure --lib settings -- --nocapture`.
    #[test]
    fn most_names_are_read_and_the_record_stays_small() {
        let lo = Device { role: "both".into(), name: "lo".into(), mtu: 65536, qdisc: "noqueue".into() };
        let began = std::time::Instant::now();
        let settings = read(&[lo], None);
        let took = began.elapsed();
        let size = serde_json::to_vec(&settings).unwrap().len();
        println!(
            "{} settings, {size} bytes, {took:?}, without {:?}",
            settings.host.len(),
            settings.not_recorded
        );
        for name in ["net.ipv4.tcp_wmem", "net.core.rmem_max", "kernel.command_line", "lo.feature.loopback"] {
            assert!(settings.host.contains_key(name), "{name}");
        }
        let secret =
            |name: &String| ["fastopen_key", "stable_secret", "rss_key"].iter().any(|s| name.ends_with(s));
        assert!(!settings.host.keys().any(secret));
        assert!(size < 64 << 10, "{size}");
    }
}
