//! Arithmetic of integers that never leaves the registers.

use std::hint::black_box;
use std::io;

use netfathom_sys::directory::Directory;

use super::{Phase, Work};

const STEPS: u64 = 1_000;

pub const PHASE: Phase = Phase {
    name: "cpu",
    resource: "arithmetic: CPU time, clock frequency, sibling threads",
    unit: "thousand steps",
    constant_ns: 0,
    prepare,
};

fn prepare(_place: &Directory) -> io::Result<Work> {
    let mut state = 1;
    Ok(Box::new(move |size| {
        for _ in 0..size {
            state = black_box(thousand_steps(state));
        }
        Ok(())
    }))
}

/// A chain in which each step waits for the one before (xorshift64, Marsaglia 2003); not from 0.
pub fn thousand_steps(mut state: u64) -> u64 {
    for _ in 0..STEPS {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
    }
    state
}
