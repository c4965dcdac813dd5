//! What a benchmark can lack.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::print::Scale;

/// How much of a resource.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Amount {
    /// Of what.
    pub resource: Resource,
    /// In the unit of the resource.
    pub value: f64,
}

/// What a benchmark can be robbed of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Resource {
    /// Its processes were ready to run and others ran: run-queue delay.
    RunQueue,
    /// Its own time on CPUs.
    Cpu,
    /// Of that in user mode, as the kernel divides it: on most kernels by who runs at each tick.
    UserCpu,
    /// Of that in the kernel, likewise.
    SystemCpu,
    /// It waited for block devices.
    BlockDelay,
    /// Soft and hard interrupts, the whole machine, by the tick.
    Interrupts,
    /// The hypervisor ran others, the whole machine, by the tick.
    Steal,
    /// CPUs idle while something waited for a device, the whole machine, by the tick.
    IoWait,
    /// Page faults without input.
    MinorFaults,
    /// Page faults with input.
    MajorFaults,
    /// Bytes read from devices.
    ReadBytes,
    /// It gave a CPU up.
    VoluntarySwitches,
    /// A CPU was taken from it.
    InvoluntarySwitches,
    /// CPU cycles.
    Cycles,
    /// Instructions.
    Instructions,
    /// Misses of the last-level cache.
    CacheMisses,
    /// Some task waited for a CPU (PSI), the whole machine.
    PressureCpu,
    /// Some task waited for memory (PSI), the whole machine.
    PressureMemory,
    /// Some task waited for input or output (PSI), the whole machine.
    PressureIo,
}

named! { Resource:
    RunQueue = "run-queue delay", Cpu = "own CPU time", UserCpu = "own user time",
    SystemCpu = "own system time", BlockDelay = "wait for devices", Interrupts = "interrupts (machine)",
    Steal = "steal (machine)", IoWait = "I/O wait (machine)", MinorFaults = "minor page faults",
    MajorFaults = "major page faults", ReadBytes = "read from devices",
    VoluntarySwitches = "voluntary switches", InvoluntarySwitches = "involuntary switches", Cycles = "cycles",
    Instructions = "instructions", CacheMisses = "cache misses", PressureCpu = "CPU pressure (machine)",
    PressureMemory = "memory pressure (machine)", PressureIo = "I/O pressure (machine)"
}

impl Resource {
    /// What it is counted in, in nanoseconds where that is time.
    pub fn scale(self) -> Scale {
        match self {
            Self::RunQueue
            | Self::Cpu
            | Self::UserCpu
            | Self::SystemCpu
            | Self::BlockDelay
            | Self::Interrupts
            | Self::Steal
            | Self::IoWait
            | Self::PressureCpu
            | Self::PressureMemory
            | Self::PressureIo => Scale::Time,
            Self::ReadBytes => Scale::Bytes,
            Self::MinorFaults
            | Self::MajorFaults
            | Self::VoluntarySwitches
            | Self::InvoluntarySwitches
            | Self::Cycles
            | Self::Instructions
            | Self::CacheMisses => Scale::Count,
        }
    }
}
