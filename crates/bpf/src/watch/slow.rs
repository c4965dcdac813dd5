//! Single messages that took long.

use std::sync::atomic::Ordering::Relaxed;

use netfathom_model::path::Direction;
use netfathom_model::record::{CpuStay, SlowMessage, WatchStage, WatchedSum};

use super::abi::copied;
use super::read::span;
use super::{SET, Watch};
use crate::holders::named;
use crate::mapping::from_bytes;
use crate::set::SetError;

/// No message takes so long; as a signed number it is that, too.
pub(super) const NEVER: u64 = i64::MAX as u64;

impl Watch {
    /// Messages that take so long in all are kept from now on, until [`Self::slow`] takes them.
    pub fn set_slow(&self, direction: Direction, bound_ns: u64) {
        let shared = self.mapping.get();
        let bound = match direction {
            Direction::Rx => &shared.slow_received_ns,
            Direction::Tx => &shared.slow_sent_ns,
        };
        bound.store(bound_ns.min(NEVER), Relaxed);
    }

    /// Those that were kept since the last call, as they ended.
    ///
    /// # Errors
    /// What the kernel refused.
    pub fn slow(&self) -> Result<Vec<SlowMessage>, SetError> {
        SET.take(&self.object, "slow", |bytes| from_bytes(bytes).map(|slow| message(&slow)))
    }

    /// How many found no room until they were taken.
    pub fn slow_lost(&self) -> u64 {
        self.mapping.get().slow_lost.load(Relaxed)
    }
}

fn message(slow: &copied::SlowMessage) -> SlowMessage {
    let direction = if slow.sent > 0 { Direction::Tx } else { Direction::Rx };
    let first = if slow.sent > 0 { WatchStage::Socket } else { WatchStage::Protocol };
    let sum = |&stage: &WatchStage| WatchedSum {
        stage,
        sum_ns: slow.stages[span(stage) - span(first)].cast_signed(),
    };
    let stages = WatchStage::of(direction).iter().map(sum);
    let stays = slow.stays.iter().take(slow.stays_n as usize).rev();
    SlowMessage {
        direction,
        begin_ns: slow.begin,
        end_ns: slow.end,
        bytes: slow.bytes,
        local: slow.socket.local(),
        peer: slow.socket.peer(),
        process: slow.socket.process(),
        stages: stages.filter(|sum| sum.sum_ns != 0).collect(),
        stays: stays
            .map(|stay| CpuStay {
                by: named(&stay.name, stay.process, stay.kernel > 0),
                own: stay.process == slow.reader,
                from_ns: stay.from,
                until_ns: stay.until,
            })
            .collect(),
    }
}
