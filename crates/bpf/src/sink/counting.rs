//! Counts the messages of a flow and drops them.

use std::sync::atomic::Ordering::{Relaxed, Release};
use std::thread::sleep;
use std::time::Duration;

use libbpf_rs::{MapCore, MapFlags, Object};

use super::abi::copied::Counts;
use super::abi::shared::Shared;
use super::{SET, SinkError, load};
use crate::mapping::Mapping;
use crate::xdp::{Attachment, Mode};

pub(super) const SLOTS: usize = Shared::SLOTS;
const COUNTS: &str = "counts";
/// Senders of one flow.
pub const MOST_LANES: usize = Shared::NEXT;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SinkFlow {
    pub flow: u32,
    /// Its senders, from 1 to [`MOST_LANES`]; each sends every n-th sequence of n senders.
    pub lanes: u32,
    /// Its messages, at most: a sequence beyond them is damaged.
    pub planned: u64,
}

/// What became of the packets that came in since [`XdpSink::begin`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SinkCounts {
    /// Packets that were none of the flow's messages and went on to the stack.
    pub passed: u64,
    /// Messages that came for the first time, those out of order included.
    pub delivered: u64,
    pub duplicates: u64,
    /// Of those delivered, the ones that came after a higher sequence of the same sender.
    pub reordered: u64,
    /// Messages 65,536 or more behind the highest sequence (all senders together): whether
    /// they had come before is not known, so they are neither delivered nor duplicates.
    pub too_late: u64,
    /// Datagrams that begin as a message and are shorter than its header, of any flow.
    pub truncated: u64,
    /// Payload bytes of those delivered.
    pub bytes: u64,
    /// Messages with a sequence that the flow does not have.
    pub damaged: u64,
}

/// A program that counts and drops, attached until this is dropped.
pub struct XdpSink {
    _attachment: Attachment,
    mapping: Mapping<Shared>,
    object: Object,
}

impl XdpSink {
    /// Attaches the program to a device of the calling thread's network namespace, for the
    /// messages to a UDP port over IPv4 or IPv6 without extension headers. Before
    /// [`Self::begin`] everything passes.
    ///
    /// # Errors
    /// What the kernel refused. Needs CAP_BPF and CAP_NET_ADMIN, and Linux 5.12
    /// (atomic operations with a result); no other XDP program may be attached.
    pub fn attach(ifindex: u32, port: u16, mode: Mode) -> Result<Self, SinkError> {
        let (object, attachment) = load("count_and_drop", ifindex, port, mode)?;
        let mapping = SET.memory(&object)?;
        Ok(Self { _attachment: attachment, mapping, object })
    }

    /// Counts the messages of a flow from now on, and everything from 0.
    ///
    /// # Panics
    /// With no sender, or more than [`MOST_LANES`].
    pub fn begin(&self, counted: SinkFlow) -> Result<(), SinkError> {
        let lanes = counted.lanes as usize;
        assert!((1..=MOST_LANES).contains(&lanes), "{lanes} senders; from 1 to {MOST_LANES}");
        let shared = self.mapping.get();
        shared.flow_plus_1.store(0, Relaxed);
        await_running_programs();
        shared.slots.iter().chain(&shared.next).for_each(|slot| slot.store(0, Relaxed));
        let lane_slots = SLOTS / lanes.next_power_of_two();
        shared.lanes.store(lanes as u64, Relaxed);
        shared.lane_slots.store(lane_slots as u64, Relaxed);
        shared.planned.store(counted.planned, Relaxed);
        let processors = libbpf_rs::num_possible_cpus().map_err(SET.step("count CPUs for"))?;
        let zeros = vec![vec![0; size_of::<Counts>()]; processors];
        let counts = SET.map(&self.object, COUNTS)?;
        counts.update_percpu(&[0; 4], &zeros, MapFlags::ANY).map_err(SET.step("reset"))?;
        // Release: no program that sees the flow may see the plan of before. It is sent after this only, so that the
        // programs, which read the flow first, need no more than the packet.
        shared.flow_plus_1.store(u64::from(counted.flow) + 1, Release);
        Ok(())
    }

    pub fn counts(&self) -> Result<SinkCounts, SinkError> {
        let mut sums = SinkCounts::default();
        for of_cpu in SET.per_cpu::<Counts>(&self.object, COUNTS, 0)? {
            sums.passed += of_cpu.passed;
            sums.delivered += of_cpu.delivered;
            sums.duplicates += of_cpu.duplicates;
            sums.reordered += of_cpu.reordered;
            sums.too_late += of_cpu.too_late;
            sums.truncated += of_cpu.truncated;
            sums.bytes += of_cpu.bytes;
            sums.damaged += of_cpu.damaged;
        }
        Ok(sums)
    }
}

/// Waits until no program runs that still saw the flow of before.
fn await_running_programs() {
    // SAFETY: no pointers. MEMBARRIER_CMD_GLOBAL waits for all that runs under RCU, as
    // programs do (synchronize_rcu, since Linux 4.3).
    let waited = unsafe { libc::syscall(libc::SYS_membarrier, libc::MEMBARRIER_CMD_GLOBAL, 0, 0) };
    if waited != 0 {
        // With nohz_full the kernel does not offer it; a program runs for microseconds.
        sleep(Duration::from_millis(10));
    }
}
