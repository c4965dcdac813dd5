//! The memory that the programs share with us; the Rust side of `abi.h`.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use super::{Lost, Spent};
use crate::mapping::Atomics;

pub(super) const NUMBERS: usize = 512;
pub(super) const MOST_MARKS: usize = 64;
pub(super) const ORDER: usize = 65_536;
/// What is to be done at a system call.
pub(super) const COUNTED: u64 = 1;
pub(super) const OPENS_ARGUMENT_0: u64 = 2;
pub(super) const OPENS_ARGUMENT_1: u64 = 4;

#[repr(C)]
pub(super) struct Sums {
    ran_ns: AtomicU64,
    waited_ns: AtomicU64,
    user_ns: AtomicU64,
    system_ns: AtomicU64,
    minor_faults: AtomicU64,
    major_faults: AtomicU64,
    voluntary_switches: AtomicU64,
    involuntary_switches: AtomicU64,
    read_bytes: AtomicU64,
    written_bytes: AtomicU64,
    blocked_ns: AtomicU64,
    waited_known: AtomicU64,
    bytes_known: AtomicU64,
    blocked_known: AtomicU64,
}

/// How many words a `struct spent` has.
const SUMS: usize = 14;

/// The first words of a `struct member`.
pub(super) struct Member {
    pub exited: bool,
    at_exit: [u64; SUMS],
}

impl Member {
    pub fn read(bytes: &[u8]) -> Option<Self> {
        let mut words = bytes.as_chunks().0.iter().map(|word| u64::from_ne_bytes(*word));
        let (exited, _started_ns) = (words.next()? != 0, words.next()?);
        let member = Self { exited, at_exit: std::array::from_fn(|_| words.next().unwrap_or(0)) };
        (bytes.len() == (2 + SUMS + 4) * size_of::<u64>()).then_some(member)
    }
}

#[repr(C)]
pub(super) struct OfTree {
    pub awaited_of: AtomicU64,
    pub root: AtomicU64,
    pub executed: AtomicU64,
    ended: AtomicU64,
    pub begun: AtomicU64,
    pub exited: AtomicU64,
    pub settled: AtomicU64,
    early: AtomicU64,
    peak_pages: AtomicU64,
    pub recorded: AtomicU64,
    spent: Sums,
}

#[repr(C)]
pub(super) struct Shared {
    pub namespace: [AtomicU64; 2],
    pub tree: OfTree,
    lost_events: AtomicU64,
    lost_members: AtomicU64,
    unread_paths: AtomicU64,
    late_paths: AtomicU64,
    pending_paths: AtomicU64,
    pub watched: [AtomicU64; NUMBERS],
    counts: [AtomicU64; NUMBERS],
}

// SAFETY: atomics throughout, laid out as `struct shared` in abi.h.
unsafe impl Atomics for Shared {}

impl Shared {
    pub fn lost(&self) -> Lost {
        Lost {
            events: self.lost_events.load(Relaxed),
            threads: self.lost_members.load(Relaxed),
            unread_paths: self.unread_paths.load(Relaxed),
            late_paths: self.late_paths.load(Relaxed),
        }
    }

    /// As it was after loading but for what is watched.
    pub fn clear(&self) {
        self.tree.clear();
        let ours = [
            &self.lost_events,
            &self.lost_members,
            &self.unread_paths,
            &self.late_paths,
            &self.pending_paths,
        ];
        ours.into_iter().chain(&self.counts).for_each(|cell| cell.store(0, Relaxed));
    }
}

impl OfTree {
    fn clear(&self) {
        let Self {
            awaited_of,
            root,
            executed,
            ended,
            begun,
            exited,
            settled,
            early,
            peak_pages,
            recorded,
            spent,
        } = self;
        let own = [awaited_of, root, executed, ended, begun, exited, settled, early, peak_pages, recorded];
        own.into_iter().chain(spent.all()).for_each(|cell| cell.store(0, Relaxed));
    }

    /// Sums what a thread had spent when it began to end.
    pub fn settle_early(&self, member: &Member) {
        for (cell, at_exit) in self.spent.all().into_iter().zip(member.at_exit) {
            cell.fetch_add(at_exit, Relaxed);
        }
        self.early.fetch_add(1, Relaxed);
        self.settled.fetch_add(1, Relaxed);
    }

    pub fn spent(&self, page_bytes: u64) -> Spent {
        let get = |cell: &AtomicU64| cell.load(Relaxed);
        // Read before what came earlier, so that no difference is below zero.
        let (settled, exited) = (get(&self.settled), get(&self.exited));
        let begun = get(&self.begun);
        let sums = &self.spent;
        let if_of_all =
            |known: &AtomicU64, sum: &AtomicU64| (settled > 0 && get(known) >= settled).then(|| get(sum));
        let peak_pages = Some(get(&self.peak_pages)).filter(|&pages| pages > 0);
        Spent {
            ran_ns: get(&sums.ran_ns),
            waited_ns: if_of_all(&sums.waited_known, &sums.waited_ns),
            user_ns: get(&sums.user_ns),
            system_ns: get(&sums.system_ns),
            minor_faults: get(&sums.minor_faults),
            major_faults: get(&sums.major_faults),
            voluntary_switches: get(&sums.voluntary_switches),
            involuntary_switches: get(&sums.involuntary_switches),
            read_bytes: if_of_all(&sums.bytes_known, &sums.read_bytes),
            written_bytes: if_of_all(&sums.bytes_known, &sums.written_bytes),
            blocked_ns: if_of_all(&sums.blocked_known, &sums.blocked_ns),
            peak_rss_bytes: peak_pages.map(|pages| pages * page_bytes),
            threads: settled,
            // One that ended while its tree was let go is in the later count alone.
            running: begun.saturating_sub(exited),
            unsettled: exited.saturating_sub(settled),
            early: get(&self.early),
        }
    }
}

impl Sums {
    fn all(&self) -> [&AtomicU64; SUMS] {
        [
            &self.ran_ns,
            &self.waited_ns,
            &self.user_ns,
            &self.system_ns,
            &self.minor_faults,
            &self.major_faults,
            &self.voluntary_switches,
            &self.involuntary_switches,
            &self.read_bytes,
            &self.written_bytes,
            &self.blocked_ns,
            &self.waited_known,
            &self.bytes_known,
            &self.blocked_known,
        ]
    }
}
