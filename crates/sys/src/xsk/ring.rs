//! The rings between us and the kernel: each has one side that produces entries and one that
//! consumes them, and a counter of each that runs on for ever and wraps.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, Ordering};

use rustix::net::xdp::XdpRingOffset;

use crate::call::Mapped;

/// A ring in memory shared with the kernel. Entries are plain integers: any bytes are one.
pub(super) struct Map<T> {
    mapped: Mapped,
    /// Where its parts lie in the mapping, in bytes.
    place: XdpRingOffset,
    mask: u32,
    entries: NonNull<T>,
}

// SAFETY: the mapping belongs to this value alone, wherever it is; with the kernel it is
// shared by the rules of the ring.
unsafe impl<T> Send for Map<T> {}

impl<T> Map<T> {
    pub(super) fn new(fd: &OwnedFd, page: u64, place: XdpRingOffset, count: u32) -> io::Result<Self> {
        let bytes = place.desc as usize + count as usize * size_of::<T>();
        let protection = libc::PROT_READ | libc::PROT_WRITE;
        let flags = libc::MAP_SHARED | libc::MAP_POPULATE;
        let mapped = Mapped::new(bytes, protection, flags, Some((fd.as_fd(), page as libc::off_t)))?;
        // SAFETY: by the kernel's account the entries begin there, within `bytes`.
        let entries = unsafe { mapped.start.add(place.desc as usize) }.cast();
        Ok(Self { mapped, place, mask: count - 1, entries })
    }

    fn producer(&self) -> &AtomicU32 {
        // SAFETY: by the kernel's account an aligned u32 is there, within the mapping, which
        // lives as long as `self`; both sides use it atomically.
        unsafe { self.mapped.start.add(self.place.producer as usize).cast().as_ref() }
    }

    fn consumer(&self) -> &AtomicU32 {
        // SAFETY: as in `producer`.
        unsafe { self.mapped.start.add(self.place.consumer as usize).cast().as_ref() }
    }

    /// The entry with this running number. It may be the kernel's at this time: only the
    /// side that has it may touch what is there.
    fn entry(&self, number: u32) -> NonNull<T> {
        // SAFETY: the mask keeps the index below the count of entries.
        unsafe { self.entries.add((number & self.mask) as usize) }
    }
}

/// A ring that we produce and the kernel consumes: transmit or fill.
pub(super) struct Producer<T> {
    map: Map<T>,
    /// The number of the next entry that we write; those before it may be unpublished.
    next: u32,
}

impl<T: Copy> Producer<T> {
    pub(super) fn new(map: Map<T>) -> Self {
        let next = map.producer().load(Ordering::Relaxed);
        Self { map, next }
    }

    /// Entries that were written and that the kernel has not consumed, published or not.
    #[inline]
    pub(super) fn pending(&self) -> u32 {
        // Acquire: what we write into a slot next comes after the kernel has read it.
        self.next.wrapping_sub(self.map.consumer().load(Ordering::Acquire))
    }

    /// Writes an entry, which the kernel sees at the next [`Self::publish`].
    #[inline]
    pub(super) fn write(&mut self, entry: T) {
        assert!(self.pending() <= self.map.mask, "a ring is full");
        // SAFETY: the slot is ours: the kernel has consumed what was in it, as was checked,
        // and does not look beyond the published number.
        unsafe { self.map.entry(self.next).write(entry) };
        self.next = self.next.wrapping_add(1);
    }

    /// Hands what was written to the kernel.
    #[inline]
    pub(super) fn publish(&self) {
        // Release: whoever sees the number sees the entries, and the frames they lead to.
        self.map.producer().store(self.next, Ordering::Release);
    }
}

/// A ring that the kernel produces and we consume: receive or completion.
pub(super) struct Consumer<T> {
    map: Map<T>,
    /// The number of the next entry that we read; those before it may be unreleased.
    next: u32,
    /// The kernel's number when we last looked: looking moves a cache line between processors.
    seen: u32,
}

impl<T: Copy> Consumer<T> {
    pub(super) fn new(map: Map<T>) -> Self {
        let next = map.consumer().load(Ordering::Relaxed);
        Self { map, next, seen: next }
    }

    /// Reads the next entry, if there is one; its slot stays ours until [`Self::release`].
    #[inline]
    pub(super) fn read(&mut self) -> Option<T> {
        if self.next == self.seen {
            // Acquire: with the number we see the entries, and the frames they lead to.
            self.seen = self.map.producer().load(Ordering::Acquire);
            if self.next == self.seen {
                return None;
            }
        }
        // SAFETY: the kernel has published this entry and leaves it alone until we release
        // it; it is made of integers, so any bytes are a value.
        let entry = unsafe { self.map.entry(self.next).read() };
        self.next = self.next.wrapping_add(1);
        Some(entry)
    }

    /// Gives the slots of what was read back to the kernel.
    #[inline]
    pub(super) fn release(&self) {
        // Release: the kernel writes into a slot only after we have read it.
        self.map.consumer().store(self.next, Ordering::Release);
    }
}
