//! The machine a record was taken on.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A thread and where it ran.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ThreadPlace {
    /// `sender` or `reader`.
    pub role: String,
    /// The processor it was bound to.
    pub cpu: usize,
}

/// A network device on the path.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Device {
    /// Whose: `sender` or `reader`.
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
    /// The host's own name; `None` of records that do not tell.
    #[serde(default)]
    pub host: Option<String>,
    /// Kernel release and build.
    pub kernel: String,
    /// Processor model.
    pub cpu_model: String,
    /// Processors that may be used.
    pub cpus: usize,
    /// The kernel's clock source.
    pub clocksource: Option<String>,
    /// The frequency governor; virtual machines have none.
    pub governor: Option<String>,
    /// Whether a hypervisor shares the machine.
    pub virtualised: bool,
    /// What one reading of CLOCK_MONOTONIC costs, in nanoseconds.
    pub clock_read_ns: f64,
    /// What CLOCK_REALTIME was ahead of CLOCK_MONOTONIC when the run began; 0 of records that do
    /// not tell.
    #[serde(default)]
    pub realtime_ahead_ns: i64,
    /// Processor vulnerabilities and what the kernel does about them.
    pub mitigations: BTreeMap<String, String>,
    /// Kernel settings that matter here.
    pub sysctls: BTreeMap<String, String>,
    /// The devices on the path.
    pub devices: Vec<Device>,
    /// Where each thread ran.
    pub threads: Vec<ThreadPlace>,
}
