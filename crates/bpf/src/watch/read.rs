//! What the programs counted and summed.

use libbpf_rs::{MapCore, MapFlags};
use netfathom_model::record::{CpuWaits, WatchAccount, WatchSendAccount, WatchStage};
use netfathom_stats::{Distribution, Histogram, Moments};

use super::abi::copied::{self, Counts, Sums};
use super::{Watch, WatchError, step};
use crate::holders;
use crate::mapping::{Plain, from_bytes};
use crate::sums::{GRAIN, add_buckets};

/// In the order of `enum count` in abi.h.
fn account(n: [u64; Counts::N]) -> WatchAccount {
    let [
        seen,
        timed,
        merged,
        refused,
        unstamped,
        unfollowed,
        crowded,
        long,
        bytes_read,
        bytes_timed,
        threads,
        unseen,
        _waited,
        mptcp,
        encrypted,
        ..,
    ] = n;
    WatchAccount {
        seen,
        timed,
        merged,
        refused,
        unstamped,
        unfollowed,
        crowded,
        long,
        bytes_read,
        bytes_timed,
        threads,
        unseen_switches: unseen,
        mptcp,
        encrypted,
    }
}

fn send_account(n: [u64; Counts::N]) -> WatchSendAccount {
    let [.., seen, timed, merged, crowded, missed, bytes_timed, retransmitted] = n;
    WatchSendAccount { seen, timed, merged, crowded, missed, bytes_timed, retransmitted }
}

/// Behind the stages of each direction, in `enum span` in abi.h.
const TOTAL: usize = WatchStage::Socket as usize;
const APPLICATION: usize = TOTAL + 1;
const ANSWER: usize = APPLICATION + 1;
const BESIDE_RX: usize = 3;
const SEND_TOTAL: usize = WatchStage::ALL.len() + BESIDE_RX;
const ACKNOWLEDGED: usize = SEND_TOTAL + 1;

pub(super) fn span(stage: WatchStage) -> usize {
    let place = stage as usize;
    if place < TOTAL { place } else { place + BESIDE_RX }
}

impl Watch {
    /// What became of what came in.
    pub fn account(&self) -> Result<WatchAccount, WatchError> {
        self.counts().map(account)
    }

    /// What became of what was sent.
    pub fn send_account(&self) -> Result<WatchSendAccount, WatchError> {
        self.counts().map(send_account)
    }

    /// How long followed threads waited for a CPU, by the kernel's account, and which processes had it, the longest first.
    pub fn waits(&self) -> Result<CpuWaits, WatchError> {
        const HOLDERS: &str = "holders";
        let [.., waited_ns, _, _, _, _, _, _, _, _, _] = self.counts()?;
        holders::read(&self.map(HOLDERS)?, waited_ns).map_err(step("ask"))?.ok_or(WatchError::Abi(HOLDERS))
    }

    fn counts(&self) -> Result<[u64; Counts::N], WatchError> {
        let mut sum = [0; Counts::N];
        for cpu in self.per_cpu::<Counts>("counts", 0)? {
            sum.iter_mut().zip(cpu.n).for_each(|(sum, n)| *sum += n);
        }
        Ok(sum)
    }

    /// The times of the messages that passed a stage.
    pub fn stage(&self, stage: WatchStage) -> Result<Distribution, WatchError> {
        self.times(span(stage))
    }

    pub fn total(&self) -> Result<Distribution, WatchError> {
        self.times(TOTAL)
    }

    /// From the last byte that an application read to the first one that it sent; `None` where the kernel does not show
    /// that.
    pub fn application(&self) -> Result<Option<Distribution>, WatchError> {
        self.sees_sending.then(|| self.times(APPLICATION)).transpose()
    }

    /// Of clients, from the first byte that they send to the end of the copy of what comes next; `None` where the kernel
    /// does not show that.
    pub fn answer(&self) -> Result<Option<Distribution>, WatchError> {
        self.sees_sending.then(|| self.times(ANSWER)).transpose()
    }

    /// From the call that sends a message to the device.
    pub fn send_total(&self) -> Result<Distribution, WatchError> {
        self.times(SEND_TOTAL)
    }

    /// From the device to the acknowledgement.
    pub fn acknowledged(&self) -> Result<Distribution, WatchError> {
        self.times(ACKNOWLEDGED)
    }

    fn times(&self, span: usize) -> Result<Distribution, WatchError> {
        let (mut moments, mut histogram) = (Moments::default(), Histogram::new(GRAIN));
        for cpu in self.per_cpu::<Sums>("sums", span as u32)? {
            moments.merge(&Moments::from(&cpu.moments));
            add_buckets(&mut histogram, cpu.negative, &cpu.buckets);
        }
        Ok(Distribution { moments, histogram })
    }

    fn per_cpu<T: Plain>(&self, name: &'static str, place: u32) -> Result<Vec<T>, WatchError> {
        let cpus = self.map(name)?.lookup_percpu(&place.to_ne_bytes(), MapFlags::ANY).map_err(step("ask"))?;
        let cpus = cpus.ok_or(WatchError::Abi(name))?;
        cpus.iter().map(|bytes| from_bytes(bytes).ok_or(WatchError::Abi(name))).collect()
    }
}

crate::sums::moments!(copied::Moments);
