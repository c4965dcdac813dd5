//! What is to be a mark.

use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt;
use std::sync::atomic::Ordering::Relaxed;

use libbpf_rs::{Map, MapCore, MapFlags};

use super::abi::copied::CallKey;
use super::abi::shared::Shared;
#[cfg(target_arch = "x86_64")]
use super::shared::OPENS_ARGUMENT_0;
use super::shared::{COUNTED, MOST_MARKS, NUMBERS, OPENS_ARGUMENT_1};
use super::{SET, TreeError};
use crate::mapping::as_bytes;
use crate::set::SetError;

const ENTER: &str = "mark_enter";
const RETURN: &str = "mark_return";
pub(super) const SWITCH: &str = "on_switch";
pub(super) const RECORD: &str = "record_enter";
const RECORD_RETURN: &str = "record_return";

/// The calls that open a file, and which argument is its path.
const OPENS: &[(libc::c_long, u64)] = &[
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_open, OPENS_ARGUMENT_0),
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_creat, OPENS_ARGUMENT_0),
    (libc::SYS_openat, OPENS_ARGUMENT_1),
    (libc::SYS_openat2, OPENS_ARGUMENT_1),
];

/// What is watched at the benchmark's system calls; nothing by default.
#[derive(Clone, Debug, Default)]
pub struct Watching {
    /// Names of files, without folders, each once; at most 64. Files that io_uring opens are not seen.
    pub opens: Vec<OsString>,
    /// Numbers of system calls below 511, and for how manieth time; at most 64, each pair once.
    pub calls: Vec<(u32, u64)>,
    /// Whether it can be asked who had the processors that its threads waited for ([`super::Tree::follow_waits`]). Needs
    /// CONFIG_SCHED_INFO and CONFIG_FAIR_GROUP_SCHED.
    pub waits: bool,
    /// Whether all calls are counted and timed, and their order is kept.
    pub record_calls: bool,
}

impl Watching {
    pub(super) fn check(&self) -> Result<(), TreeError> {
        let refuse = |why: String| Err(TreeError::Mark(why));
        if self.opens.len() > MOST_MARKS || self.calls.len() > MOST_MARKS {
            return refuse(format!("more than {MOST_MARKS} marks of a kind; leave some out"));
        }
        if let Some(name) = self.opens.iter().find(|name| name.is_empty() || name.as_bytes().contains(&b'/'))
        {
            return refuse(format!("{} is not the name of a file without its folder", name.display()));
        }
        let wrong = self.calls.iter().find(|&&(number, k)| number as usize >= NUMBERS - 1 || k == 0);
        if let Some((number, k)) = wrong {
            return refuse(format!("system call {number} for the time number {k} cannot be a mark"));
        }
        Ok(())
    }

    /// The programs at system calls that it takes.
    pub(super) fn programs(&self) -> Vec<&'static str> {
        let marks = !self.opens.is_empty() || !self.calls.is_empty();
        let chosen = [
            (ENTER, marks),
            (RETURN, !self.opens.is_empty()),
            (RECORD, self.record_calls),
            (RECORD_RETURN, self.record_calls),
        ];
        chosen.into_iter().filter(|&(_, wanted)| wanted).map(|(name, _)| name).collect()
    }

    pub(super) fn fill(&self, shared: &Shared, names: &Map<'_>, calls: &Map<'_>) -> Result<(), SetError> {
        let add = |map: &Map<'_>, key: &[u8], which: u32| {
            map.update(key, &which.to_ne_bytes(), MapFlags::NO_EXIST)
                .map_err(SET.step("tell a mark twice to"))
        };
        for (name, which) in self.opens.iter().zip(0..) {
            add(names, &fnv(name.as_bytes()).to_ne_bytes(), which)?;
        }
        for (&(number, k), which) in self.calls.iter().zip(0..) {
            add(calls, as_bytes(&CallKey { number: number.into(), k }), which)?;
            shared.watched[number as usize].fetch_or(COUNTED, Relaxed);
        }
        if !self.opens.is_empty() {
            for &(number, argument) in OPENS {
                shared.watched[number as usize].fetch_or(argument, Relaxed);
            }
        }
        Ok(())
    }
}

/// FNV-1a of 64 bits, as in marks.h. Two names of one hash are taken for each other, which the
/// path tells apart.
fn fnv(bytes: &[u8]) -> u64 {
    bytes
        .iter()
        .fold(0xcbf2_9ce4_8422_2325, |hash, &byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}
