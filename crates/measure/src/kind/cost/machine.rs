//! What the whole machine did meanwhile.

use netfathom_model::record::{Amount, Resource};
use netfathom_sys::cpu::{MachineUsage, machine_usage};
use netfathom_sys::pressure::{self, Pressure};

use super::observation::known;

pub struct Machine {
    usage: Option<MachineUsage>,
    pressure: Option<Pressure>,
}

impl Machine {
    /// As they are now; what the kernel does not keep is left out.
    pub fn now() -> Self {
        Self { usage: machine_usage().ok(), pressure: pressure::read().ok() }
    }

    pub fn since(&self, earlier: &Self) -> Vec<Amount> {
        let usage = self.usage.as_ref().zip(earlier.usage.as_ref()).map(|(now, before)| now.since(before));
        let pressure =
            self.pressure.as_ref().zip(earlier.pressure.as_ref()).map(|(now, before)| now.since(before));
        let of_usage = |value: fn(&MachineUsage) -> u64| usage.as_ref().map(value);
        let of_pressure = |value: fn(&Pressure) -> u64| pressure.as_ref().map(value);
        known([
            (Resource::Interrupts, of_usage(|usage| usage.times.irq_ns + usage.times.softirq_ns)),
            (Resource::Steal, of_usage(|usage| usage.times.steal_ns)),
            (Resource::IoWait, of_usage(|usage| usage.iowait_ns)),
            (Resource::PressureCpu, of_pressure(|pressure| pressure.cpu.some_ns)),
            (Resource::PressureMemory, of_pressure(|pressure| pressure.memory.some_ns)),
            (Resource::PressureIo, of_pressure(|pressure| pressure.io.some_ns)),
        ])
    }

    /// Why some of it is not known.
    pub fn absent() -> Vec<String> {
        let usage = machine_usage().err().map(|e| e.to_string());
        usage.into_iter().chain(pressure::read().err().map(|e| e.to_string())).collect()
    }
}
