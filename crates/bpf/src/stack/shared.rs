//! The memory that the kernel programs and user space share; the Rust side of `abi.h`.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};

use netfathom_stats::Moments;

use crate::mapping::Atomics;

/// `log2` of the buckets an octave in the kernel's histograms.
pub const GRAIN: u32 = 5;
/// Windows of time over a trial.
pub const WINDOWS: usize = 128;
pub(super) const SLOTS: usize = 16384;
pub(super) const BUCKETS: usize = (40 - GRAIN as usize + 1) << GRAIN;
pub(super) const TX_SPANS: usize = 5;
pub(super) const JOINS: usize = 4;
pub(super) const REASONS: usize = 256;

#[repr(C)]
pub(super) struct TxSlot {
    pub owner: AtomicU64,
    pub sent: AtomicU64,
    pub net_dev_queue: AtomicU64,
    pub qdisc_enqueue: AtomicU64,
    pub qdisc_dequeue: AtomicU64,
    pub net_dev_start_xmit: AtomicU64,
    pub net_dev_xmit: AtomicU64,
    unused: u64,
}

#[repr(C)]
pub(super) struct Idle {
    pub waited: AtomicU64,
    pub slept: AtomicU64,
}

#[repr(C)]
pub(super) struct RxSlot {
    pub owner: AtomicU64,
    pub arrival: AtomicU64,
    pub netif_receive_skb: AtomicU64,
    pub sk_data_ready: AtomicU64,
    pub idle: Idle,
    unused: [u64; 2],
}

#[repr(C)]
pub(super) struct Reception {
    pub number: AtomicU64,
    pub sock_recv_length: AtomicU64,
    pub sched_wakeup: AtomicU64,
    pub sched_switch: AtomicU64,
    pub idle: Idle,
    unused: [u64; 2],
}

#[repr(C)]
pub(super) struct Reader {
    version: AtomicU64,
    since: AtomicU64,
    pub idle: Idle,
    sched_wakeup: AtomicU64,
    sched_switch: AtomicU64,
    state: AtomicU32,
    tid: AtomicU32,
    pub receptions_n: AtomicU64,
}

#[repr(C)]
pub(super) struct Shared {
    pub start_ns: AtomicU64,
    pub reader_cookie: AtomicU64,
    pub flow_be: AtomicU32,
    pub window_shift: AtomicU32,
    unused: [u64; 5],
    pub reader: Reader,
    pub tx: [TxSlot; SLOTS],
    pub rx: [RxSlot; SLOTS],
    pub receptions: [Reception; SLOTS],
}

#[repr(C)]
#[derive(Clone, Copy)]
pub(super) struct KernelMoments {
    n: u64,
    sum: i64,
    sum_sq_low: u64,
    sum_sq_high: u64,
    min: i64,
    max: i64,
}

impl From<&KernelMoments> for Moments {
    fn from(m: &KernelMoments) -> Self {
        if m.n == 0 {
            return Self::default();
        }
        let sum_sq = u128::from(m.sum_sq_high) << 64 | u128::from(m.sum_sq_low);
        Self { n: m.n, sum: m.sum.into(), sum_sq, min: m.min, max: m.max }
    }
}

#[repr(C)]
#[derive(Clone, Copy)]
pub(super) struct TxSums {
    pub buckets: [[u32; BUCKETS]; TX_SPANS],
    pub negative: [u64; TX_SPANS],
}

#[repr(C)]
#[derive(Clone, Copy)]
pub(super) struct TxWindows {
    pub span: [[KernelMoments; WINDOWS]; TX_SPANS],
}

#[repr(C)]
#[derive(Clone, Copy)]
pub(super) struct CpuState {
    tx_owner: u64,
    tx_skb: u64,
    rx_owner: u64,
    pub lost: [u64; JOINS],
    pub drops: [u64; REASONS],
}

/// Reads a value as the kernel wrote it; `None` if the lengths differ.
///
/// Only for the plain `repr(C)` types of integers above, of which every bit pattern is one.
pub(super) fn plain<T: Copy>(bytes: &[u8]) -> Option<T> {
    (bytes.len() >= size_of::<T>()).then(|| {
        // SAFETY: the length was checked, the read may be unaligned, and every bit
        // pattern is a value of the integer-only types that this module passes.
        unsafe { bytes.as_ptr().cast::<T>().read_unaligned() }
    })
}

/// The programs' memory, mapped into this process.
pub(super) type Mapping = crate::mapping::Mapping<Shared>;

// SAFETY: integers and atomics throughout; those that are not atomic are never read.
unsafe impl Atomics for Shared {}

/// A time, or `None` where the hook did not see the message.
pub(super) fn stamp(cell: &AtomicU64) -> Option<u64> {
    Some(cell.load(Relaxed)).filter(|&t| t != 0)
}
