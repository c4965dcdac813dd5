//! What the programs found, in the memory that they share with user space.

use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::{Acquire, Relaxed};

use super::abi::copied::Member;
use super::abi::shared::{Shared, Tree};
use super::{Lost, Spent};

pub(super) const NUMBERS: usize = Shared::WATCHED;
pub(super) const MOST_MARKS: usize = 64;
pub(super) const ORDER: usize = 65_536;
/// What is to be done at a system call.
pub(super) const COUNTED: u64 = 1;
#[cfg(target_arch = "x86_64")]
pub(super) const OPENS_ARGUMENT_0: u64 = 2;
pub(super) const OPENS_ARGUMENT_1: u64 = 4;

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

impl Tree {
    fn clear(&self) {
        let Self { awaited_of, root, executed, begun, exited, settled, early, recorded, waited_ns, spent } =
            self;
        let own = [awaited_of, root, executed, begun, exited, settled, early, recorded, waited_ns];
        own.into_iter().chain(spent.fields()).for_each(|cell| cell.store(0, Relaxed));
    }

    /// Sums what a thread had spent when it began to end.
    pub fn settle_early(&self, member: &Member) {
        for (cell, at_exit) in self.spent.fields().into_iter().zip(member.at_exit.fields()) {
            cell.fetch_add(*at_exit, Relaxed);
        }
        self.early.fetch_add(1, Relaxed);
        self.settled.fetch_add(1, Relaxed);
    }

    pub fn spent(&self) -> Spent {
        let get = |cell: &AtomicU64| cell.load(Relaxed);
        // Each is read before what came earlier, so that no difference is below zero. Acquire keeps that order; the sums are of
        // no fewer threads than the first.
        let (settled, exited) = (self.settled.load(Acquire), self.exited.load(Acquire));
        let begun = get(&self.begun);
        let sums = &self.spent;
        let if_of_all =
            |known: &AtomicU64, sum: &AtomicU64| (settled > 0 && get(known) >= settled).then(|| get(sum));
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
            blocked_ns: if_of_all(&sums.blocked_known, &sums.blocked_ns),
            threads: settled,
            // One that ended while its tree was let go is in the later count alone.
            running: begun.saturating_sub(exited),
            unsettled: exited.saturating_sub(settled),
            early: get(&self.early),
        }
    }
}
