//! Kernel programs between trials: loading them takes longer than all else that a trial needs to begin.

use netfathom_bpf::SetError;
use netfathom_bpf::stack::{Hooks, StackTap, Target};
use netfathom_model::path::Direction;
use parking_lot::Mutex;

use crate::load::contention::Contention;
use crate::load::flight::Departures;

/// Loaded, and attached to nothing.
#[derive(Default)]
pub struct Programs {
    taps: Mutex<Vec<(Hooks, StackTap)>>,
    contention: Mutex<Option<Contention>>,
}

impl Programs {
    /// Attached, and with nothing of earlier trials.
    pub fn tap(&self, at: Hooks, directions: &[Direction], target: Target) -> Result<StackTap, SetError> {
        let kept = self.taps.lock().extract_if(.., |(hooks, _)| *hooks == at).next();
        // Before Linux 5.13 a program is attached to a function once: what stands in for a hook there is loaded anew.
        let again = kept.and_then(|(_, mut tap)| tap.again(target).is_ok().then_some(tap));
        again.map_or_else(|| StackTap::load(at, directions, target), Ok)
    }

    pub fn keep_tap(&self, at: Hooks, mut tap: StackTap) {
        tap.detach();
        self.taps.lock().push((at, tap));
    }

    /// What sees who has the processors, of a load that is to be observed.
    pub fn contention(&self, departures: Departures<'_>) -> Option<Contention> {
        departures.observed(&mut self.contention.lock())
    }

    pub fn keep_contention(&self, contention: Option<Contention>) {
        if let Some(contention) = contention {
            *self.contention.lock() = Some(contention.rested());
        }
    }
}
