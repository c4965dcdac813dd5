//! Packets that the kernel dropped, and why.

use libbpf_rs::{MapCore, MapFlags};
use netfathom_model::path::Direction;
use netfathom_model::record::WatchDrop;

use super::abi::copied::DropKey;
use super::{SET, Watch};
use crate::drop_reason;
use crate::mapping::from_bytes;
use crate::set::SetError;

pub(super) const HOOK: &str = "kfree_skb";
/// Of its arguments, counted from 0, the socket that the packet came for: Linux 6.11.
pub(super) const RECEIVER: usize = 3;

const MAP: &str = "drops";

impl Watch {
    /// Packets of watched sockets that the kernel dropped, the most frequent reason first. Before Linux 6.11 most that came
    /// are not among them.
    ///
    /// # Errors
    /// What the kernel refused.
    pub fn drops(&self) -> Result<Vec<WatchDrop>, SetError> {
        let map = SET.map(&self.object, MAP)?;
        let mut drops = Vec::new();
        for key in map.keys() {
            let Some(value) = map.lookup(&key, MapFlags::ANY).map_err(SET.step("ask"))? else { continue };
            let count = value.try_into().map(u64::from_ne_bytes).ok();
            let (key, packets) = from_bytes::<DropKey>(&key).zip(count).ok_or_else(|| SET.abi(MAP))?;
            let direction = if key.sent > 0 { Direction::Tx } else { Direction::Rx };
            let reason = reason(key.reason);
            // A socket that is closed drops what is in its queues, such as the end of the stream.
            if reason == "QUEUE_PURGE" {
                continue;
            }
            drops.push(WatchDrop { direction, reason, packets });
        }
        drops.sort_by_key(|drop| std::cmp::Reverse(drop.packets));
        Ok(drops)
    }
}

/// As this kernel calls it. Other subsystems have reasons of their own, without names.
fn reason(number: u32) -> String {
    drop_reason::names().get(&number).cloned().unwrap_or_else(|| format!("{number:#x}"))
}
