//! What the programs counted and summed.

use std::sync::atomic::Ordering::Relaxed;

use netfathom_model::record::{CpuWaits, WatchAccount, WatchSendAccount, WatchSent, WatchStage};
use netfathom_stats::{Distribution, Histogram, Moments};

use super::abi::copied::{self, Counts, Sums};
use super::{SET, Watch, abi};
use crate::set::SetError;
use crate::sums::{GRAIN, add_buckets};
use crate::{holders, run_time};

/// One of those that the programs count.
type Count = fn(&Counts) -> u64;

/// The stages of a direction have the same order in abi.h.
pub(super) fn span(stage: WatchStage) -> usize {
    match (stage as usize).checked_sub(WatchStage::Socket as usize) {
        Some(sent) => abi::SPAN_TX_SOCKET as usize + sent,
        None => abi::SPAN_PROTOCOL as usize + stage as usize,
    }
}

impl Watch {
    /// What became of what came in.
    pub fn account(&self) -> Result<WatchAccount, SetError> {
        let n = self.counts()?;
        Ok(WatchAccount {
            seen: n(|c| c.seen),
            timed: n(|c| c.timed),
            merged: n(|c| c.merged),
            refused: n(|c| c.refused),
            unstamped: n(|c| c.unstamped),
            unfollowed: n(|c| c.unfollowed),
            crowded: n(|c| c.crowded),
            long: n(|c| c.long_away),
            bytes_read: n(|c| c.bytes_read),
            bytes_timed: n(|c| c.bytes_timed),
            bytes_outside: n(|c| c.bytes_outside),
            threads: n(|c| c.threads),
            unseen_switches: n(|c| c.unseen),
            mptcp: n(|c| c.mptcp),
            encrypted: n(|c| c.tls),
            udp: n(|c| c.udp),
            stopped_ns: n(|c| c.stopped_ns),
            // Of both directions, and so not only of these.
            missed_events: 0,
        })
    }

    /// Events that a program did not see, as it was still running on that CPU, of all sockets and threads of the host.
    pub fn missed_events(&self) -> Result<u64, SetError> {
        // Of a packet that was dropped no message has times anyway.
        let missed = run_time::missed(&self.object, |program| program == "on_kfree_skb");
        missed.map_err(libbpf_rs::Error::from).map_err(SET.step("read the runs of"))
    }

    /// What became of what was sent.
    pub fn send_account(&self) -> Result<WatchSendAccount, SetError> {
        let n = self.counts()?;
        Ok(WatchSendAccount {
            seen: n(|c| c.tx_seen),
            timed: n(|c| c.tx_timed),
            merged: n(|c| c.tx_merged),
            crowded: n(|c| c.tx_crowded),
            missed: n(|c| c.tx_missed),
            dropped: Some(n(|c| c.tx_dropped)),
            bytes_timed: n(|c| c.tx_bytes_timed),
            retransmitted: n(|c| c.tx_retransmitted),
            udp: n(|c| c.tx_udp),
            receiver_window: self.mapping.get().widest.load(Relaxed),
            unix: self
                .follows_unix
                .then(|| WatchSent { messages: n(|c| c.tx_unix), bytes: n(|c| c.tx_unix_bytes) }),
        })
    }

    /// How long followed threads waited for a CPU, by the kernel's account, and which processes had it, the longest first.
    pub fn waits(&self) -> Result<CpuWaits, SetError> {
        holders::read(&SET, &self.object, || Ok(self.counts()?(|c| c.waited_ns)))
    }

    /// A count of all CPUs.
    fn counts(&self) -> Result<impl Fn(Count) -> u64 + use<>, SetError> {
        let cpus = SET.per_cpu::<Counts>(&self.object, "counts", 0)?;
        Ok(move |count: Count| cpus.iter().map(count).sum())
    }

    /// The times of the messages that passed a stage.
    pub fn stage(&self, stage: WatchStage) -> Result<Distribution, SetError> {
        self.times(span(stage) as u32)
    }

    pub fn total(&self) -> Result<Distribution, SetError> {
        self.times(abi::SPAN_TOTAL)
    }

    /// From the last byte that an application read to the first one that it sent; `None` where the kernel does not show
    /// that.
    pub fn application(&self) -> Result<Option<Distribution>, SetError> {
        (self.sees_sending || self.follows_unix).then(|| self.times(abi::SPAN_APPLICATION)).transpose()
    }

    /// Of clients, from the first byte that they send to the end of the copy of what comes next; `None` where the kernel
    /// does not show that.
    pub fn answer(&self) -> Result<Option<Distribution>, SetError> {
        self.sees_sending.then(|| self.times(abi::SPAN_ANSWER)).transpose()
    }

    /// From the call that sends a message to the device.
    pub fn send_total(&self) -> Result<Distribution, SetError> {
        self.times(abi::SPAN_TX_TOTAL)
    }

    /// From the device to the acknowledgment.
    pub fn acknowledged(&self) -> Result<Distribution, SetError> {
        self.times(abi::SPAN_TX_ACKED)
    }

    fn times(&self, span: u32) -> Result<Distribution, SetError> {
        let (mut moments, mut histogram) = (Moments::default(), Histogram::new(GRAIN));
        for cpu in SET.per_cpu::<Sums>(&self.object, "sums", span)? {
            moments.merge(&Moments::from(&cpu.moments));
            add_buckets(&mut histogram, cpu.negative, &cpu.buckets);
        }
        Ok(Distribution { moments, histogram })
    }
}

crate::sums::moments!(copied::Moments);
