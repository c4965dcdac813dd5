//! What became of messages and packets, by the names in the record.

use std::collections::BTreeMap;
use std::mem;

use netfathom_model::path::Direction;
use netfathom_model::record::{WatchDrop, WatchResult};

/// How many messages were seen, and what they became; empty if that direction is not watched.
pub type Account = BTreeMap<&'static str, u64>;

#[derive(Clone, Debug, Default)]
pub struct Counts {
    pub receive: Account,
    pub send: Account,
    pub drops: Vec<WatchDrop>,
}

impl Counts {
    fn of(result: &WatchResult) -> Self {
        let received = Some(&result.account).filter(|_| result.plan.watches(Direction::Rx));
        let sent = result.send.as_ref().map(|send| &send.account);
        Self {
            receive: received.map(|of| account(of.seen, &of.outcomes())).unwrap_or_default(),
            send: sent.map(|of| account(of.seen, &of.outcomes())).unwrap_or_default(),
            drops: result.drops.clone(),
        }
    }

    /// Those since the last time, and keeps the new ones for the next.
    pub fn next(&mut self, so_far: &WatchResult) -> Self {
        let last = mem::replace(self, Self::of(so_far));
        self.since(&last)
    }

    fn since(&self, last: &Self) -> Self {
        Self {
            receive: since(&self.receive, &last.receive),
            send: since(&self.send, &last.send),
            drops: dropped(&self.drops, &last.drops),
        }
    }
}

fn account(seen: u64, outcomes: &[(&'static str, u64)]) -> Account {
    [("seen", seen)].into_iter().chain(outcomes.iter().copied()).collect()
}

fn since(now: &Account, last: &Account) -> Account {
    now.iter().map(|(name, n)| (*name, n.saturating_sub(last.get(name).copied().unwrap_or(0)))).collect()
}

/// The most frequent reason need not be the same in each second.
fn dropped(now: &[WatchDrop], last: &[WatchDrop]) -> Vec<WatchDrop> {
    let before = |of: &WatchDrop| {
        let same = last.iter().find(|drop| (drop.direction, &drop.reason) == (of.direction, &of.reason));
        same.map_or(0, |drop| drop.packets)
    };
    let since =
        now.iter().map(|of| WatchDrop { packets: of.packets.saturating_sub(before(of)), ..of.clone() });
    since.filter(|of| of.packets > 0).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_those_since_the_last_state() {
        let drop = |direction, reason: &str, packets| WatchDrop { direction, reason: reason.into(), packets };
        let state = |seen, refused, drops| Counts {
            receive: account(seen, &[("refused", refused)]),
            drops,
            ..Counts::default()
        };
        let (full, filtered) = ("SOCKET_RCVBUFF", "NETFILTER_DROP");
        let last = state(10, 3, vec![drop(Direction::Rx, full, 3), drop(Direction::Rx, filtered, 2)]);
        let drops = [(Direction::Rx, filtered, 7), (Direction::Rx, full, 3), (Direction::Tx, filtered, 1)];
        let now = state(25, 7, drops.map(|(way, reason, n)| drop(way, reason, n)).into());
        let second = now.since(&last);
        assert_eq!(second.receive, Account::from([("seen", 15), ("refused", 4)]));
        assert_eq!(second.drops, [drop(Direction::Rx, filtered, 5), drop(Direction::Tx, filtered, 1)]);
        assert_eq!(now.since(&Counts::default()).receive, now.receive);
    }
}
