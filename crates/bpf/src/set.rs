//! What all sets of programs do alike: loading one, reading its maps, and saying why it does not run.

use std::io;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use libbpf_rs::{Map, MapCore, MapFlags, Object, OpenObject, ProgramMut, RingBufferBuilder};

use crate::load::{self, Cause, Refusal};
use crate::mapping::{Atomics, Mapping, Plain, from_bytes};
use crate::pid_namespace::{self, OWN};
use crate::time_namespace;

pub(crate) struct Set {
    /// As errors call it, such as `the program that delays messages`.
    pub name: &'static str,
    pub object: &'static [u8],
    /// Whether its times are compared with those that this process reads itself; of durations alone it does not matter.
    pub shares_clock: bool,
}

/// Why a set of programs does not run.
#[derive(Debug, thiserror::Error)]
pub enum SetError {
    #[error("cannot {step} {programs}: {source}")]
    Step { programs: &'static str, step: &'static str, source: Refusal },
    #[error("cannot find out the PID namespace of this process from {OWN}: {0}; is /proc mounted?")]
    Namespace(io::Error),
    /// The object is not the one this build was made with.
    #[error("{programs} and this build disagree about {part}")]
    Abi { programs: &'static str, part: &'static str },
}

impl SetError {
    /// What a program at a device needs, where that is missing.
    pub(crate) fn remedy(&self) -> &'static str {
        match self {
            Self::Step { source, .. } if source.is_denied() => {
                "; this needs CAP_BPF, CAP_NET_ADMIN and CAP_PERFMON: run as root"
            }
            _ => "",
        }
    }
}

impl Set {
    pub fn step<E: Into<Refusal>>(&self, step: &'static str) -> impl Fn(E) -> SetError + use<E> {
        let programs = self.name;
        move |source| SetError::Step { programs, step, source: source.into() }
    }

    /// The object is not the one this build was made with.
    pub fn abi(&self, part: &'static str) -> SetError {
        SetError::Abi { programs: self.name, part }
    }

    /// Opens it to load those of its programs that are wanted.
    pub fn open(&self, is_wanted: impl Fn(&str) -> bool) -> Result<OpenObject, SetError> {
        load::open(self.object, is_wanted).map_err(self.step("open"))
    }

    pub fn load(&self, open: OpenObject) -> Result<Object, SetError> {
        if let (true, Some(shift)) = (self.shares_clock, time_namespace::shift()) {
            let source = Cause::TimeNamespace(shift).into();
            return Err(SetError::Step { programs: self.name, step: "load", source });
        }
        load::load(open).map_err(self.step("load"))
    }

    /// Maps its global variables.
    pub fn memory<T: Atomics>(&self, object: &Object) -> Result<Mapping<T>, SetError> {
        let mapping = Mapping::of_globals(object).map_err(libbpf_rs::Error::from);
        mapping.map_err(self.step("map the memory of"))
    }

    /// What each CPU has at a place of a map.
    pub fn per_cpu<T: Plain>(
        &self,
        object: &Object,
        name: &'static str,
        place: u32,
    ) -> Result<Vec<T>, SetError> {
        let values = self.map(object, name)?.lookup_percpu(&place.to_ne_bytes(), MapFlags::ANY);
        let values = values.map_err(self.step("read"))?.ok_or_else(|| self.abi(name))?;
        values.iter().map(|bytes| from_bytes(bytes).ok_or_else(|| self.abi(name))).collect()
    }

    /// What is in a ring, in the order in which it came.
    pub fn take<T>(
        &self,
        object: &Object,
        name: &'static str,
        read: impl Fn(&[u8]) -> Option<T>,
    ) -> Result<Vec<T>, SetError> {
        let mut taken = Vec::new();
        let map = self.map(object, name)?;
        let mut builder = RingBufferBuilder::new();
        let take = |bytes: &[u8]| {
            taken.push(read(bytes));
            0
        };
        builder.add(&map, take).map_err(self.step("read from"))?;
        let ring = builder.build().map_err(self.step("read from"))?;
        ring.consume().map_err(self.step("read from"))?;
        drop(ring);
        taken.into_iter().collect::<Option<_>>().ok_or_else(|| self.abi(name))
    }

    /// Writes what does not change to the programs' constants.
    pub fn configure(&self, open: &mut OpenObject, constants: &[u8]) -> Result<(), SetError> {
        let mut map = open.maps_mut().find(|m| m.name().to_string_lossy().ends_with(".rodata"));
        let value = map.as_mut().and_then(|m| m.initial_value_mut());
        let value = value.filter(|v| v.len() == constants.len()).ok_or_else(|| self.abi("constants"))?;
        value.copy_from_slice(constants);
        Ok(())
    }

    pub fn map<'a>(&self, object: &'a Object, name: &'static str) -> Result<Map<'a>, SetError> {
        object.maps().find(|map| map.name() == name).ok_or_else(|| self.abi(name))
    }

    pub fn program<'a>(&self, object: &'a Object, name: &'static str) -> Result<ProgramMut<'a>, SetError> {
        object.progs_mut().find(|program| program.name() == name).ok_or_else(|| self.abi(name))
    }
}

/// Tells the programs which PID namespace numbers this process.
pub(crate) fn set_namespace(device: &AtomicU64, inode: &AtomicU64) -> Result<(), SetError> {
    let namespace = pid_namespace::own().map_err(SetError::Namespace)?;
    device.store(namespace.device, Relaxed);
    inode.store(namespace.inode, Relaxed);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_disagreement_names_the_programs_and_the_part() {
        let set = Set { name: "the programs that watch sockets", object: &[], shares_clock: false };
        let shown = set.abi("sums").to_string();
        assert_eq!(shown, "the programs that watch sockets and this build disagree about sums");
    }
}
