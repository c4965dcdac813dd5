//! What the whole machine did meanwhile.

use netfathom_model::record::{Amount, Resource};
use netfathom_sys::cpu::{MachineUsage, machine_usage};
use netfathom_sys::pressure::{self, Pressure};

pub struct Machine {
    usage: Option<MachineUsage>,
    pressure: Option<Pressure>,
}

impl Machine {
    /// As they are now; what the kernel does not keep is left out.
    pub fn now() -> Self {
        Self { usage: machine_usage().ok(), pressure: pressure::read().ok() }
    }

    /// What was added since an earlier moment.
    pub fn since(&self, earlier: &Self) -> Vec<Amount> {
        let usage = self.usage.as_ref().zip(earlier.usage.as_ref()).map(|(now, before)| now.since(before));
        let pressure =
            self.pressure.as_ref().zip(earlier.pressure.as_ref()).map(|(now, before)| now.since(before));
        let usage = usage.map(|usage| {
            vec![
                (Resource::Interrupts, usage.times.irq_ns + usage.times.softirq_ns),
                (Resource::Steal, usage.times.steal_ns),
                (Resource::IoWait, usage.iowait_ns),
            ]
        });
        let pressure = pressure.map(|pressure| {
            vec![
                (Resource::PressureCpu, pressure.cpu.some_ns),
                (Resource::PressureMemory, pressure.memory.some_ns),
                (Resource::PressureIo, pressure.io.some_ns),
            ]
        });
        let all = usage.into_iter().chain(pressure).flatten();
        all.map(|(resource, value)| Amount { resource, value: value as f64 }).collect()
    }

    /// Why some of it is not known.
    pub fn absent() -> Vec<String> {
        let usage = machine_usage().err().map(|e| e.to_string());
        usage.into_iter().chain(pressure::read().err().map(|e| e.to_string())).collect()
    }
}
