//! A ring with writers that are interrupted, killed or hostile.

use std::fs::File;
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileExt;
use std::sync::atomic::Ordering::Relaxed;

use super::reader::Refused;
use super::*;
use crate::layout::{Header, LEAST_SLOTS, MAGIC, Slot, VERSION};
use crate::ring::{MarkFields, Unusable, examine};

/// Small, so that it goes round soon; mapped as a writer has it.
struct Small {
    ring: Ring<'static>,
    file: File,
}

impl Small {
    fn new() -> Self {
        let (fd, base) = Ring::create(LEAST_SLOTS).unwrap();
        // SAFETY: mapped with that many slots, and never unmapped; the descriptor has no other owner.
        let (ring, file) = unsafe { (Ring::at(base, LEAST_SLOTS), File::from_raw_fd(fd)) };
        Self { ring, file }
    }

    /// Another opening of it.
    fn opened(&self) -> File {
        let path = format!("/proc/self/fd/{}", self.file.as_raw_fd());
        File::options().read(true).write(true).open(path).unwrap()
    }

    fn reader(&self) -> Reader {
        Reader::open(self.opened()).ok().unwrap().of_all_times()
    }

    fn record(&self, at_ns: u64) {
        self.ring.record(&MarkFields { name: b"mark", at_ns, process: 1, thread: 2 });
    }

    fn header(&self) -> &Header {
        self.ring.header
    }

    fn slot(&self, position: u64) -> &Slot {
        self.ring.slot(position)
    }

    /// As a writer does that is put aside in the middle.
    fn half(&self) -> (&Slot, u64) {
        self.ring.take().unwrap()
    }
}

fn drained(reader: &mut Reader, patience: Duration) -> Vec<u64> {
    let mut marks = Vec::new();
    reader.drain(&mut marks, patience);
    marks.iter().map(|mark| mark.at_ns).collect()
}

const FOR_EVER: Duration = Duration::from_secs(1 << 30);
const SLOTS: u64 = LEAST_SLOTS as u64;

#[test]
fn it_goes_round_and_what_does_not_fit_is_counted() {
    let (small, mut made) = (Small::new(), 0);
    let mut reader = small.reader();
    for round in 0..50 {
        let marks = round * 3;
        (made..made + marks).for_each(|at_ns| small.record(at_ns));
        let came = drained(&mut reader, FOR_EVER);
        assert!(came.iter().copied().eq(made..made + marks.min(SLOTS)), "{came:?}");
        made += marks;
    }
    let kept: u64 = (0..50).map(|round| SLOTS.min(round * 3)).sum();
    assert_eq!((reader.lost(), reader.damaged()), (made - kept, 0));
}

#[test]
fn who_is_slow_is_waited_for_and_then_not() {
    let small = Small::new();
    let mut reader = small.reader();
    small.record(1);
    let (slot, lap) = small.half();
    small.record(3);
    assert_eq!(drained(&mut reader, FOR_EVER), [1]);
    assert_eq!(drained(&mut reader, FOR_EVER), []);
    assert_eq!(drained(&mut reader, Duration::ZERO), [3]);
    assert_eq!(reader.lost(), 1);
    // The ring wraps although one slot has no owner, and loses nothing by it.
    for at_ns in 10..1000 {
        small.record(at_ns);
        assert_eq!(drained(&mut reader, FOR_EVER), [at_ns]);
    }
    // It goes on at last: its mark has been counted, and its slot is of use again.
    slot.commit(lap);
    for at_ns in 1000..2000 {
        small.record(at_ns);
        assert_eq!(drained(&mut reader, FOR_EVER), [at_ns]);
    }
    let fits = |from: u64| (from..from + SLOTS).for_each(|at_ns| small.record(at_ns));
    fits(2000);
    assert!(drained(&mut reader, FOR_EVER).into_iter().eq(2000..2000 + SLOTS));
    assert_eq!((reader.lost(), reader.damaged()), (1, 0));
}

#[test]
fn a_ring_with_a_dead_slot_has_room_for_all_others() {
    let small = Small::new();
    let mut reader = small.reader();
    small.half();
    assert_eq!(drained(&mut reader, Duration::ZERO), []);
    (0..SLOTS + 5).for_each(|at_ns| small.record(at_ns));
    assert!(drained(&mut reader, FOR_EVER).into_iter().eq(0..SLOTS - 1));
    assert_eq!((reader.lost(), reader.damaged()), (1 + 6, 0));
}

#[test]
fn a_writer_killed_before_it_moves_the_head_stops_no_other() {
    let small = Small::new();
    let mut reader = small.reader();
    small.record(0);
    small.half();
    small.header().head.value.fetch_sub(1, Relaxed);
    assert_eq!(drained(&mut reader, FOR_EVER), [0]);
    // No writer has come since, and then one does.
    assert_eq!(drained(&mut reader, Duration::ZERO), []);
    small.record(2);
    assert_eq!(drained(&mut reader, FOR_EVER), [2]);
    assert_eq!((reader.lost(), reader.damaged()), (1, 0));
    small.half();
    small.header().head.value.fetch_sub(1, Relaxed);
    small.record(4);
    assert_eq!(drained(&mut reader, FOR_EVER), []);
    assert_eq!(drained(&mut reader, Duration::ZERO), [4]);
}

#[test]
fn the_next_listener_takes_over() {
    let small = Small::new();
    let opened = small.opened();
    // As a child has that was just forked.
    let copy = opened.try_clone().unwrap();
    let mut reader = Reader::open(opened).ok().unwrap().of_all_times();
    (0..20).for_each(|at_ns| small.record(at_ns));
    assert_eq!(drained(&mut reader, FOR_EVER).len(), 20);
    small.half();
    (0..30).for_each(|at_ns| small.record(at_ns));
    // As kill -9 does: the lock goes, all else stays.
    let Err(Refused::Taken(by)) = Reader::open(small.opened()) else { panic!("two listen") };
    assert_eq!(by, os::process());
    drop(reader);
    small.header().listener.store(4_194_304, Relaxed);
    small.header().tail.value.store(0, Relaxed);
    let mut next = Reader::open(small.opened()).ok().unwrap();
    assert_eq!((small.header().listener.load(Relaxed), next.lost()), (os::process(), 0));
    drop(copy);
    let now = os::monotonic_ns();
    small.record(now);
    // The one that is half written is still in the way; what came before is of no account.
    assert_eq!(drained(&mut next, FOR_EVER), []);
    assert_eq!(drained(&mut next, Duration::ZERO), [now]);
}

#[test]
fn a_hostile_ring_neither_stops_nor_breaks_the_listener() {
    let small = Small::new();
    let mut reader = small.reader();
    // Whatever stands there: the same pattern each time (an xorshift), and values at the edges.
    let mut random = 0x9e37_79b9_7f4a_7c15_u64;
    let mut next = || {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        if random.is_multiple_of(5) {
            [0, 1, SLOTS, u64::MAX, u64::MAX - 1][(random >> 32) as usize % 5]
        } else {
            random >> (random % 64)
        }
    };
    let mut came = 0;
    for _ in 0..5000 {
        let (position, word) = (next() % SLOTS, next());
        small.slot(position).word.store(word, Relaxed);
        small.slot(position).name[0].store(next(), Relaxed);
        small.header().head.value.store(next(), Relaxed);
        small.header().tail.value.store(next(), Relaxed);
        small.header().lost.value.store(next(), Relaxed);
        small.record(next());
        came += drained(&mut reader, Duration::ZERO).len();
        assert!(drained(&mut reader, Duration::ZERO).len() as u64 <= SLOTS);
    }
    assert!(came > 0 && reader.damaged() > 0, "{came} {}", reader.damaged());
    // What all processors there can be may have lost in the time that this took, which is not for ever.
    assert!(reader.lost() < 1 << 56, "{}", reader.lost());
}

#[test]
fn a_head_before_the_first_mark_is_damage() {
    let small = Small::new();
    let mut reader = small.reader();
    small.header().head.value.store(u64::MAX, Relaxed);
    assert_eq!(drained(&mut reader, FOR_EVER), []);
    assert_eq!(reader.damaged(), 1);
}

#[test]
fn a_count_that_no_writer_has_made_is_damage_and_not_counted() {
    let small = Small::new();
    let mut reader = small.reader();
    let counts = |value: u64, reader: &mut Reader| {
        small.header().lost.value.store(value, Relaxed);
        drained(reader, FOR_EVER);
        (reader.lost(), reader.damaged())
    };
    assert_eq!(counts(u64::MAX, &mut reader), (0, 1));
    assert_eq!(counts(1 << 63, &mut reader), (0, 2));
    // Back to before, which none does either; from there on it counts again.
    assert_eq!(counts(5, &mut reader), (0, 3));
    assert_eq!(counts(12, &mut reader), (7, 3));
    (0..SLOTS + 9).for_each(|at_ns| small.record(at_ns));
    assert_eq!(drained(&mut reader, FOR_EVER).len() as u64, SLOTS);
    assert_eq!((reader.lost(), reader.damaged()), (7 + 9, 3));
}

#[test]
fn only_a_whole_ring_of_this_version_is_one() {
    let small = Small::new();
    assert_eq!(examine(small.file.as_raw_fd()), Ok(LEAST_SLOTS));
    let with = |at: u64, value: &[u8], expected| {
        let mut before = vec![0; value.len()];
        small.file.read_exact_at(&mut before, at).unwrap();
        small.file.write_all_at(value, at).unwrap();
        assert_eq!(examine(small.file.as_raw_fd()), expected, "{value:?} at {at}");
        small.file.write_all_at(&before, at).unwrap();
    };
    let no_ring = Err(Unusable::NoRing);
    with(0, &(MAGIC + 1).to_ne_bytes(), no_ring);
    with(8, &(VERSION + 1).to_ne_bytes(), Err(Unusable::Version(VERSION + 1)));
    with(12, &8192_u32.to_ne_bytes(), no_ring);
    with(16, &128_u32.to_ne_bytes(), no_ring);
    with(24, &39_u32.to_ne_bytes(), no_ring);
    // More than the file has, no power of two, and numbers that overflow.
    for slots in [0, 1, 63, 65, 128, 1 << 23, 1 << 31, u32::MAX] {
        with(20, &slots.to_ne_bytes(), no_ring);
    }
    // It can be shrunk, so reading it could fail at any time.
    let unsealed = tempfile::tempfile().unwrap();
    let mut bytes = vec![0; ring_bytes(LEAST_SLOTS)];
    small.file.read_exact_at(&mut bytes, 0).unwrap();
    unsealed.write_all_at(&bytes, 0).unwrap();
    assert_eq!(examine(unsealed.as_raw_fd()), no_ring);
    assert!(small.file.set_len(0).is_err(), "a ring can be shrunk");
}
