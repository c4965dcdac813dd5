//! System calls that do next to nothing.

use std::hint::black_box;
use std::io;

use netfathom_sys::directory::Directory;
use netfathom_sys::probe::effective_user;

use super::{Phase, PhaseWork};

pub const PHASE: Phase = Phase {
    name: "calls",
    resource: "system calls that do little: what traces or filters them costs most here",
    unit: "calls",
    constant_ns: 0,
    prepare,
};

fn prepare(_place: &Directory) -> io::Result<Box<dyn PhaseWork>> {
    Ok(Box::new(Calls))
}

struct Calls;

impl PhaseWork for Calls {
    fn run(&mut self, size: u64) -> io::Result<()> {
        for _ in 0..size {
            black_box(effective_user());
        }
        Ok(())
    }
}
