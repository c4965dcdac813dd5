//! The memory that the kernel programs and user space share.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use super::abi::copied::{self, CpuState, SpanWindows};
use super::abi::shared::Shared;

pub const WINDOWS: usize = SpanWindows::N;
pub(super) const SLOTS: usize = Shared::TX;
pub(super) const JOINS: usize = CpuState::LOST;
pub(super) const REASONS: usize = CpuState::DROPS;

crate::sums::moments!(copied::Moments);

/// The programs' memory, mapped into this process.
pub(super) type Mapping = crate::mapping::Mapping<Shared>;

/// A time, or `None` where the hook did not see the message.
pub(super) fn stamp(cell: &AtomicU64) -> Option<u64> {
    Some(cell.load(Relaxed)).filter(|&t| t != 0)
}
