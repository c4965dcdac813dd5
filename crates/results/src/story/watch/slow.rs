//! Single messages that took long, where they were asked for.

use netfathom_model::path::Direction;
use netfathom_model::plan::SlowBound;
use netfathom_model::print::counted;
use netfathom_model::record::{Holder, SlowMessage, WatchResult, WatchSlow, WatchStage};

use super::way;
use crate::page::{Page, Table};
use crate::story::number;

/// Beyond these the record has more.
const MOST_ROWS: usize = 5;

/// `3 messages took 10 ms or longer, the longest 41.2 ms: blocked 97.1 %`
pub(super) fn remark(slow: &WatchSlow, bound: Option<SlowBound>) -> Option<String> {
    let beyond = format!("took {}", named(bound?));
    let Some(longest) = slow.messages.iter().max_by_key(|message| message.total_ns()) else {
        return Some(format!("no message {beyond}"));
    };
    let messages = counted(slow.seen(), "message");
    let (time, most) = (number::time(longest.total_ns()), largest(longest));
    Some(format!("{messages} {beyond}, the longest {time}: {most}"))
}

pub(super) fn named(bound: SlowBound) -> String {
    match bound {
        SlowBound::Time(ns) => format!("{} or longer", number::time(ns.cast_signed())),
        SlowBound::Quantile(q) => format!("at least the p{} before them", (q * 1e5).round() / 1e3),
    }
}

fn largest(message: &SlowMessage) -> String {
    let Some(most) = message.most() else { return "no stage".into() };
    let share = most.sum_ns as f64 / (message.total_ns() as f64).max(1.0);
    format!("{} {}", most.stage.name(), number::percent(share))
}

pub(super) fn slow(page: &mut Page, result: &WatchResult) {
    let Some(slow) = &result.slow else { return };
    let mut messages: Vec<&SlowMessage> = slow.messages.iter().collect();
    messages.sort_by_key(|message| std::cmp::Reverse(message.total_ns()));
    let Some(longest) = messages.first() else { return };
    let is_alone = result.plan.directions.len() == 1;
    page.main("Slow messages, the longest first");
    page.table(table(slow, &messages[..messages.len().min(MOST_ROWS)], is_alone));
    page.note(&kept(slow));
    way::waterfall_of(page, longest);
}

/// What of them is in the record.
fn kept(slow: &WatchSlow) -> String {
    let (kept, seen) = (number::count(slow.messages.len() as u64), number::count(slow.seen()));
    let lost = match slow.lost {
        0 => String::new(),
        lost => format!("; {} came too fast to be kept", number::count(lost)),
    };
    format!("the record has the last {kept} of {seen}; netfathom export --to perfetto draws them{lost}")
}

/// Otherwise it does not matter who had the CPU.
fn waited_much(message: &SlowMessage) -> bool {
    let runqueue = message.stages.iter().find(|sum| sum.stage == WatchStage::Runqueue);
    runqueue.is_some_and(|sum| sum.sum_ns as f64 >= message.total_ns() as f64 / 10.0)
}

/// The record has its number too, for which there is no room.
fn held(by: &Holder, ns: u64) -> String {
    let by = if let Holder::Process { name, .. } = by { name.clone() } else { by.to_string() };
    format!("{by} {}", number::time(ns.cast_signed()))
}

fn table(slow: &WatchSlow, messages: &[&SlowMessage], is_alone: bool) -> Table {
    let mut table =
        Table::of("at|<peer|time|<largest stage|<CPU held by").words((!is_alone).then_some("way"));
    for message in messages {
        let at = message.begin_ns.saturating_sub(slow.began_ns);
        let peer = message.peer.as_ref().or(message.local.as_ref()).cloned().unwrap_or_default();
        let holder = message.holder().filter(|held| held.1 > 0 && waited_much(message));
        let holder = holder.map_or_else(String::new, |(by, ns)| held(by, ns));
        let mut cells =
            vec![number::seconds(at), peer, number::time(message.total_ns()), largest(message), holder];
        let way = if message.direction == Direction::Rx { "rx" } else { "tx" };
        cells.extend((!is_alone).then(|| way.to_owned()));
        table.row(cells);
    }
    table
}
