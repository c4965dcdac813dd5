//! The ring as it lies in memory, version 1. `docs/marks.md` describes it, the header
//! `include/netfathom_mark.h` has the same in C, and a test compares the two.

use std::mem::size_of;
use std::sync::atomic::{AtomicU32, AtomicU64};

/// First in every ring, of every version; also tells the order of bytes.
pub const MAGIC: u64 = u64::from_ne_bytes(*b"nfmarks\0");
/// Changes whenever an older reader or writer would misunderstand.
pub const VERSION: u32 = 1;
/// Bytes of a name that a slot holds.
pub const NAME_BYTES: usize = 38;
/// Slots of the ring that a process makes for itself: 4 MiB; only the used part takes memory.
pub const OWN_SLOTS: u32 = 1 << 16;
/// The fewest that a ring may have.
pub const LEAST_SLOTS: u32 = 1 << 6;
/// The most.
pub const MOST_SLOTS: u32 = 1 << 22;
/// Name of the variable that holds the number of an inherited ring's descriptor.
pub const VARIABLE: &std::ffi::CStr = c"NETFATHOM_MARK_FD";

/// The state of a slot, in the lowest bits of its word. Above them is the lap: how often the ring had
/// wrapped at that time. All-zero memory is a ring with free slots.
pub mod state {
    /// To be taken, in this lap.
    pub const FREE: u64 = 0;
    /// Somebody writes into it.
    pub const WRITING: u64 = 1;
    /// A whole mark.
    pub const WRITTEN: u64 = 2;
    /// The listener has waited long enough for who writes into it, who alone may free it.
    pub const ABANDONED: u64 = 3;
    /// Bits of the state.
    pub const BITS: u32 = 2;

    /// The word of a slot.
    #[inline]
    pub const fn word(lap: u64, state: u64) -> u64 {
        lap << BITS | state
    }

    /// The state in a word.
    #[inline]
    pub const fn of(word: u64) -> u64 {
        word & 3
    }
}

/// The first page. The first 28 bytes have this meaning in every version.
#[repr(C, align(64))]
pub struct Header {
    /// [`MAGIC`]
    pub magic: AtomicU64,
    /// [`VERSION`]
    pub version: AtomicU32,
    /// Bytes before the first slot
    pub header_bytes: AtomicU32,
    /// Bytes of a slot
    pub slot_bytes: AtomicU32,
    /// Slots, a power of two
    pub slots: AtomicU32,
    /// [`NAME_BYTES`]
    pub name_bytes: AtomicU32,
    /// Process that listens, by its own number; 0: none, and nothing is recorded
    pub listener: AtomicU32,
    /// Position that is taken next
    pub head: Line,
    /// Position that the listener reads next
    pub tail: Line,
    /// Marks for which there was no slot
    pub lost: Line,
    reserved: [u64; 480],
}

/// A counter in a cache line of its own: each is written by others.
#[repr(C, align(64))]
pub struct Line {
    /// The counter
    pub value: AtomicU64,
}

/// One mark.
#[repr(C, align(64))]
pub struct Slot {
    /// Lap and [`state`]
    pub word: AtomicU64,
    /// When, CLOCK_MONOTONIC, ns
    pub at_ns: AtomicU64,
    /// Process in the lower half, thread in the upper: as four bytes each, one after the other
    pub owner: AtomicU64,
    /// Bytes of the whole name, two bytes, then its first [`NAME_BYTES`]
    pub name: [AtomicU64; 5],
}

/// A name as it lies in a slot.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct NameParts {
    /// Bytes of the whole name; 65,535: that many or more
    pub length: u16,
    /// The first of them
    pub bytes: [u8; NAME_BYTES],
}

/// Bytes before the first slot.
pub const HEADER_BYTES: usize = size_of::<Header>();
/// Bytes of a slot.
pub const SLOT_BYTES: usize = size_of::<Slot>();

/// Bytes of a ring.
pub const fn ring_bytes(slots: u32) -> usize {
    HEADER_BYTES + slots as usize * SLOT_BYTES
}

/// Whether a ring may have that many slots.
pub const fn is_usable(slots: u32) -> bool {
    slots.is_power_of_two() && LEAST_SLOTS <= slots && slots <= MOST_SLOTS
}

const _: () = assert!(HEADER_BYTES == 4096 && SLOT_BYTES == 64 && size_of::<NameParts>() == 40);
const _: () = assert!(ring_bytes(OWN_SLOTS) == 4096 + (4 << 20));
