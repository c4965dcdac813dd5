//! Single messages that took long.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{WatchStage, WatchedProcess, WatchedSum};
use crate::accounting::is_zero;
use crate::path::Direction;
use crate::record::holders::summed;
use crate::record::{Holder, Holders};

static QUOTA: Holder = Holder::Quota;

/// The messages that took long, as far as they were kept.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WatchSlow {
    /// When watching began, CLOCK_MONOTONIC.
    pub began_ns: u64,
    /// What came in is slow from here on, in the end; `None` if no bound was known yet.
    pub received_bound_ns: Option<u64>,
    /// What was sent is.
    pub sent_bound_ns: Option<u64>,
    /// How many were slow, and kept for a time: messages and answers.
    pub kept: u64,
    /// How many of these are answers: no message, but the time that a server took to answer.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub applications: u64,
    /// How many were slow, and found no room: messages and answers.
    pub lost: u64,
    /// How many of these are answers.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub applications_lost: u64,
    /// How many messages and answers were slow as netfathom itself had the CPU: they are not among those above, nor kept.
    #[serde(default)]
    pub by_netfathom: u64,
    /// How many of these are answers.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub applications_by_netfathom: u64,
    /// The latest of those that were kept, as they ended.
    pub messages: Vec<SlowMessage>,
}

impl WatchSlow {
    /// The most that are in a record.
    pub const MOST: usize = 256;

    /// Adds those that ended since. What netfathom made slow says nothing about the application.
    pub fn extend(&mut self, messages: Vec<SlowMessage>) {
        let (own, kept): (Vec<_>, Vec<_>) = messages.into_iter().partition(SlowMessage::is_by_netfathom);
        for (of, all, answers) in [
            (&own, &mut self.by_netfathom, &mut self.applications_by_netfathom),
            (&kept, &mut self.kept, &mut self.applications),
        ] {
            *all += of.len() as u64;
            *answers += of.iter().filter(|message| message.application).count() as u64;
        }
        self.messages.extend(kept);
        self.messages.drain(..self.messages.len().saturating_sub(Self::MOST));
    }

    /// How many were slow, and not by netfathom: messages and answers.
    #[must_use]
    pub fn seen(&self) -> u64 {
        self.kept.saturating_add(self.lost)
    }

    /// How many of these are answers.
    pub fn seen_answers(&self) -> u64 {
        self.applications.saturating_add(self.applications_lost)
    }

    /// How many are messages.
    pub fn seen_messages(&self) -> u64 {
        self.seen().saturating_sub(self.seen_answers())
    }

    /// The part that netfathom made slow of all messages and answers that were, 0 to 1.
    #[must_use]
    pub fn share_by_netfathom(&self) -> f64 {
        self.by_netfathom as f64 / self.seen().saturating_add(self.by_netfathom).max(1) as f64
    }

    /// Those that were kept after the first `kept`, as far as they are still there.
    #[must_use]
    pub fn after(&self, kept: u64) -> &[SlowMessage] {
        let new = usize::try_from(self.kept.saturating_sub(kept)).unwrap_or(usize::MAX);
        &self.messages[self.messages.len().saturating_sub(new)..]
    }
}

/// A message that took long.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SlowMessage {
    /// Whether it came in or was sent.
    pub direction: Direction,
    /// It is no message, but the time from the last byte that a server read to the first byte of its answer. Then `runqueue`,
    /// `blocked` and, for the rest, `sockqueue` are those of the thread that answered; there are none where that is unknown.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub application: bool,
    /// At the link layer, or in the call that sends; CLOCK_MONOTONIC.
    pub begin_ns: u64,
    /// When it was read, or the device got it.
    pub end_ns: u64,
    /// Its size.
    pub bytes: u32,
    /// Address and port of its socket.
    pub local: Option<String>,
    /// Those of the other end.
    pub peer: Option<String>,
    /// The process that used the socket first.
    pub process: Option<WatchedProcess>,
    /// The stages that it passed; they add up to its time.
    pub stages: Vec<WatchedSum>,
    /// The part of `blocked` in which a signal or a debugger stopped the reader.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub stopped_ns: u64,
    /// The part of `runqueue` in which the CPU quota of its reader's cgroup was used up.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub throttled_ns: u64,
    /// Of what came in: who had the CPU on which it was read, since it came; the first first.
    pub stays: Vec<CpuStay>,
}

impl SlowMessage {
    /// How long it took.
    #[must_use]
    pub fn total_ns(&self) -> i64 {
        self.end_ns.wrapping_sub(self.begin_ns).cast_signed()
    }

    /// What tables call a stage of it: a thread that answers and does not wait runs.
    #[must_use]
    pub fn named(&self, stage: WatchStage) -> &'static str {
        if self.application && stage == WatchStage::Sockqueue { "ran" } else { stage.name() }
    }

    /// The stage that has most of it.
    #[must_use]
    pub fn most(&self) -> Option<WatchedSum> {
        self.stages.iter().copied().max_by_key(|stage| stage.sum_ns)
    }

    /// Who had that CPU longest until it was read, beside its reader, and how long: not while it waited alone. All processes
    /// of a name are one. The quota instead, where it is why the reader waited.
    #[must_use]
    pub fn holder(&self) -> Option<(Holders<'_>, u64)> {
        if self.is_by_quota() {
            return summed([(&QUOTA, self.throttled_ns)], Holder::shown).into_iter().next();
        }
        let others = self.stays.iter().filter(|stay| !stay.own);
        let held = others.map(|stay| (&stay.by, stay.within(self.begin_ns, self.end_ns)));
        // One that came several times is one.
        let each = summed(held.filter(|held| held.1 > 0), |by| by);
        summed(each.into_iter().map(|(by, ns)| (by.first, ns)), Holder::shown).into_iter().next()
    }

    /// How long it had that CPU until the message was read.
    fn held_ns(&self, by: &Holder) -> u64 {
        let stays = self.stays.iter().filter(|stay| !stay.own && stay.by == *by);
        stays.map(|stay| stay.within(self.begin_ns, self.end_ns)).fold(0, u64::saturating_add)
    }

    /// What its reader waited for a CPU.
    #[must_use]
    pub fn waited_ns(&self) -> u64 {
        let waited = self.stages.iter().find(|sum| sum.stage == WatchStage::Runqueue);
        waited.map_or(0, |sum| sum.sum_ns.max(0).unsigned_abs())
    }

    /// At least so much of that none of those accounts for: they may have had the CPU before it waited, or after.
    #[must_use]
    pub fn unknown_ns(&self) -> u64 {
        let others = self.stays.iter().filter(|stay| !stay.own);
        let held = others.map(|stay| stay.within(self.begin_ns, self.end_ns)).fold(0, u64::saturating_add);
        self.waited_ns().saturating_sub(held).saturating_sub(self.throttled_ns)
    }

    /// Whether the quota was used up for half of that wait or more: who had the CPU meanwhile kept the reader from nothing.
    fn is_by_quota(&self) -> bool {
        self.throttled_ns > 0 && self.throttled_ns.saturating_mul(2) >= self.waited_ns()
    }

    /// Whether it waited for that CPU for half of the time or more, and netfathom itself had it so long.
    #[must_use]
    pub fn is_by_netfathom(&self) -> bool {
        let half_ns = self.total_ns().max(0).unsigned_abs().div_ceil(2);
        let held_ns = self.held_ns(&Holder::Netfathom);
        held_ns > 0 && !self.is_by_quota() && held_ns.min(self.waited_ns()) >= half_ns
    }
}

/// A time in which a process had a CPU.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CpuStay {
    /// Which.
    pub by: Holder,
    /// It is the one that read.
    pub own: bool,
    /// CLOCK_MONOTONIC.
    pub from_ns: u64,
    /// CLOCK_MONOTONIC.
    pub until_ns: u64,
}

impl CpuStay {
    /// How much of it lies between these times.
    #[must_use]
    pub fn within(&self, from_ns: u64, until_ns: u64) -> u64 {
        self.until_ns.min(until_ns).saturating_sub(self.from_ns.max(from_ns))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(begin_ns: u64) -> SlowMessage {
        let by = |name: &str| Holder::Kernel { name: name.into() };
        let stay = |name, from_ns, until_ns| CpuStay { by: by(name), own: name == "own", from_ns, until_ns };
        SlowMessage {
            direction: Direction::Rx,
            application: false,
            begin_ns,
            end_ns: begin_ns + 100,
            bytes: 1,
            local: None,
            peer: None,
            process: None,
            stages: Vec::new(),
            stopped_ns: 0,
            throttled_ns: 0,
            stays: vec![
                stay("a", 0, begin_ns + 30),
                stay("b", begin_ns + 30, begin_ns + 40),
                stay("own", begin_ns + 40, begin_ns + 95),
                stay("a", begin_ns + 95, begin_ns + 200),
            ],
        }
    }

    #[test]
    fn the_latest_are_kept_and_all_are_counted() {
        let mut slow = WatchSlow::default();
        slow.extend((0..200).map(message).collect());
        slow.extend((200..300).map(message).collect());
        assert_eq!((slow.seen(), slow.messages.len(), slow.messages[0].begin_ns), (300, 256, 44));
        assert_eq!(slow.after(200), &slow.messages[156..]);
        assert_eq!(slow.after(0).len(), 256);
    }

    #[test]
    fn answers_are_a_part_of_what_is_kept_and_of_what_found_no_room() {
        let mut slow = WatchSlow { lost: 5, applications_lost: 3, ..WatchSlow::default() };
        let application = SlowMessage { application: true, ..message(1) };
        assert_eq!(application.named(WatchStage::Sockqueue), "ran");
        assert_eq!(message(1).named(WatchStage::Sockqueue), "sockqueue");
        assert_eq!(application.named(WatchStage::Blocked), "blocked");
        slow.extend(vec![message(0), application]);
        assert_eq!((slow.kept, slow.seen(), slow.seen_messages(), slow.seen_answers()), (2, 7, 3, 4));
    }

    #[test]
    fn what_netfathom_made_slow_is_counted_apart() {
        let by_netfathom = |held_ns: u64| {
            let mut message = message(1000);
            message.stays[0] =
                CpuStay { by: Holder::Netfathom, own: false, from_ns: 0, until_ns: 1000 + held_ns };
            message.stages = vec![WatchedSum { stage: WatchStage::Runqueue, sum_ns: 60 }];
            message
        };
        // It slept on something else meanwhile.
        let mut blocked = by_netfathom(60);
        blocked.stages[0].stage = WatchStage::Blocked;
        let mut watched = by_netfathom(60);
        watched.stays[0].own = true;
        let mut slow = WatchSlow { lost: 1, ..WatchSlow::default() };
        let answer = SlowMessage { application: true, ..by_netfathom(60) };
        slow.extend(vec![by_netfathom(60), message(2000), by_netfathom(40), watched, blocked, answer]);
        assert_eq!((slow.by_netfathom, slow.applications_by_netfathom), (2, 1));
        assert_eq!((slow.kept, slow.seen(), slow.messages.len(), slow.seen_answers()), (4, 5, 4, 0));
        assert_eq!(slow.share_by_netfathom(), 2.0 / 7.0);
        assert_eq!(WatchSlow::default().share_by_netfathom(), 0.0);
    }

    #[test]
    fn who_had_most_of_the_time_is_known_by_all_of_its_parts() {
        let message = message(1000);
        assert_eq!(message.holder(), Some((Holders::from(&Holder::Kernel { name: "a".into() }), 35)));
    }

    #[test]
    fn who_had_most_of_the_time_may_be_several_processes_of_a_name() {
        let stay = |name: &str, pid, from_ns, until_ns| {
            let by = Holder::Process { name: name.into(), pid, cgroup: None };
            CpuStay { by, own: false, from_ns, until_ns }
        };
        let mut message = message(1000);
        message.stays =
            vec![stay("cc1", 8, 1000, 1030), stay("tar", 7, 1030, 1070), stay("cc1", 9, 1070, 1100)];
        let (by, ns) = message.holder().unwrap();
        assert_eq!((by.to_string().as_str(), ns), ("cc1 (2 processes)", 60));
    }

    #[test]
    fn a_quota_that_is_used_up_for_half_of_a_wait_is_the_holder() {
        let of = |throttled_ns| {
            let stages = vec![WatchedSum { stage: WatchStage::Runqueue, sum_ns: 90 }];
            let message = SlowMessage { throttled_ns, stages, ..message(1000) };
            (message.holder().unwrap().0.first.clone(), message.unknown_ns())
        };
        // The others had it for 30 + 10 + 5.
        assert_eq!(of(45), (Holder::Quota, 0));
        assert_eq!(of(44), (Holder::Kernel { name: "a".into() }, 1));
    }

    #[test]
    fn what_no_stay_accounts_for_is_unknown() {
        let mut message = message(1000);
        let mut unknown_ns = |waited_ns| {
            message.stages = vec![WatchedSum { stage: WatchStage::Runqueue, sum_ns: waited_ns }];
            message.unknown_ns()
        };
        // The others had it for 30 + 10 + 5.
        assert_eq!([45, 46, 90, -1].map(&mut unknown_ns), [0, 1, 45, 0]);
    }
}
