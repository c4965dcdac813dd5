//! What a run with the times of single messages says of all of them.

use netfathom_model::profile::Profile;
use netfathom_model::record::Trial;

/// A message with a higher number is not looked up in the plan, which may have to count up to it.
const MOST_COUNTED: u64 = 10_000_000;

#[derive(Clone, Copy)]
pub struct Sampled<'a> {
    pub trials: &'a [Trial],
    pub size_bytes: usize,
    /// Whether another host sent them: when they were sent is by that host's clock.
    pub from_afar: bool,
    pub(super) profile: &'a Profile,
    pub(super) seed: u64,
}

impl Sampled<'_> {
    /// When a message is to be sent, from the trial's start; 0 where the plan has no such message.
    pub fn due_ns(&self, number: u64) -> i64 {
        if number > MOST_COUNTED {
            return 0;
        }
        let due = self.profile.due_of(self.seed, [number]).pop().flatten();
        due.and_then(|due| i64::try_from(due).ok()).unwrap_or(0)
    }
}
