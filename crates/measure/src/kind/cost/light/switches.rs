//! Two threads on one processor that hand each other a byte.

use std::io;

use netfathom_sys::directory::Directory;

use super::thread_pair::round_trips;
use super::{Phase, Work};

pub const PHASE: Phase = Phase {
    name: "switches",
    resource: "context switches between two threads on one CPU",
    unit: "round trips",
    constant_ns: 0,
    prepare,
};

fn prepare(_place: &Directory) -> io::Result<Work> {
    let ((hears, to), (from, answers)) = (io::pipe()?, io::pipe()?);
    round_trips::<1>("light-switches", (to, from), (hears, answers))
}
