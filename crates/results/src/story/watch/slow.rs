//! Single messages that took long, where they were asked for.

use netfathom_model::plan::SlowBound;
use netfathom_model::print::counted;
use netfathom_model::record::{Distribution, Holder, SlowMessage, WatchResult, WatchSlow};

use super::way;
use crate::page::{Page, Table};
use crate::story::number;

/// Beyond these the record has more.
const MOST_ROWS: usize = 5;

/// `3 messages took 10 ms or longer, the longest 41.2 ms: blocked 97.1 %`
pub(super) fn remark(slow: &WatchSlow, bound: Option<SlowBound>) -> Option<String> {
    let beyond = format!("took {}", named(bound?));
    let without = without(slow);
    let Some(longest) = slow.messages.iter().max_by_key(|message| message.total_ns()) else {
        return Some(format!("no message {beyond}{without}"));
    };
    let messages = counted(slow.seen(), "message");
    let (time, most) = (number::time(longest.total_ns()), largest(longest));
    let held = held(longest).map_or_else(String::new, |held| format!(" ({held})"));
    Some(format!("{messages} {beyond}, the longest {time}: {most}{held}{without}"))
}

/// `the application itself took up to 41.2 ms`: the time of a message ends with its read, and no list has what follows.
pub(super) fn of_application(bound: Option<SlowBound>, application: Option<&Distribution>) -> Option<String> {
    let (SlowBound::Time(least_ns), times) = (bound?, application?) else { return None };
    (times.n > 0 && times.max_ns >= least_ns.cast_signed()).then(|| {
        format!(
            "the application itself took up to {} from its read to its answer, which is not in a message's time",
            number::time(times.max_ns)
        )
    })
}

fn without(slow: &WatchSlow) -> String {
    match slow.by_netfathom {
        0 => String::new(),
        n => {
            let but = if slow.messages.is_empty() { ", except" } else { "; besides" };
            format!("{but} {} while netfathom itself held the CPU", number::count(n))
        }
    }
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

/// Below that part of its time it does not matter who had the CPU.
const LEAST_WAITED: f64 = 0.1;

/// Who had the CPU since the message came, and what of the wait for it that leaves: `redis-benchmark 174 µs; 3.87 ms
/// unknown`. The record has the number of the process too, for which there is no room.
fn held(message: &SlowMessage) -> Option<String> {
    let (waited_ns, unknown_ns) = (message.waited_ns(), message.unknown_ns());
    if waited_ns == 0 || (waited_ns as f64) < LEAST_WAITED * message.total_ns() as f64 {
        return None;
    }
    let time = |ns: u64| number::time(ns.cast_signed());
    let most = message.holder().filter(|held| held.1 > 0).map(|(by, ns)| {
        let by = match by {
            Holder::Process { name, .. } | Holder::Unnumbered { name } => name.clone(),
            _ => by.to_string(),
        };
        format!("{by} {}", time(ns))
    });
    if (unknown_ns as f64) < way::LEAST_UNKNOWN * waited_ns as f64 {
        return most;
    }
    let unknown = format!("{} unknown", time(unknown_ns));
    Some(most.into_iter().chain([unknown]).collect::<Vec<_>>().join("; "))
}

fn table(slow: &WatchSlow, messages: &[&SlowMessage], is_alone: bool) -> Table {
    let mut table = Table::of("<largest stage|time|at|<peer").words((!is_alone).then_some("way"));
    table = table.words(["CPU held by"]);
    for message in messages {
        let at = message.begin_ns.saturating_sub(slow.began_ns);
        let peer = message.peer.as_ref().or(message.local.as_ref()).cloned().unwrap_or_default();
        let mut cells = vec![largest(message), number::time(message.total_ns()), number::seconds(at), peer];
        cells.extend((!is_alone).then(|| message.direction.name().to_owned()));
        table.row_open(cells, &held(message).unwrap_or_default());
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_application_that_is_as_slow_is_named_beside_messages() {
        let words = |max_ns, bound| {
            let mut times = netfathom_stats::Distribution::new(5);
            (max_ns > 0).then(|| times.add(max_ns));
            let times = Distribution::from(&times);
            of_application(Some(bound), Some(&times))
        };
        let ten = SlowBound::Time(10_000_000);
        assert!(words(11_700_000, ten).unwrap().contains("up to 11.7 ms from its read to its answer"));
        assert_eq!(
            [words(9_999_999, ten), words(0, ten), words(11_700_000, SlowBound::Quantile(0.999))],
            [None, None, None]
        );
        assert_eq!(of_application(Some(ten), None), None);
    }

    #[test]
    fn what_netfathom_made_slow_is_counted_apart() {
        let words = |by_netfathom| {
            let slow = WatchSlow { by_netfathom, ..WatchSlow::default() };
            remark(&slow, Some(SlowBound::Time(10_000_000))).unwrap()
        };
        assert_eq!(words(0), "no message took 10.0 ms or longer");
        assert_eq!(
            words(2),
            "no message took 10.0 ms or longer, except 2 while netfathom itself held the CPU"
        );
    }
}
