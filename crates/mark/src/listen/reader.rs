//! Reads one ring. Nothing that it finds there is believed: whoever has the ring can write it.

use std::ffi::c_void;
use std::fs::File;
use std::os::fd::AsRawFd;
use std::ptr::NonNull;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};
use std::time::{Duration, Instant};

use super::Mark;
use crate::layout::{NAME_BYTES, NameParts, Slot, ring_bytes, state};
use crate::os;
use crate::ring::{Ring, Unusable, examine};

/// How long a mark may be half written before it is given up: writing takes nanoseconds, but its
/// thread may have been put aside in between, or killed. Not longer, as the ring fills meanwhile;
/// not shorter, as a thread that is only put aside would lose its mark.
pub const PATIENCE: Duration = Duration::from_millis(20);

/// Marks that can be lost in a nanosecond: a processor takes 4 ns for one at least, and no machine has 4096 of them.
/// A count that rises faster, or falls, is not that of writers.
const MOST_LOST_A_NS: u64 = 1024;

/// A mapping that ends with this value.
struct Mapping {
    base: NonNull<c_void>,
    slots: u32,
}

// SAFETY: a mapping belongs to no thread, and what is in it are atomics.
unsafe impl Send for Mapping {}

impl Mapping {
    fn ring(&self) -> Ring<'_> {
        // SAFETY: `Reader::open` examined the file before it was mapped, and it stays mapped as
        // long as this value is borrowed.
        unsafe { Ring::at(self.base, self.slots) }
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: mapped with this length, and what was borrowed of it is gone.
        unsafe { os::unmap(self.base, ring_bytes(self.slots)) };
    }
}

/// The listener of one ring.
pub struct Reader {
    mapping: Mapping,
    /// The lock on it is what makes this the only listener; the kernel ends it with this process.
    locked: File,
    /// Read next. Not that in the ring, which others can write.
    tail: u64,
    /// What is waited for, and since when.
    stuck: Option<(u64, Instant)>,
    /// Marks that came before are of no account.
    since_ns: u64,
    /// The ring's own count of lost marks when it was looked at last, and when that was.
    counted: (u64, u64),
    /// Marks that were lost since listening began, as far as that can be believed.
    lost: u64,
    damaged: u64,
}

/// Why a ring cannot be read.
pub enum Refused {
    /// No ring of this version.
    Unusable(Unusable),
    /// This process listens, by its own number.
    Taken(u32),
    /// It cannot be mapped.
    NotMapped,
}

/// What was found at a position.
enum Found {
    Mark(Mark),
    /// Nothing, and there will be nothing.
    Nothing,
    /// Nothing yet.
    End,
}

impl Reader {
    /// Begins to listen to a ring. `file` must be an open file description of its own.
    pub fn open(file: File) -> Result<Self, Refused> {
        let slots = examine(file.as_raw_fd()).map_err(Refused::Unusable)?;
        let base = os::map(file.as_raw_fd(), ring_bytes(slots)).ok_or(Refused::NotMapped)?;
        let mapping = Mapping { base, slots };
        let header = mapping.ring().header;
        if !os::lock(file.as_raw_fd()) {
            return Err(Refused::Taken(header.listener.load(Relaxed)));
        }
        let tail = header.head.value.load(Acquire).saturating_sub(slots.into());
        let mut reader = Self {
            mapping,
            locked: file,
            tail,
            stuck: None,
            since_ns: 0,
            counted: (0, 0),
            lost: 0,
            damaged: 0,
        };
        // What an earlier listener left, which may be a full ring.
        reader.drain(&mut Vec::new(), PATIENCE);
        (reader.lost, reader.damaged) = (0, 0);
        reader.since_ns = os::monotonic_ns();
        let header = reader.mapping.ring().header;
        reader.counted = (header.lost.value.load(Relaxed), reader.since_ns);
        header.listener.store(os::process(), Release);
        Ok(reader)
    }

    /// Adds the marks that have come.
    pub fn drain(&mut self, marks: &mut Vec<Mark>, patience: Duration) {
        let ring = self.mapping.ring();
        let (header, slots) = (ring.header, ring.slots());
        let head = header.head.value.load(Acquire);
        // One behind is possible: a writer that was killed before it moved the head on.
        let possible = self.tail.saturating_sub(1)..=self.tail.saturating_add(slots);
        if !possible.contains(&head) {
            self.damaged += 1;
            self.tail = head;
        }
        for _ in 0..slots {
            match self.next(head, patience) {
                Found::Mark(mark) if mark.at_ns >= self.since_ns => marks.push(mark),
                Found::Mark(_) | Found::Nothing => {}
                Found::End => break,
            }
            self.tail = self.tail.wrapping_add(1);
        }
        self.mapping.ring().header.tail.value.store(self.tail, Release);
        self.count_lost();
    }

    /// Adds what writers have counted as lost since it was looked at last, unless they cannot have lost so much.
    fn count_lost(&mut self) {
        let (before, looked_ns) = self.counted;
        let now_ns = os::monotonic_ns();
        let counted = self.mapping.ring().header.lost.value.load(Relaxed);
        self.counted = (counted, now_ns);
        let more = counted.wrapping_sub(before);
        if more <= now_ns.saturating_sub(looked_ns).saturating_mul(MOST_LOST_A_NS) {
            self.lost = self.lost.saturating_add(more);
        } else {
            self.damaged += 1;
        }
    }

    /// What is at the tail.
    fn next(&mut self, head: u64, patience: Duration) -> Found {
        let ring = self.mapping.ring();
        let (slot, lap) = (ring.slot(self.tail), ring.lap(self.tail));
        let passed = head.wrapping_sub(self.tail).cast_signed() > 0;
        let word = slot.word.load(Acquire);
        let next_lap = state::word(lap + 1, state::FREE);
        if word == state::word(lap, state::WRITTEN) {
            let mark = read_mark(slot);
            slot.word.store(next_lap, Release);
            return Found::Mark(mark);
        }
        if word == state::word(lap, state::WRITING) {
            return self.wait(word, patience);
        }
        if word > state::word(lap, state::WRITTEN) {
            // Abandoned by an earlier listener, or read by it.
            return if passed { Found::Nothing } else { Found::End };
        }
        match state::of(word) {
            // Given back after it had been abandoned, or passed while it was: of use again.
            state::FREE if passed => {
                let freed = slot.word.compare_exchange(word, next_lap, AcqRel, Relaxed);
                if freed.is_ok() { Found::Nothing } else { Found::End }
            }
            state::FREE if word >> state::BITS != lap => {
                let free = state::word(lap, state::FREE);
                let _ = slot.word.compare_exchange(word, free, AcqRel, Relaxed);
                Found::End
            }
            state::ABANDONED if passed => Found::Nothing,
            state::FREE | state::ABANDONED => Found::End,
            // No writer leaves a slot like this.
            _ => {
                self.damaged += 1;
                slot.word.store(next_lap, Release);
                if passed { Found::Nothing } else { Found::End }
            }
        }
    }

    /// Waits for a mark that is half written, without sleeping: until a later call finds that it is
    /// still so.
    fn wait(&mut self, word: u64, patience: Duration) -> Found {
        let since = match self.stuck {
            Some((position, since)) if position == self.tail => since,
            _ => Instant::now(),
        };
        self.stuck = Some((self.tail, since));
        if since.elapsed() < patience {
            return Found::End;
        }
        let ring = self.mapping.ring();
        let abandoned = state::word(ring.lap(self.tail), state::ABANDONED);
        match ring.slot(self.tail).word.compare_exchange(word, abandoned, AcqRel, Relaxed) {
            Ok(_) => {
                self.lost = self.lost.saturating_add(1);
                Found::Nothing
            }
            // It has just been written.
            Err(_) => Found::End,
        }
    }

    /// Marks that were made since listening began and did not come, as of the last look.
    pub fn lost(&self) -> u64 {
        self.lost
    }

    /// How often the ring held what no writer leaves there.
    pub fn damaged(&self) -> u64 {
        self.damaged
    }

    /// Has marks of any age count: those of programs that this one starts.
    pub fn of_all_times(mut self) -> Self {
        self.since_ns = 0;
        self
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        // Before the lock goes, so that it is not the next listener's that is taken away.
        self.mapping.ring().header.listener.store(0, Release);
        // A child that was just forked has a copy of the descriptor until it executes its program.
        os::unlock(self.locked.as_raw_fd());
    }
}

fn read_mark(slot: &Slot) -> Mark {
    let (at_ns, [process, thread], parts) = slot.fields();
    let (name, cut) = named(&parts);
    Mark { name, cut, at_ns, process, thread }
}

/// The name, and whether it was cut; it ends with an ellipsis then.
fn named(parts: &NameParts) -> (String, bool) {
    let length = usize::from(parts.length);
    let cut = length > NAME_BYTES;
    let kept = &parts.bytes[..length.min(NAME_BYTES)];
    if !cut {
        return (String::from_utf8_lossy(kept).into_owned(), false);
    }
    // Not the half of a character that the cut may have left.
    let whole = match std::str::from_utf8(kept) {
        Err(error) if error.error_len().is_none() => &kept[..error.valid_up_to()],
        _ => kept,
    };
    (String::from_utf8_lossy(whole).into_owned() + "…", true)
}
