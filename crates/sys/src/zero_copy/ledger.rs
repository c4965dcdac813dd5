//! What became of the bytes of each call.

use std::collections::VecDeque;

use super::Completion;

/// The kernel reported a call that was not made, or reported one twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "the kernel reports that send calls {first} to {last} are complete, but one is not under way; \
     was something else sent through this socket without copying?"
)]
pub struct UnknownCall {
    /// The first of the calls, as the kernel numbers them.
    pub first: u32,
    pub last: u32,
}

#[derive(Clone, Copy, Debug)]
struct Call {
    bytes: usize,
    complete: bool,
}

/// Knows how many bytes each call has sent that is not complete, and sums those that are.
///
/// A buffer for each call, used in turn, may be used again while there are fewer
/// [`Ledger::in_flight`] than buffers, for that counts from the oldest call that is not complete.
/// Memory is for as many calls as are in flight: wait for completions while it is [`Ledger::full`].
#[derive(Clone, Debug, Default)]
pub struct Ledger {
    calls: VecDeque<Call>,
    most: usize,
    /// The number of the first of `calls`.
    oldest: u32,
    in_flight_bytes: u64,
    copied_bytes: u64,
    uncopied_bytes: u64,
}

impl Ledger {
    /// For a socket that has not sent anything without copying yet, and a caller that has at
    /// most `most` calls in flight.
    pub fn new(most: usize) -> Self {
        Self { calls: VecDeque::with_capacity(most), most, ..Self::default() }
    }

    /// Books a call by what it returned; one that sent nothing has no number.
    pub fn sent(&mut self, bytes: usize) {
        if bytes > 0 {
            self.calls.push_back(Call { bytes, complete: false });
            self.in_flight_bytes += bytes as u64;
        }
    }

    /// Books a completion.
    ///
    /// # Errors
    /// If one of the calls is not under way; nothing is booked then.
    pub fn complete(&mut self, done: Completion) -> Result<(), UnknownCall> {
        let unknown = UnknownCall { first: done.first, last: done.last };
        // Numbers wrap, distances do not: fewer than 2^32 calls are under way.
        let start = done.first.wrapping_sub(self.oldest) as usize;
        let more = done.last.wrapping_sub(done.first) as usize;
        let end = start.checked_add(more).and_then(|last| last.checked_add(1)).ok_or(unknown)?;
        if end > self.calls.len() || self.calls.range(start..end).any(|call| call.complete) {
            return Err(unknown);
        }
        let mut bytes = 0;
        for call in self.calls.range_mut(start..end) {
            call.complete = true;
            bytes += call.bytes as u64;
        }
        self.in_flight_bytes -= bytes;
        *(if done.copied { &mut self.copied_bytes } else { &mut self.uncopied_bytes }) += bytes;
        self.forget_oldest();
        Ok(())
    }

    fn forget_oldest(&mut self) {
        while self.calls.front().is_some_and(|call| call.complete) {
            self.calls.pop_front();
            self.oldest = self.oldest.wrapping_add(1);
        }
    }

    /// Calls from the oldest on that is not complete; those behind it that are count too.
    pub fn in_flight(&self) -> usize {
        self.calls.len()
    }

    /// Whether as many are in flight as the caller wants at most.
    pub fn full(&self) -> bool {
        self.calls.len() >= self.most
    }

    /// Bytes of calls that are not complete.
    pub fn in_flight_bytes(&self) -> u64 {
        self.in_flight_bytes
    }

    /// Bytes of complete calls that the kernel copied after all.
    pub fn copied_bytes(&self) -> u64 {
        self.copied_bytes
    }

    /// Bytes of complete calls that it did not copy.
    pub fn uncopied_bytes(&self) -> u64 {
        self.uncopied_bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn done(first: u32, last: u32, copied: bool) -> Completion {
        Completion { first, last, copied }
    }

    /// Copied, uncopied, under way.
    fn sums(ledger: &Ledger) -> (u64, u64, u64) {
        (ledger.copied_bytes(), ledger.uncopied_bytes(), ledger.in_flight_bytes())
    }

    /// Calls of 1, 10, 100, ... bytes, the first of that number.
    fn with_calls(oldest: u32, n: u32) -> Ledger {
        let mut ledger = Ledger { oldest, ..Ledger::new(n as usize) };
        (0..n).for_each(|i| ledger.sent(10_usize.pow(i)));
        ledger
    }

    #[test]
    fn each_call_is_summed_by_its_fate() {
        let mut ledger = with_calls(0, 4);
        assert_eq!((sums(&ledger), ledger.full()), ((0, 0, 1111), true));
        ledger.complete(done(0, 1, true)).unwrap();
        ledger.complete(done(2, 2, false)).unwrap();
        assert_eq!((sums(&ledger), ledger.in_flight(), ledger.full()), ((11, 100, 1000), 1, false));
        ledger.complete(done(3, 3, true)).unwrap();
        assert_eq!((sums(&ledger), ledger.in_flight()), ((1011, 100, 0), 0));
    }

    #[test]
    fn a_call_holds_those_behind_it_in_the_ledger() {
        let mut ledger = with_calls(0, 4);
        ledger.complete(done(2, 3, false)).unwrap();
        assert_eq!((sums(&ledger), ledger.in_flight(), ledger.full()), ((0, 1100, 11), 4, true));
        ledger.complete(done(1, 1, true)).unwrap();
        assert_eq!(ledger.in_flight(), 4);
        ledger.complete(done(0, 0, true)).unwrap();
        assert_eq!((sums(&ledger), ledger.in_flight()), ((11, 1100, 0), 0));
    }

    #[test]
    fn numbers_begin_anew_within_a_range() {
        let mut ledger = with_calls(u32::MAX - 1, 5);
        ledger.complete(done(1, 2, false)).unwrap();
        ledger.complete(done(u32::MAX - 1, 0, true)).unwrap();
        assert_eq!((sums(&ledger), ledger.in_flight()), ((111, 11_000, 0), 0));
        ledger.sent(7);
        ledger.complete(done(3, 3, false)).unwrap();
        assert_eq!(sums(&ledger), (111, 11_007, 0));
    }

    #[test]
    fn calls_that_were_not_made_or_are_complete_are_refused() {
        let mut ledger = with_calls(5, 3);
        ledger.complete(done(6, 6, true)).unwrap();
        for (first, last) in [(4, 4), (4, 5), (5, 6), (6, 6), (7, 8), (8, 8), (7, 6), (5, 4), (0, u32::MAX)] {
            assert_eq!(ledger.complete(done(first, last, true)), Err(UnknownCall { first, last }));
            assert_eq!((sums(&ledger), ledger.in_flight()), ((10, 0, 101), 3));
        }
    }

    #[test]
    fn a_call_that_sent_nothing_has_no_number() {
        let mut ledger = Ledger::new(2);
        ledger.sent(0);
        assert_eq!(ledger.in_flight(), 0);
        ledger.sent(3);
        ledger.complete(done(0, 0, false)).unwrap();
        assert_eq!(sums(&ledger), (0, 3, 0));
    }
}
