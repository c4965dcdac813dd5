use std::time::{Duration, Instant};

use super::{Cause, Staged, Step, Strategy};

/// Writes at once while messages come singly, and together when they come faster than it pays to
/// write them singly.
///
/// A write to a stream socket returns when the bytes are copied, so whether the one before is still
/// in flight is not seen from its return. It counts as in flight while another thread makes it or
/// the socket takes no more, and, for a caller alone, for `near` after it has returned. `few` messages in a row
/// that each find the one before in flight make a burst; from then on messages are staged. They
/// leave together when `limit` bytes or `many` are staged, when the write before is done, when the caller
/// is about to wait, and `late` after the first of them.
#[derive(Clone, Debug)]
pub struct Adaptive {
    /// Bytes from which on a batch leaves.
    pub limit: usize,
    /// Messages from which on a batch leaves: it is full before the first of them is late.
    pub many: u32,
    /// Bytes from which on a message is not worth staging: it leaves at once, and what is staged
    /// with it.
    pub long: usize,
    /// The longest a message waits for its neighbours.
    pub late: Duration,
    /// How long a write counts as in flight after it has returned.
    pub near: Duration,
    /// Messages in a row, each within `near` of the one before, that make a burst.
    pub few: u32,
    row: u32,
    burst: bool,
    last: Option<Instant>,
    /// Bytes staged when the clock was looked at last.
    looked: usize,
}

impl Default for Adaptive {
    fn default() -> Self {
        Self {
            limit: 64 << 10,
            many: 2048,
            long: 8 << 10,
            late: Duration::from_micros(50),
            near: Duration::from_micros(3),
            few: 4,
            row: 0,
            burst: false,
            last: None,
            looked: 0,
        }
    }
}

impl Adaptive {
    /// What to do with a message, by a clock that is looked at only where it matters.
    #[inline]
    fn decide(&mut self, now: Staged, clock: impl FnOnce() -> Instant) -> Step {
        let full = now.bytes >= self.limit || now.messages >= self.many || now.length >= self.long;
        if full && !now.in_flight {
            Step::Write
        } else if now.messages == 1 {
            if now.waited && !now.in_flight && !self.burst {
                (self.row, self.last) = (0, None);
                return Step::Write;
            }
            self.first(clock(), now.in_flight)
        } else if now.in_flight || (!now.messages.is_multiple_of(64) && now.bytes < self.looked + 4096) {
            Step::Keep
        } else {
            self.later(clock(), now.bytes)
        }
    }

    /// The first message of a batch: the only one that costs a look at the clock.
    fn first(&mut self, now: Instant, in_flight: bool) -> Step {
        let gap = self.last.map_or(Duration::MAX, |last| now.saturating_duration_since(last));
        self.last = Some(now);
        self.looked = 0;
        if self.burst && gap > 4 * self.late {
            self.leave_burst();
        }
        if in_flight {
            return Step::Until(now + self.late);
        }
        if !self.burst {
            self.row = if gap <= self.near { self.row + 1 } else { 0 };
            self.burst = self.row >= self.few;
        }
        if self.burst { Step::Until(now + self.late) } else { Step::Write }
    }

    /// A caller that is busy sending writes by itself well before the deadline, so that the
    /// connection's thread need not take the processor from it, or the write.
    fn later(&mut self, now: Instant, bytes: usize) -> Step {
        self.looked = bytes;
        let waited = self.last.map_or(Duration::ZERO, |last| now.saturating_duration_since(last));
        if waited > self.late / 2 { Step::Write } else { Step::Keep }
    }

    fn leave_burst(&mut self) {
        self.burst = false;
        self.row = 0;
    }
}

impl Strategy for Adaptive {
    fn name(&self) -> &'static str {
        "adaptive"
    }

    #[inline]
    fn staged(&mut self, now: Staged) -> Step {
        self.decide(now, Instant::now)
    }

    /// The duration of the write shows nothing about the caller. In a burst it is not needed, and a caller that
    /// waits between its messages is known without a clock.
    fn written(&mut self) {
        if !self.burst && self.last.is_some() {
            self.last = Some(Instant::now());
        }
    }

    /// A batch that gathered little before its time was not worth waiting for.
    fn writing(&mut self, messages: u32, cause: Cause) {
        let alone = matches!(cause, Cause::Deadline | Cause::Waiting);
        if self.burst && alone && messages < 4 * self.few {
            self.leave_burst();
        }
    }
}
#[cfg(test)]
mod tests {
    use super::*;

    const ONE: Staged = Staged { length: 4, bytes: 8, messages: 1, in_flight: false, waited: false };

    /// The steps for single messages that come `gap` apart.
    fn steps(strategy: &mut Adaptive, from: Instant, gap: Duration, count: u32) -> Vec<bool> {
        (0..count).map(|n| strategy.first(from + gap * n, false) == Step::Write).collect()
    }

    #[test]
    fn messages_far_apart_are_written_at_once() {
        let mut strategy = Adaptive::default();
        assert!(!steps(&mut strategy, Instant::now(), Duration::from_micros(10), 100).contains(&false));
    }

    #[test]
    fn the_fifth_near_message_begins_a_burst_and_a_pause_ends_it() {
        let mut strategy = Adaptive::default();
        let begin = Instant::now();
        let near = Duration::from_micros(1);
        assert_eq!(steps(&mut strategy, begin, near, 6), [true, true, true, true, false, false]);
        assert!(strategy.first(begin + Duration::from_millis(1), false) == Step::Write);
    }

    #[test]
    fn slow_writes_hide_no_burst() {
        let mut strategy = Adaptive { near: Duration::from_millis(100), ..Adaptive::default() };
        let mut now = Instant::now();
        assert_eq!(strategy.first(now, false), Step::Write);
        for _ in 0..4 {
            // Each write takes longer than what counts as near, the caller nothing.
            std::thread::sleep(Duration::from_millis(120));
            strategy.written();
            now = strategy.last.unwrap();
            strategy.first(now, false);
        }
        assert!(strategy.burst);
    }

    #[test]
    fn a_batch_of_few_ends_the_burst_and_a_full_one_goes_on() {
        let mut strategy = Adaptive { burst: true, ..Adaptive::default() };
        strategy.writing(2000, Cause::Deadline);
        strategy.writing(2, Cause::Asked);
        assert!(strategy.burst);
        strategy.writing(2, Cause::Deadline);
        assert!(!strategy.burst);
    }

    #[test]
    fn a_full_stage_is_written_unless_a_write_is_under_way() {
        let mut strategy = Adaptive::default();
        let full = Staged { bytes: 70_000, messages: 2000, ..ONE };
        assert_eq!(strategy.staged(full), Step::Write);
        assert_eq!(strategy.staged(Staged { in_flight: true, ..full }), Step::Keep);
        assert_eq!(strategy.staged(Staged { messages: 2048, ..ONE }), Step::Write);
        assert_eq!(strategy.staged(Staged { length: 9000, messages: 2, ..ONE }), Step::Write);
    }

    #[test]
    fn a_busy_caller_writes_before_the_deadline_by_itself() {
        let begin = Instant::now();
        let mut strategy = Adaptive { burst: true, last: Some(begin), ..Adaptive::default() };
        assert!(matches!(strategy.first(begin, false), Step::Until(_)));
        assert_eq!(strategy.later(begin + Duration::from_micros(20), 5000), Step::Keep);
        assert_eq!(strategy.later(begin + Duration::from_micros(30), 10_000), Step::Write);
    }

    #[test]
    fn who_waited_before_is_in_no_burst_but_ends_none_either() {
        let mut strategy = Adaptive { row: 4, last: Some(Instant::now()), ..Adaptive::default() };
        assert_eq!(strategy.staged(Staged { waited: true, ..ONE }), Step::Write);
        assert_eq!((strategy.row, strategy.last), (0, None));
        let step = strategy.staged(Staged { waited: true, in_flight: true, ..ONE });
        assert!(matches!(step, Step::Until(_)), "{step:?}");
        let mut strategy = Adaptive { burst: true, last: Some(Instant::now()), ..Adaptive::default() };
        assert!(matches!(strategy.staged(Staged { waited: true, ..ONE }), Step::Until(_)));
    }

    /// Messages at moments of a clock of the test's own, through the strategy and what a connection
    /// makes of its answers: gives how long each was staged.
    fn staged_for(gaps: impl Iterator<Item = Duration>) -> Vec<Duration> {
        let mut strategy = Adaptive::default();
        let (mut now, mut waits) = (Instant::now(), Vec::new());
        let (mut staged, mut deadline) = (Vec::new(), None);
        for gap in gaps {
            now += gap;
            if let Some(moment) = deadline.take_if(|moment| *moment <= now) {
                strategy.writing(staged.len() as u32, Cause::Deadline);
                waits.extend(staged.drain(..).map(|since| moment - since));
            }
            staged.push(now);
            let messages = staged.len() as u32;
            let step = strategy.decide(Staged { bytes: staged.len() * 8, messages, ..ONE }, || now);
            match step {
                Step::Write => {
                    deadline = None;
                    strategy.writing(messages, Cause::Asked);
                    waits.extend(staged.drain(..).map(|since| now - since));
                    if !strategy.burst && strategy.last.is_some() {
                        now += Duration::from_micros(2);
                        strategy.last = Some(now);
                    }
                }
                Step::Until(moment) => deadline = Some(deadline.map_or(moment, |before| moment.min(before))),
                Step::Keep => assert!(deadline.is_some(), "no step will send a staged message"),
                Step::HandOver => panic!("adaptive hands nothing over"),
            }
        }
        waits
    }

    #[test]
    fn no_message_is_staged_for_longer_than_was_promised() {
        let mut seed = 1_u64;
        let gaps = (0..200_000).map(|_| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            // From 1 ns to 0.5 ms, all magnitudes alike, and each for a while.
            Duration::from_nanos((seed >> 45) >> (seed >> 32 & 15))
        });
        let waits = staged_for(gaps.flat_map(|gap| [gap; 12]));
        let most = waits.iter().max().unwrap();
        assert!(*most <= Adaptive::default().late, "{most:?}");
        assert!(waits.iter().any(|wait| *wait > Duration::from_micros(20)), "none was staged at all");
    }

    #[test]
    fn at_low_rates_and_in_twos_and_threes_all_leave_at_once() {
        for (gap, few) in [(1000, 1), (1000, 2), (1000, 3), (50, 1), (100, 2), (150, 3)] {
            let gaps = (0..10_000).map(|number| match number % few {
                0 => Duration::from_micros(gap),
                _ => Duration::from_nanos(100),
            });
            assert!(staged_for(gaps).iter().all(Duration::is_zero), "{few} every {gap} us");
        }
    }

    #[test]
    fn behind_a_write_even_the_first_waits() {
        let mut strategy = Adaptive::default();
        let step = strategy.staged(Staged { in_flight: true, ..ONE });
        assert!(matches!(step, Step::Until(_)), "{step:?}");
    }
}
