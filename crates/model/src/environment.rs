//! The machine a record was taken on.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A thread and where it ran.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ThreadPlace {
    /// `sender` or `reader`.
    pub role: String,
    /// The CPU it was bound to.
    pub cpu: usize,
}

/// A network device on the path.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Device {
    /// The end that it belongs to: `sender` or `reader`.
    pub role: String,
    /// Its name, such as `veth0` or `lo`.
    pub name: String,
    /// Largest packet.
    pub mtu: u32,
    /// The queueing discipline, such as `noqueue`.
    pub qdisc: String,
}

/// The machine a record was taken on. What could not be read is missing, not guessed.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Environment {
    /// The host's own name, where the kernel shows it.
    pub host: Option<String>,
    /// Kernel release and build.
    pub kernel: String,
    /// CPU model.
    pub cpu_model: String,
    /// CPUs that may be used.
    pub cpus: usize,
    /// The kernel's clock source.
    pub clocksource: Option<String>,
    /// The frequency governor; virtual machines have none.
    pub governor: Option<String>,
    /// Whether a hypervisor shares the machine.
    pub virtualised: bool,
    /// What one reading of CLOCK_MONOTONIC costs, in nanoseconds.
    pub clock_read_ns: f64,
    /// What CLOCK_REALTIME was ahead of CLOCK_MONOTONIC when the run began.
    pub realtime_ahead_ns: i64,
    /// CPU vulnerabilities and what the kernel does about them.
    pub mitigations: BTreeMap<String, String>,
    /// The devices on the path.
    pub devices: Vec<Device>,
    /// Where each thread ran.
    pub threads: Vec<ThreadPlace>,
    /// What can be changed on a machine.
    pub settings: Settings,
}

/// What can be changed on a machine, as it stood once the run had set itself up: values by their names.
///
/// | name | is |
/// |---|---|
/// | `net.ipv4.tcp_wmem` | a sysctl; those of one device only where they differ from those of `default` |
/// | `eth0.feature.tx-udp-segmentation` | of a device, as ethtool calls it; also `ring`, `coalesce`, `channels`, `driver`, `queue`, `irq` |
/// | `cpu.governor`, `cpuidle.disabled`, `cpuidle.exit_latency_us` (of the deepest enabled state) | of CPUs: one value, or values with the CPUs that have them |
/// | `cgroup.cpu.max` | limits of the control group, the nearest first |
/// | `nftables.rules`, `iptables.rules` | how many packets may pass |
/// | `kernel.command_line`, `module.tcp_cubic.hystart` | what the kernel and its modules were started with |
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Settings {
    /// Of the machine, and of the network namespace that netfathom was started in.
    pub host: BTreeMap<String, String>,
    /// Of the network namespace of an end, by its role, where that is another one: what does not have the host's
    /// value there.
    pub namespaces: BTreeMap<String, BTreeMap<String, String>>,
    /// What could not be read, by its name or by the beginning of all its names, and why. Names of namespaces have
    /// the role before them, such as `sender: nftables`.
    pub not_recorded: BTreeMap<String, String>,
}
