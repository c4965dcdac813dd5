//! A ring of marks in shared memory: who writes into it, in many threads and processes at once.
//!
//! A writer takes the slot at the head by changing its word from free to being written, moves the
//! head on (or another writer does that finds the slot taken), fills the slot and marks it as written in
//! its word. So a claimed position always has an owner: a writer that is interrupted or
//! killed in between holds one slot, which the listener abandons after a while.

use std::ffi::{c_int, c_void};
use std::ptr::{self, NonNull};
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};

use crate::layout::{
    HEADER_BYTES, Header, MAGIC, NAME_BYTES, NameParts, SLOT_BYTES, Slot, VERSION, is_usable, ring_bytes,
    state,
};
use crate::os;

/// How often a writer tries before it gives its mark up: each time it is others who got on.
const TRIES: u32 = 10_000;

/// The fields of a mark.
#[derive(Clone, Copy)]
pub struct MarkFields<'a> {
    /// As the program wrote it.
    pub name: &'a [u8],
    /// CLOCK_MONOTONIC, ns.
    pub at_ns: u64,
    /// Who.
    pub process: u32,
    /// Who.
    pub thread: u32,
}

/// A mapped ring.
#[derive(Clone, Copy)]
pub struct Ring<'m> {
    pub header: &'m Header,
    slots: &'m [Slot],
}

/// Why a file is no ring that can be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unusable {
    /// No ring at all, or one that is not whole.
    NoRing,
    /// A ring of this other version.
    Version(u32),
}

/// Slots of the ring in a file, if it is one that may be mapped and used without fear of its end.
pub fn examine(fd: c_int) -> Result<u32, Unusable> {
    let mut start = [0; 28];
    if !os::is_steady_memory(fd) || !os::read_at(fd, &mut start, 0) {
        return Err(Unusable::NoRing);
    }
    let number = |at: usize| u32::from_ne_bytes(start[at..at + 4].try_into().unwrap_or_default());
    if start[..8] != MAGIC.to_ne_bytes() {
        return Err(Unusable::NoRing);
    }
    if number(8) != VERSION {
        return Err(Unusable::Version(number(8)));
    }
    let sizes = [number(12), number(16), number(24)];
    let slots = number(20);
    if sizes != [HEADER_BYTES as u32, SLOT_BYTES as u32, NAME_BYTES as u32] || !is_usable(slots) {
        return Err(Unusable::NoRing);
    }
    let reaches = os::read_at(fd, &mut [0], ring_bytes(slots) as u64 - 1);
    if reaches { Ok(slots) } else { Err(Unusable::NoRing) }
}

impl<'m> Ring<'m> {
    /// A new one: its descriptor, which execve(2) closes, and where it is mapped.
    pub fn create(slots: u32) -> Option<(c_int, NonNull<c_void>)> {
        let fd = os::memory(ring_bytes(slots) as u64)?;
        let Some(base) = os::map(fd, ring_bytes(slots)) else {
            os::close(fd);
            return None;
        };
        // SAFETY: just mapped with that many slots, and never unmapped here.
        let header = unsafe { Ring::at(base, slots) }.header;
        header.version.store(VERSION, Relaxed);
        header.header_bytes.store(HEADER_BYTES as u32, Relaxed);
        header.slot_bytes.store(SLOT_BYTES as u32, Relaxed);
        header.slots.store(slots, Relaxed);
        header.name_bytes.store(NAME_BYTES as u32, Relaxed);
        // Last: a ring without it is none yet.
        header.magic.store(MAGIC, Release);
        Some((fd, base))
    }

    /// The ring that is mapped there.
    ///
    /// # Safety
    /// [`ring_bytes`] of a number of slots that [`is_usable`] are mapped there, from a file that
    /// cannot shrink, for as long as `'m`.
    pub unsafe fn at(base: NonNull<c_void>, slots: u32) -> Self {
        // SAFETY: mapped for 'm and aligned to a page; each field is an atomic, which others may
        // change at any time and in which every value is valid.
        let header = unsafe { base.cast::<Header>().as_ref() };
        // SAFETY: as above; the slots follow the header and are that many.
        let slots = unsafe {
            let first = base.cast::<u8>().add(HEADER_BYTES).cast::<Slot>();
            std::slice::from_raw_parts(first.as_ptr(), slots as usize)
        };
        Self { header, slots }
    }

    /// How many there are.
    #[inline]
    pub fn slots(&self) -> u64 {
        self.slots.len() as u64
    }

    /// The slot of a position.
    #[inline]
    pub fn slot(&self, position: u64) -> &'m Slot {
        &self.slots[position as usize & (self.slots.len() - 1)]
    }

    /// How often the ring has gone round before a position.
    #[inline]
    pub fn lap(&self, position: u64) -> u64 {
        position >> self.slots.len().trailing_zeros()
    }

    /// Records a mark, or counts it as lost if there is no free slot.
    #[inline]
    pub fn record(&self, fields: &MarkFields<'_>) {
        match self.take() {
            Some((slot, lap)) => {
                slot.fill(fields);
                slot.commit(lap);
            }
            None => self.lose(1),
        }
    }

    /// Counts lost marks; only their number is known.
    #[cold]
    pub fn lose(&self, marks: u64) {
        self.header.lost.value.fetch_add(marks, Relaxed);
    }

    /// The slot at the head, now being written, and its lap. `None` if the ring is full.
    #[inline]
    pub fn take(&self) -> Option<(&'m Slot, u64)> {
        for _ in 0..TRIES {
            let position = self.header.head.value.load(Acquire);
            let (slot, lap) = (self.slot(position), self.lap(position));
            let free = state::word(lap, state::FREE);
            let writing = state::word(lap, state::WRITING);
            let word = slot.word.load(Acquire);
            if word == free {
                if slot.word.compare_exchange(free, writing, Acquire, Relaxed).is_ok() {
                    self.advance(position);
                    prefetch(self.slot(position.wrapping_add(1)));
                    return Some((slot, lap));
                }
            } else if word > free || self.may_be_passed(position, word) {
                self.advance(position);
            } else if self.header.head.value.load(Relaxed) == position {
                return None;
            }
        }
        None
    }

    /// Whether the slot at the head holds nothing that the listener has yet to read, though it is
    /// of an earlier lap: one that was abandoned.
    #[cold]
    fn may_be_passed(&self, position: u64, word: u64) -> bool {
        let abandoned = matches!(state::of(word), state::FREE | state::ABANDONED);
        abandoned && position.wrapping_sub(self.header.tail.value.load(Acquire)) < self.slots()
    }

    /// Moves the head on from a position that is taken or passed, unless another has done so.
    #[inline]
    fn advance(&self, position: u64) {
        let _ = self.header.head.value.compare_exchange(position, position.wrapping_add(1), AcqRel, Relaxed);
    }
}

impl Slot {
    /// Writes the fields of a mark.
    #[inline]
    fn fill(&self, fields: &MarkFields<'_>) {
        self.at_ns.store(fields.at_ns, Relaxed);
        let [p, t] = [fields.process.to_ne_bytes(), fields.thread.to_ne_bytes()];
        let owner = [p[0], p[1], p[2], p[3], t[0], t[1], t[2], t[3]];
        self.owner.store(u64::from_ne_bytes(owner), Relaxed);
        let length = u16::try_from(fields.name.len()).unwrap_or(u16::MAX);
        let mut parts = NameParts { length, bytes: [0; NAME_BYTES] };
        let kept = fields.name.len().min(NAME_BYTES);
        // SAFETY: `kept` is at most the length of either, and they do not overlap. Not by slices:
        // their checks cost as much as the copy.
        unsafe { ptr::copy_nonoverlapping(fields.name.as_ptr(), parts.bytes.as_mut_ptr(), kept) };
        // SAFETY: both are 40 bytes without gaps, in which every value is valid.
        let words: [u64; 5] = unsafe { std::mem::transmute(parts) };
        for (to, word) in self.name.iter().zip(words) {
            to.store(word, Relaxed);
        }
    }

    /// Says that the mark is whole, or gives the slot back if the listener waits no longer: it has
    /// counted the mark as lost.
    #[inline]
    pub fn commit(&self, lap: u64) {
        let [free, writing, written, abandoned] =
            [state::FREE, state::WRITING, state::WRITTEN, state::ABANDONED].map(|s| state::word(lap, s));
        if self.word.compare_exchange(writing, written, Release, Relaxed).is_err() {
            let _ = self.word.compare_exchange(abandoned, free, Release, Relaxed);
        }
    }

    /// Time, process and thread of the mark, and its name.
    pub fn fields(&self) -> (u64, [u32; 2], NameParts) {
        let owner = self.owner.load(Relaxed).to_ne_bytes();
        let number = |at: usize| u32::from_ne_bytes(owner[at..at + 4].try_into().unwrap_or_default());
        let words = self.name.each_ref().map(|word| word.load(Relaxed));
        // SAFETY: both are 40 bytes without gaps, in which every value is valid.
        let parts: NameParts = unsafe { std::mem::transmute(words) };
        (self.at_ns.load(Relaxed), [number(0), number(4)], parts)
    }
}

/// Has the processor fetch the slot that is written next: the listener's processor has it.
#[inline]
fn prefetch(slot: &Slot) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: a prefetch reads nothing and never faults.
    unsafe {
        use std::arch::x86_64::{_MM_HINT_ET0, _mm_prefetch};
        _mm_prefetch::<_MM_HINT_ET0>(ptr::from_ref(slot).cast());
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = slot;
}
