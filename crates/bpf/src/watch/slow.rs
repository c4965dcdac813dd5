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

    /// The same of what servers take from their read to their answer, over TCP.
    pub fn set_slow_application(&self, bound_ns: u64) {
        self.mapping.get().slow_application_ns.store(bound_ns.min(NEVER), Relaxed);
    }

    /// Those that were kept since the last call, as they ended.
    ///
    /// # Errors
    /// What the kernel refused.
    pub fn slow(&self) -> Result<Vec<SlowMessage>, SetError> {
        SET.take(&self.object, "slow", |bytes| from_bytes(bytes).map(|slow| message(&slow)))
    }

    /// How many found no room until they were taken: messages and answers.
    pub fn slow_lost(&self) -> u64 {
        self.mapping.get().slow_lost.load(Relaxed)
    }

    /// How many of these are answers; to be read before them.
    pub fn slow_applications_lost(&self) -> u64 {
        self.mapping.get().slow_applications_lost.load(Relaxed)
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
        application: slow.application > 0,
        begin_ns: slow.begin,
        end_ns: slow.end,
        bytes: slow.bytes,
        local: slow.socket.local(),
        peer: slow.socket.peer(),
        process: slow.socket.process(),
        stages: stages.filter(|sum| sum.sum_ns != 0).collect(),
        stopped_ns: slow.stopped,
        throttled_ns: slow.throttled,
        stays: stays
            .map(|stay| CpuStay {
                by: named(&stay.name, stay.process, stay.thread == 0),
                // Each thread of the kernel is a process.
                own: slow.reader == if stay.thread > 0 { stay.thread } else { stay.process },
                from_ns: stay.from,
                until_ns: stay.until,
            })
            .collect(),
    }
}

#[cfg(test)]
mod tests {
    use netfathom_model::record::Holder;

    use super::*;

    #[test]
    fn another_thread_of_its_process_is_not_the_reader() {
        let mut slow: copied::SlowMessage = from_bytes(&[0; size_of::<copied::SlowMessage>()]).unwrap();
        slow.stays_n = 3;
        // The newest first; the oldest is the kernel's.
        for (stay, of) in slow.stays.iter_mut().zip([(8, 7), (7, 7), (0, 6)]) {
            (stay.thread, stay.process) = of;
        }
        let mut stays_of = |reader| {
            slow.reader = reader;
            message(&slow).stays
        };
        let own = |stays: Vec<CpuStay>| stays.iter().map(|stay| stay.own).collect::<Vec<_>>();
        assert_eq!(own(stays_of(8)), [false, false, true]);
        assert_eq!(own(stays_of(6)), [true, false, false]);
        assert_eq!(stays_of(8)[0].by, Holder::Kernel { name: String::new() });
    }
}
