//! System calls that do next to nothing.

use std::hint::black_box;
use std::io;

use netfathom_sys::directory::Directory;
use netfathom_sys::probe::effective_user;

use super::{Phase, Work};

pub const PHASE: Phase = Phase {
    name: "calls",
    resource: "system calls that do little: what traces or filters them costs most here",
    unit: "calls",
    constant_ns: 0,
    prepare,
};

fn prepare(_place: &Directory) -> io::Result<Work> {
    Ok(Box::new(|size| {
        for _ in 0..size {
            black_box(effective_user());
        }
        Ok(())
    }))
}
