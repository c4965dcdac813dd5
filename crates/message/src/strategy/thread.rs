use super::{Staged, Step, Strategy};

/// Hands each message to the connection's thread, which makes one system call for each: the sending
/// thread of Lichota's library (2002), without its poll(2) before each send. Kept to be compared with.
#[derive(Clone, Copy, Debug, Default)]
pub struct Thread;

impl Strategy for Thread {
    fn name(&self) -> &'static str {
        "thread"
    }

    fn staged(&mut self, _now: Staged) -> Step {
        Step::HandOver
    }

    fn leaves_when_waiting(&self) -> bool {
        false
    }

    fn one_by_one(&self) -> bool {
        true
    }
}
