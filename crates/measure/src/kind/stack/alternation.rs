//! What the bpf tap adds to the very times that it reports: another tap times the messages of a trial, while the
//! kernel programs are attached and removed alternately.
//!
//! Blocks with the programs (A) and without (B) follow each other as ABBA, so that what drifts over the trial, the
//! rate above all, does so for both. The difference within a round is one value; the rounds give the interval.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use netfathom_bpf::SetError;
use netfathom_bpf::stack::{StackTap, TxResult};
use netfathom_stats::Moments;
use netfathom_sys::clock::monotonic_ns;

use crate::load::error::FlightError;
use crate::load::window::Windows;
use crate::tap::error::TapError;

/// The fewest windows in a block: programs are attached or detached in the first one.
const BLOCK_WINDOWS: u64 = 3;
/// It takes some milliseconds.
const LEAST_BLOCK_NS: u64 = 40_000_000;
/// Blocks of a round: with the programs, twice without, with.
const ROUND: usize = 4;

/// A stretch of time in which the programs were attached all along, or not at all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Block {
    attached: bool,
    from_ns: u64,
    until_ns: u64,
}

/// The programs after their last turn, and the blocks.
type Turns = (StackTap, Vec<Block>);

/// The thread that attaches and takes away; it ends with this.
pub struct Alternation {
    over: Arc<AtomicBool>,
    thread: Option<JoinHandle<Turns>>,
}

impl Alternation {
    /// Begins with the programs attached, as they are loaded.
    pub fn begin(tap: StackTap, windows: Windows) -> Result<Self, TapError> {
        let over = Arc::new(AtomicBool::new(false));
        let seen = Arc::clone(&over);
        let thread = thread::Builder::new().name("alternation".into());
        let thread = thread.spawn(move || alternate(tap, windows, &seen));
        let thread = thread.map_err(|source| FlightError::NoThread { name: "alternation", source })?;
        Ok(Self { over, thread: Some(thread) })
    }

    /// Ends it: the way out as the programs saw it while they were attached, and the blocks.
    pub fn end(mut self) -> Result<(TxResult, Vec<Block>), TapError> {
        self.stop();
        let turns = self.thread.take().and_then(|thread| thread.join().ok());
        let (tap, blocks) =
            turns.ok_or(SetError::Abi { programs: "the kernel programs", part: "their turns" })?;
        Ok((tap.tx_sums()?, blocks))
    }

    fn stop(&self) {
        self.over.store(true, Relaxed);
        self.thread.iter().for_each(|thread| thread.thread().unpark());
    }
}

impl Drop for Alternation {
    fn drop(&mut self) {
        self.stop();
    }
}

fn alternate(mut tap: StackTap, windows: Windows, over: &AtomicBool) -> Turns {
    let window_ns = windows.length_ns();
    let block_ns = BLOCK_WINDOWS.max(LEAST_BLOCK_NS.div_ceil(window_ns)) * window_ns;
    let (mut blocks, mut attached) = (Vec::new(), true);
    while !over.load(Relaxed) {
        let place = blocks.len() % ROUND;
        let wanted = place == 0 || place == ROUND - 1;
        match (wanted, attached) {
            // Before Linux 5.13 a program is attached to a function once: without a round there is no difference.
            (true, false) if tap.attach().is_err() => break,
            (false, true) => tap.detach(),
            _ => {}
        }
        attached = wanted;
        let from_ns = monotonic_ns();
        let end_ns = windows.start_ns + (blocks.len() as u64 + 1) * block_ns;
        while !over.load(Relaxed) && monotonic_ns() < end_ns {
            thread::park_timeout(Duration::from_nanos(end_ns.saturating_sub(monotonic_ns())));
        }
        blocks.push(Block { attached, from_ns, until_ns: monotonic_ns() });
    }
    (tap, blocks)
}

/// What the programs add, round by round, from the times of another tap window by window. A round that lacks the
/// messages of a block has no value.
pub fn differences(blocks: &[Block], windows: Windows, times: &[Moments]) -> Vec<f64> {
    let mean = |block: &Block| within(block, windows, times).mean();
    let of_round = |round: &[Block]| {
        let [first, second, third, last] = round else { return None };
        Some((mean(first)? + mean(last)? - mean(second)? - mean(third)?) / 2.0)
    };
    blocks.chunks_exact(ROUND).filter_map(of_round).collect()
}

/// How far a mean of the other tap lies beyond that of the programs, over the messages that both timed.
pub fn behind(blocks: &[Block], windows: Windows, times: &[Moments], programs: &[Moments]) -> Option<f64> {
    let of = |times: &[Moments]| {
        let mut sum = Moments::default();
        blocks.iter().filter(|b| b.attached).for_each(|b| sum.merge(&within(b, windows, times)));
        sum.mean()
    };
    Some(of(times)? - of(programs)?)
}

/// The times of the windows that lie wholly within a block.
fn within(block: &Block, windows: Windows, times: &[Moments]) -> Moments {
    let window_ns = windows.length_ns();
    let mut sum = Moments::default();
    for (index, moments) in (0..).zip(times) {
        let from_ns = windows.start_ns + index * window_ns;
        if from_ns >= block.from_ns && from_ns + window_ns <= block.until_ns {
            sum.merge(moments);
        }
    }
    sum
}

#[cfg(test)]
mod tests {
    use netfathom_stats::between_trials;

    use super::*;

    const WINDOW_NS: u64 = 1 << 20;

    /// Blocks of three windows; in the first of each the programs change.
    fn blocks(count: u64) -> Vec<Block> {
        let block = |i: u64| Block {
            attached: matches!(i % 4, 0 | 3),
            from_ns: 1000 + 3 * i * WINDOW_NS + WINDOW_NS / 2,
            until_ns: 1000 + 3 * (i + 1) * WINDOW_NS,
        };
        (0..count).map(block).collect()
    }

    /// Times that drift, to which the programs add: in the window in which they change they add anything.
    fn times(count: u64, adds_ns: i64, behind_ns: i64) -> Vec<Moments> {
        let window = |i: u64| {
            let mut moments = Moments::default();
            let added = match (i % 3, blocks(count)[i as usize / 3].attached) {
                (0, _) => 70_000,
                (_, true) => adds_ns,
                (_, false) => 0,
            };
            for k in 0..50 {
                moments.add(1800 + 3 * i as i64 + added + behind_ns + (k * 37 + i as i64 * 11) % 41);
            }
            moments
        };
        (0..3 * count).map(window).collect()
    }

    const WINDOWS: Windows = Windows { start_ns: 1000, shift: 20 };

    #[test]
    fn what_was_added_is_found_beneath_a_drift() {
        let found = differences(&blocks(24), WINDOWS, &times(24, 149, 0));
        assert_eq!(found.len(), 6);
        let estimate = between_trials(&found).unwrap();
        assert!(estimate.holds(149.0) && !estimate.holds(0.0) && estimate.half_width < 10.0, "{estimate:?}");
        let nothing = between_trials(&differences(&blocks(24), WINDOWS, &times(24, 0, 0))).unwrap();
        assert!(nothing.holds(0.0), "{nothing:?}");
    }

    #[test]
    fn a_stamp_behind_the_hook_is_found_on_the_same_messages() {
        let found = behind(&blocks(8), WINDOWS, &times(8, 149, 430), &times(8, 149, 0)).unwrap();
        assert!((found - 430.0).abs() < 1e-6, "{found}");
        assert_eq!(behind(&blocks(8), WINDOWS, &[], &[]), None);
    }

    #[test]
    fn a_round_that_is_not_whole_has_no_value() {
        assert_eq!(differences(&blocks(7), WINDOWS, &times(7, 149, 0)).len(), 1);
        let mut silent = times(8, 149, 0);
        silent[4] = Moments::default();
        silent[5] = Moments::default();
        assert_eq!(differences(&blocks(8), WINDOWS, &silent).len(), 1);
    }
}
