//! All system calls of a tree.

use libbpf_rs::{Map, MapCore, MapFlags};

use super::SET;
use super::abi::copied::{Call, CallSum};
use super::shared::{NUMBERS, ORDER};
use crate::mapping::{Plain, from_bytes};
use crate::set::SetError;

/// The system calls of a tree, from its first program on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recorded {
    /// By number, without those that were never made.
    pub calls: Vec<CallTimes>,
    /// The first 65,536 of them, by the order in which their places were taken; with several threads the
    /// times need not quite rise.
    pub first: Vec<Called>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CallTimes {
    /// On this architecture. A number from 511 on counts as 511, which no call has.
    pub number: u32,
    pub count: u64,
    /// Within those that came back, in nanoseconds: exit(2) does not.
    pub total_ns: u64,
}

/// The name of a system call by its number on this architecture.
pub fn call_name(number: u32) -> String {
    let known = syscalls::Sysno::new(number as usize);
    known.map_or_else(|| format!("number {number}"), |call| call.name().into())
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Called {
    /// When it began, by CLOCK_MONOTONIC in nanoseconds.
    pub at_ns: u64,
    pub number: u64,
}

pub(super) fn sums(map: &Map<'_>) -> Result<Vec<CallTimes>, SetError> {
    let mut calls = Vec::new();
    for number in 0..NUMBERS {
        let key = number as u32;
        let cpus = map.lookup_percpu(&key.to_ne_bytes(), MapFlags::ANY).map_err(SET.step("ask"))?;
        let mut sum = CallTimes { number: number as u32, count: 0, total_ns: 0 };
        for cpu in cpus.unwrap_or_default() {
            let of_cpu: CallSum = copy(&cpu)?;
            sum.count += of_cpu.count;
            sum.total_ns += of_cpu.ns;
        }
        calls.extend(Some(sum).filter(|sum| sum.count > 0));
    }
    Ok(calls)
}

pub(super) fn first(map: &Map<'_>, recorded: u64) -> Result<Vec<Called>, SetError> {
    let places = 0..ORDER.min(recorded as usize);
    let called = places.map(|key| {
        let value = map.lookup(&(key as u32).to_ne_bytes(), MapFlags::ANY).map_err(SET.step("ask"))?;
        let Call { at_ns, number } = copy(&value.unwrap_or_default())?;
        Ok(Called { at_ns, number })
    });
    called.collect()
}

pub(super) fn clear(map: &Map<'_>) -> Result<(), SetError> {
    let cpus = libbpf_rs::num_possible_cpus().map_err(SET.step("ask"))?;
    let zeros = vec![vec![0; map.value_size() as usize]; cpus];
    for key in 0..NUMBERS as u32 {
        map.update_percpu(&key.to_ne_bytes(), &zeros, MapFlags::ANY).map_err(SET.step("clear"))?;
    }
    Ok(())
}

fn copy<T: Plain>(bytes: &[u8]) -> Result<T, SetError> {
    from_bytes(bytes).ok_or_else(|| SET.abi("the sums of calls"))
}
