use super::{Staged, Step, Strategy};

/// Writes at a flush, and when `limit` bytes are staged. A caller that forgets to flush
/// waits for an answer to something that was not sent.
#[derive(Clone, Copy, Debug)]
pub struct Batch {
    /// Bytes from which on it writes unasked.
    pub limit: usize,
}

impl Default for Batch {
    fn default() -> Self {
        Self { limit: 64 << 10 }
    }
}

impl Strategy for Batch {
    fn name(&self) -> &'static str {
        "batch"
    }

    fn staged(&mut self, now: Staged) -> Step {
        if now.bytes >= self.limit && !now.in_flight { Step::Write } else { Step::Keep }
    }

    fn leaves_when_waiting(&self) -> bool {
        false
    }
}
