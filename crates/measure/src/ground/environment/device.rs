//! What the devices of the calling thread's network namespace are set to.

use std::io;
use std::path::Path;

use netfathom_sys::device::{self, Driver};
use netfathom_sys::{link, offload};

use super::reading::{Reading, grouped, names, words};

/// Of a whole device, in sysfs.
const FILES: [&str; 4] = ["tx_queue_len", "threaded", "gro_flush_timeout", "napi_defer_hard_irqs"];
/// Of each queue: the folder's beginning, and the file.
const QUEUES: [(&str, &str); 5] = [
    ("rx-", "rps_cpus"),
    ("rx-", "rps_flow_cnt"),
    ("tx-", "xps_cpus"),
    ("tx-", "xps_rxqs"),
    ("tx-", "byte_queue_limits/limit_max"),
];

pub fn read(name: &str, into: &mut Reading) {
    let features = offload::features(name).map_err(|error| error.source);
    let written = |(feature, is_on)| (feature, if is_on { "on" } else { "off" });
    into.keep_all(format!("{name}.feature."), features.map(|all| all.into_iter().map(written)));
    into.keep_all(format!("{name}.ring."), device::rings(name));
    into.keep_all(format!("{name}.coalesce."), device::coalescing(name));
    into.keep_all(format!("{name}.channels."), device::channels(name));
    let driver = device::driver(name).map(|driver| {
        let parts = |d: Driver| [("name", d.name), ("version", d.version), ("firmware", d.firmware)];
        driver.into_iter().flat_map(parts)
    });
    into.keep_all(format!("{name}.driver."), driver);
}

/// Reads what sysfs shows of a device: queues, interrupts, parameters of its driver.
pub fn read_sysfs(sys: &Path, name: &str, into: &mut Reading) {
    let own = sys.join("class/net").join(name);
    if let Err(why) = same_device(&own, name) {
        [".queue.", ".irq."].iter().for_each(|group| into.miss(format!("{name}{group}"), &why));
        return;
    }
    FILES.iter().for_each(|file| into.keep_file(format!("{name}.{file}"), &own.join(file)));
    let queues = names(&own.join("queues"));
    for (kind, file) in QUEUES {
        let of_kind = queues.iter().filter(|queue| queue.starts_with(kind));
        // A device with one queue, or without CONFIG_XPS, refuses to show some of them.
        let values = of_kind.filter_map(|queue| {
            Some((queue.clone(), words(&own.join("queues").join(queue).join(file)).ok()?))
        });
        if let Some(value) = grouped(values) {
            into.put(format!("{name}.queue.{}", file.rsplit('/').next().unwrap_or(file)), value);
        }
    }
    interrupts(&own.join("device"), name, into);
    parameters(&own.join("device/driver/module/parameters"), &format!("{name}.driver.parameter"), into);
}

/// /sys may have been mounted in another network namespace than the thread is in.
fn same_device(own: &Path, name: &str) -> Result<(), String> {
    let index = link::read(name).map_err(|error| error.source.to_string())?.index;
    let shown = words(&own.join("ifindex")).map_err(|error| format!("/sys: {error}"))?;
    if shown == index.to_string() { Ok(()) } else { Err("/sys shows another network namespace".into()) }
}

/// Parameters of a module, as far as they may be read.
pub fn parameters(folder: &Path, prefix: &str, into: &mut Reading) {
    names(folder).iter().for_each(|name| into.keep_file(format!("{prefix}.{name}"), &folder.join(name)));
}

/// Which processors serve each interrupt of a device; those of virtio belong to the device above it.
fn interrupts(device: &Path, name: &str, into: &mut Reading) {
    let folders = [device.join("msi_irqs"), device.join("../msi_irqs")];
    for irq in folders.iter().map(|folder| names(folder)).find(|irqs| !irqs.is_empty()).unwrap_or_default() {
        let called = words(Path::new(&format!("/sys/kernel/irq/{irq}/actions"))).unwrap_or_default();
        let called = if called.is_empty() { irq.clone() } else { called };
        let affinity = words(Path::new(&format!("/proc/irq/{irq}/smp_affinity_list")));
        // One that is allocated and not in use has no file.
        if !matches!(&affinity, Err(error) if error.kind() == io::ErrorKind::NotFound) {
            into.keep(format!("{name}.irq.{called}"), affinity);
        }
    }
}
