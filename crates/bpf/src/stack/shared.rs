//! The memory that the kernel programs and user space share.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use netfathom_stats::Moments;

use super::abi::copied::{self, CpuState, TxSums};
use super::abi::shared::Shared;

/// `log2` of the buckets an octave in the kernel's histograms.
pub const GRAIN: u32 = 5;
pub const WINDOWS: usize = 128;
pub(super) const SLOTS: usize = Shared::TX;
/// Of the kernel's histograms.
pub(super) const BUCKETS: usize = (40 - GRAIN as usize + 1) << GRAIN;
pub(super) const TX_SPANS: usize = TxSums::BUCKETS;
pub(super) const JOINS: usize = CpuState::LOST;
pub(super) const REASONS: usize = CpuState::DROPS;

impl From<&copied::Moments> for Moments {
    fn from(m: &copied::Moments) -> Self {
        if m.n == 0 {
            return Self::default();
        }
        let sum_sq = u128::from(m.sum_sq_high) << 64 | u128::from(m.sum_sq_low);
        Self { n: m.n, sum: m.sum.into(), sum_sq, min: m.min, max: m.max }
    }
}

/// The programs' memory, mapped into this process.
pub(super) type Mapping = crate::mapping::Mapping<Shared>;

/// A time, or `None` where the hook did not see the message.
pub(super) fn stamp(cell: &AtomicU64) -> Option<u64> {
    Some(cell.load(Relaxed)).filter(|&t| t != 0)
}
