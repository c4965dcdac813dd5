//! What a benchmark can lack.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

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
    /// Its own time on processors.
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
    /// Processors idle while something waited for a device, the whole machine, by the tick.
    IoWait,
    /// Page faults without input.
    MinorFaults,
    /// Page faults with input.
    MajorFaults,
    /// Bytes read from devices.
    ReadBytes,
    /// It gave a processor up.
    VoluntarySwitches,
    /// A processor was taken from it.
    InvoluntarySwitches,
    /// Processor cycles.
    Cycles,
    /// Instructions.
    Instructions,
    /// Misses of the last-level cache.
    CacheMisses,
    /// Some task waited for a processor (PSI), the whole machine.
    PressureCpu,
    /// Some task waited for memory (PSI), the whole machine.
    PressureMemory,
    /// Some task waited for input or output (PSI), the whole machine.
    PressureIo,
}

/// What an amount is counted in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ResourceUnit {
    /// Nanoseconds.
    Time,
    /// Events.
    Count,
    /// Bytes.
    Bytes,
}

impl Resource {
    /// As it is written in tables.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::RunQueue => "run-queue delay",
            Self::Cpu => "own processor time",
            Self::UserCpu => "own user time",
            Self::SystemCpu => "own system time",
            Self::BlockDelay => "wait for devices",
            Self::Interrupts => "interrupts (machine)",
            Self::Steal => "steal (machine)",
            Self::IoWait => "I/O wait (machine)",
            Self::MinorFaults => "minor page faults",
            Self::MajorFaults => "major page faults",
            Self::ReadBytes => "read from devices",
            Self::VoluntarySwitches => "voluntary switches",
            Self::InvoluntarySwitches => "involuntary switches",
            Self::Cycles => "cycles",
            Self::Instructions => "instructions",
            Self::CacheMisses => "cache misses",
            Self::PressureCpu => "CPU pressure (machine)",
            Self::PressureMemory => "memory pressure (machine)",
            Self::PressureIo => "I/O pressure (machine)",
        }
    }

    /// What it is counted in.
    #[must_use]
    pub fn unit(self) -> ResourceUnit {
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
            | Self::PressureIo => ResourceUnit::Time,
            Self::ReadBytes => ResourceUnit::Bytes,
            Self::MinorFaults
            | Self::MajorFaults
            | Self::VoluntarySwitches
            | Self::InvoluntarySwitches
            | Self::Cycles
            | Self::Instructions
            | Self::CacheMisses => ResourceUnit::Count,
        }
    }
}
