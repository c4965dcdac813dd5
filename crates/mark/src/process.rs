//! The ring of this process: made at its first mark, or inherited.

use std::cell::{Cell, UnsafeCell};
use std::mem::MaybeUninit;
use std::ptr::{self, NonNull};
use std::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, Ordering::*};

use crate::layout::{OWN_SLOTS, VARIABLE, ring_bytes};
use crate::ring::{self, MarkFields, Ring};
use crate::{Status, os};

/// What a process records into. Aligned so that no address of one has the lowest bit, which marks
/// a ring that is being made.
#[repr(align(16))]
struct Recorder {
    ring: Ring<'static>,
    /// This process, or 0 in a child that has not recorded yet: memory that fork(2) wipes.
    /// `None` where the kernel has none: then each mark asks.
    process: Option<&'static AtomicU32>,
}

/// The place of the only one.
struct RecorderCell(UnsafeCell<MaybeUninit<Recorder>>);

// SAFETY: written once, by whoever has put [`making`] into RECORDER, before its address is
// published there, and only read afterwards.
unsafe impl Sync for RecorderCell {}

static PLACE: RecorderCell = RecorderCell(UnsafeCell::new(MaybeUninit::uninit()));

/// Null before the first mark; [`making`]; [`IMPOSSIBLE`]; or the one in [`PLACE`].
static RECORDER: AtomicPtr<Recorder> = AtomicPtr::new(ptr::null_mut());

/// Marks that came when there was no ring, and that no ring knows of yet.
static EARLY: AtomicU64 = AtomicU64::new(0);

/// A ring could not be made.
const IMPOSSIBLE: *mut Recorder = ptr::without_provenance_mut(2);
/// More than any of the values that are no address.
const LOWEST_ADDRESS: usize = 16;

thread_local! {
    // Without destructor and known at compile time, so that reading it is one instruction and
    // allowed in a signal handler: the process in the upper half, this thread in the lower.
    static THREAD: Cell<u64> = const { Cell::new(0) };
}

/// Records a mark with the time that `at_ns` gives if somebody listens.
#[inline]
pub fn mark(name: &str, at_ns: impl FnOnce() -> u64) {
    let Some(recorder) = recorder() else { return };
    if recorder.ring.header.listener.load(Relaxed) != 0 {
        recorder.record(name, at_ns());
    }
}

pub fn status() -> Status {
    let early = EARLY.load(Relaxed);
    let Some(recorder) = usable(RECORDER.load(Acquire)) else {
        return Status { lost: early, ..Status::default() };
    };
    let header = recorder.ring.header;
    Status {
        listened: header.listener.load(Relaxed) != 0,
        recorded: header.head.value.load(Relaxed),
        lost: header.lost.value.load(Relaxed) + early,
    }
}

#[inline]
fn recorder() -> Option<&'static Recorder> {
    usable(RECORDER.load(Acquire)).or_else(first)
}

#[inline]
fn usable(at: *mut Recorder) -> Option<&'static Recorder> {
    if at.addr() < LOWEST_ADDRESS || at.addr() & 1 != 0 {
        return None;
    }
    // SAFETY: it is the address of PLACE, published after that was written; both are static.
    Some(unsafe { &*at })
}

/// What stands in [`RECORDER`] while this process makes its ring.
fn making() -> *mut Recorder {
    // With the process, as a child that was forked meanwhile has to do it anew.
    ptr::without_provenance_mut((os::process() as usize) << 1 | 1)
}

/// The first mark makes the ring. Those that come meanwhile, of other threads or of a signal
/// handler that interrupts it, are lost and counted.
#[cold]
#[inline(never)]
fn first() -> Option<&'static Recorder> {
    let _errno = os::Errno::keep();
    let found = RECORDER.load(Acquire);
    if found == IMPOSSIBLE {
        EARLY.fetch_add(1, Relaxed);
        return None;
    }
    let making = making();
    let to_be_made = found.is_null() || (found.addr() & 1 == 1 && found != making);
    if !to_be_made || RECORDER.compare_exchange(found, making, Acquire, Acquire).is_err() {
        EARLY.fetch_add(1, SeqCst);
        // If it is there by now, whoever made it may not have seen this one.
        let recorder = usable(RECORDER.load(SeqCst))?;
        recorder.tell_early();
        return None;
    }
    let Some(ring) = inherited().or_else(own) else {
        EARLY.fetch_add(1, SeqCst);
        RECORDER.store(IMPOSSIBLE, SeqCst);
        return None;
    };
    // SAFETY: zeroed memory of its own, never unmapped, and large enough for one atomic number.
    let process = os::wiped_on_fork().map(|page| unsafe { page.cast::<AtomicU32>().as_ref() });
    let place = PLACE.0.get().cast::<Recorder>();
    // SAFETY: no other thread writes it, as RECORDER shows that it is being made, and none reads it yet.
    unsafe { place.write(Recorder { ring, process }) };
    RECORDER.store(place, SeqCst);
    let recorder = usable(place)?;
    recorder.tell_early();
    Some(recorder)
}

/// The ring that whoever started this program listens to.
fn inherited() -> Option<Ring<'static>> {
    let fd = os::number_from_environment(VARIABLE)?;
    let slots = ring::examine(fd).ok()?;
    let base = os::map(fd, ring_bytes(slots))?;
    os::populate(base, ring_bytes(slots));
    // SAFETY: examined, mapped, and never unmapped.
    Some(unsafe { Ring::at(base, slots) })
}

/// A ring of this process and its children. Its descriptor stays open: who listens finds it there.
fn own() -> Option<Ring<'static>> {
    let (_, base): (_, NonNull<_>) = Ring::create(OWN_SLOTS)?;
    // SAFETY: mapped with that many slots, and never unmapped.
    Some(unsafe { Ring::at(base, OWN_SLOTS) })
}

impl Recorder {
    #[inline]
    fn record(&self, name: &str, at_ns: u64) {
        let (process, thread) = self.ids();
        self.ring.record(&MarkFields { name: name.as_bytes(), at_ns, process, thread });
    }

    /// This process and this thread, without a system call but for the first time in each.
    #[inline]
    fn ids(&self) -> (u32, u32) {
        let process = self.process.map_or(0, |process| process.load(Relaxed));
        let known = THREAD.get();
        // A child of fork has its parent's thread there, and 0 for the process.
        if process != 0 && (known >> 32) as u32 == process { (process, known as u32) } else { self.ask() }
    }

    #[cold]
    fn ask(&self) -> (u32, u32) {
        let (process, thread) = (os::process(), os::thread());
        if let Some(known) = self.process {
            known.store(process, Relaxed);
            THREAD.set(u64::from(process) << 32 | u64::from(thread));
        }
        (process, thread)
    }

    /// Has the listener know of marks that came before the ring.
    fn tell_early(&self) {
        if self.ring.header.listener.load(Relaxed) != 0 {
            self.ring.lose(EARLY.swap(0, SeqCst));
        }
    }
}
