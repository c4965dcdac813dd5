use super::{Staged, Step, Strategy};

/// Writes each message in the caller's context; only what would block is left to the connection's
/// thread.
#[derive(Clone, Copy, Debug, Default)]
pub struct Inline;

impl Strategy for Inline {
    fn name(&self) -> &'static str {
        "inline"
    }

    fn staged(&mut self, now: Staged) -> Step {
        if now.in_flight { Step::Keep } else { Step::Write }
    }
}
