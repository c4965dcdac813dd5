//! What can be seen of a transfer while it runs, from other threads.

use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, OnceLock, Weak};
use std::thread::{self, Thread};

use netfathom_bpf::contention::Followed;
use netfathom_model::record::Holder;
use netfathom_sys::interrupt::Interruptible;
use parking_lot::Mutex;

use super::cost::Cost;
use super::sample_series::SampleSeries;
use crate::load::contention::Contention;

/// How far a transfer is: others may look while it runs.
#[derive(Default)]
pub struct Live {
    lanes: Mutex<Vec<Arc<LiveStream>>>,
    /// Bytes of those that are over.
    past_bytes: AtomicU64,
    /// Bytes to transfer, 0 if unknown.
    pub(super) planned: AtomicU64,
    /// When the first stream began, on the one clock; 0 before.
    started_ns: AtomicU64,
    /// The time is over that it was to take.
    pub(super) expired: AtomicBool,
    /// What it costs, from its first stream on.
    pub(super) cost: Cost,
    /// Sees who has the processors that streams wait for, once that was asked for; `None` where it cannot.
    contention: OnceLock<Option<Contention>>,
    /// The processes at the other end, where that is this host, once a stream to be explained began.
    pub(super) other_end: OnceLock<Vec<Holder>>,
    /// Who is to know of new streams at once.
    watcher: OnceLock<Thread>,
}

impl Live {
    pub fn bytes(&self) -> u64 {
        // The past first: a stream that ends in between is then counted less, not twice.
        let past = self.past_bytes.load(Relaxed);
        past + self.lanes().iter().map(|lane| lane.bytes.load(Relaxed)).sum::<u64>()
    }

    /// Bytes to transfer; `None` if unknown.
    pub fn planned(&self) -> Option<u64> {
        Some(self.planned.load(Relaxed)).filter(|&bytes| bytes > 0)
    }

    pub fn streams(&self) -> usize {
        self.lanes.lock().len()
    }

    /// A stream began at that time; the first counts.
    pub(super) fn started(&self, ns: u64) {
        if self.started_ns.compare_exchange(0, ns, Relaxed, Relaxed).is_ok() {
            self.cost.begin();
        }
    }

    /// The one stream that there is began anew.
    pub(super) fn restarted(&self, ns: u64) {
        self.started_ns.store(ns, Relaxed);
        self.cost.begin();
    }

    /// When the first stream began, on the one clock; 0 before.
    pub(super) fn started_ns(&self) -> u64 {
        self.started_ns.load(Relaxed)
    }

    /// From now on it is seen who has the processors that streams wait for.
    pub(super) fn follow_waits(&self) {
        self.contention.get_or_init(Contention::of_switches);
    }

    /// The calling thread, which is that of a stream.
    pub(super) fn follow(&self) -> Option<Followed<'_>> {
        self.contention.get()?.as_ref()?.follow()
    }

    /// From now on the calling thread is unparked when a stream begins.
    pub(super) fn watched(&self) {
        self.watcher.get_or_init(thread::current);
    }

    pub(super) fn lanes(&self) -> Vec<Arc<LiveStream>> {
        self.lanes.lock().clone()
    }

    /// A stream of the calling thread begins; it is over when what is returned is dropped.
    pub(super) fn begin(&self, stream: usize, socket: &Arc<OwnedFd>) -> OnLane<'_> {
        let lane = Arc::new(LiveStream {
            stream,
            socket: Arc::downgrade(socket),
            // That of the main thread worked, and so does this one.
            thread: Interruptible::this_thread().ok(),
            bytes: AtomicU64::new(0),
            calls: AtomicU64::new(0),
            seen: Mutex::default(),
        });
        self.lanes.lock().push(Arc::clone(&lane));
        self.watcher.get().inspect(|watcher| watcher.unpark());
        OnLane { live: self, lane }
    }
}

#[derive(Debug)]
pub(super) struct LiveStream {
    /// Its number, from 0.
    pub stream: usize,
    /// Open for as long as the stream is.
    pub socket: Weak<OwnedFd>,
    thread: Option<Interruptible>,
    pub bytes: AtomicU64,
    pub calls: AtomicU64,
    pub seen: Mutex<SampleSeries>,
}

impl LiveStream {
    /// Ends the system call that its thread is in.
    pub fn interrupt(&self) {
        self.thread.inspect(Interruptible::interrupt);
    }
}

pub(super) struct OnLane<'a> {
    pub live: &'a Live,
    pub lane: Arc<LiveStream>,
}

impl Drop for OnLane<'_> {
    fn drop(&mut self) {
        let mut lanes = self.live.lanes.lock();
        lanes.retain(|lane| !Arc::ptr_eq(lane, &self.lane));
        self.live.past_bytes.fetch_add(self.lane.bytes.load(Relaxed), Relaxed);
    }
}
