//! Single messages that took long, where they were asked for.

use netfathom_model::plan::SlowBound;
use netfathom_model::print::counted;
use netfathom_model::record::{
    Distribution, Holder, SlowMessage, WatchResult, WatchSlow, WatchStage, end_named,
};

use super::way;
use crate::page::{Page, Table};
use crate::story::number;

/// Beyond these the record has more.
const MOST_ROWS: usize = 5;

/// `3 messages took 10 ms or longer, the longest 41.2 ms: blocked 97.1 %`
pub(super) fn remark(slow: &WatchSlow, bound: Option<SlowBound>) -> Option<String> {
    let beyond = named(bound?);
    let by_netfathom = slow.by_netfathom.saturating_sub(slow.applications_by_netfathom);
    Some(taken(slow.seen_messages(), "message", &beyond, longest(slow, false), by_netfathom))
}

/// `2 answers took 500 ms or longer from the application's read, the longest 1.70 s: blocked 99.8 %`
pub(super) fn answers(slow: &WatchSlow, bound: Option<SlowBound>) -> Option<String> {
    let (count, by_netfathom) = (slow.seen_answers(), slow.applications_by_netfathom);
    let beyond = format!("{} from the application's read", named(bound?));
    (count.max(by_netfathom) > 0).then(|| taken(count, "answer", &beyond, longest(slow, true), by_netfathom))
}

/// `longest` is missing where the record has the latest others alone.
fn taken(count: u64, what: &str, beyond: &str, longest: Option<&SlowMessage>, by_netfathom: u64) -> String {
    let without = without(count, by_netfathom);
    if count == 0 {
        return format!("no {what} took {beyond}{without}");
    }
    let longest = longest.map_or_else(String::new, |longest| {
        let held = held(longest).map_or_else(String::new, |held| format!(" ({held})"));
        format!(", the longest {}: {}{held}", number::time(longest.total_ns()), largest(longest))
    });
    format!("{} took {beyond}{longest}{without}", counted(count, what))
}

fn longest(slow: &WatchSlow, application: bool) -> Option<&SlowMessage> {
    let those = slow.messages.iter().filter(|message| message.application == application);
    those.max_by_key(|message| message.total_ns())
}

/// `the application itself took up to 41.2 ms`: where no such time was kept.
pub(super) fn of_application(bound: Option<SlowBound>, application: Option<&Distribution>) -> Option<String> {
    let (SlowBound::Time(least_ns), times) = (bound?, application?) else { return None };
    (times.n > 0 && times.max_ns >= least_ns.cast_signed()).then(|| {
        format!(
            "the application itself took up to {} from its read to its answer, which is not in a message's time",
            number::time(times.max_ns)
        )
    })
}

fn without(count: u64, by_netfathom: u64) -> String {
    match by_netfathom {
        0 => String::new(),
        n => {
            let but = if count == 0 { ", except" } else { "; besides" };
            format!("{but} {} while netfathom itself held the CPU", number::count(n))
        }
    }
}

pub(super) fn named(bound: SlowBound) -> String {
    match bound {
        SlowBound::Time(ns) => format!("{} or longer", number::time(ns.cast_signed())),
        SlowBound::Quantile(q) => {
            let (p, least) = ((q * 1e5).round() / 1e3, number::count(bound.known_after()));
            format!("at least the p{p} of the messages before them, {least} or more")
        }
    }
}

fn largest(message: &SlowMessage) -> String {
    let none = if message.application { "unknown" } else { "no stage" };
    let Some(most) = message.most() else { return none.into() };
    let share = most.sum_ns as f64 / (message.total_ns() as f64).max(1.0);
    let is_stopped = most.stage == WatchStage::Blocked && message.stopped_ns > most.sum_ns.unsigned_abs() / 2;
    let stopped = if is_stopped { " (stopped)" } else { "" };
    format!("{} {}{stopped}", message.named(most.stage), number::percent(share))
}

pub(super) fn slow(page: &mut Page, result: &WatchResult) {
    let Some(slow) = &result.slow else { return };
    let mut messages: Vec<&SlowMessage> = slow.messages.iter().collect();
    messages.sort_by_key(|message| std::cmp::Reverse(message.total_ns()));
    if messages.is_empty() {
        return;
    }
    let is_alone = result.plan.directions.len() == 1;
    page.main("Slow messages, the longest first");
    page.table(table(slow, &messages[..messages.len().min(MOST_ROWS)], is_alone));
    page.note(&kept(slow));
    if let Some(longest) = longest(slow, false) {
        way::waterfall_of(page, longest);
    }
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

/// Who had the CPU since the message came, and what of the wait for it that leaves: `redis-benchmark (7) 174 µs; 3.87 ms
/// unknown`.
fn held(message: &SlowMessage) -> Option<String> {
    let (waited_ns, unknown_ns) = (message.waited_ns(), message.unknown_ns());
    if waited_ns == 0 || (waited_ns as f64) < LEAST_WAITED * message.total_ns() as f64 {
        return None;
    }
    let time = |ns: u64| number::time(ns.cast_signed());
    let most = message.holder().map(|(by, ns)| {
        let by = match by.first {
            Holder::Process { name, pid, .. } if by.count == 1 => format!("{name} ({pid})"),
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
        let peer = end_named(message.peer.as_deref(), message.local.as_deref());
        let what = if message.application { "application: " } else { "" };
        let what = format!("{what}{}", largest(message));
        let mut cells = vec![what, number::time(message.total_ns()), number::seconds(at), peer];
        cells.extend((!is_alone).then(|| message.direction.name().to_owned()));
        table.row_open(cells, &held(message).unwrap_or_default());
    }
    table
}

#[cfg(test)]
mod tests {
    use netfathom_model::path::Direction;
    use netfathom_model::record::WatchedSum;

    use super::*;

    fn message(stage: WatchStage, stopped_ns: u64) -> SlowMessage {
        SlowMessage {
            direction: Direction::Rx,
            application: false,
            begin_ns: 1000,
            end_ns: 2000,
            bytes: 1,
            local: None,
            peer: None,
            process: None,
            stages: vec![WatchedSum { stage, sum_ns: 1000 }],
            stopped_ns,
            throttled_ns: 0,
            stays: Vec::new(),
        }
    }

    #[test]
    fn answers_and_messages_have_a_remark_each() {
        let mut slow = WatchSlow::default();
        let bound = Some(SlowBound::Time(500));
        slow.extend(vec![message(WatchStage::Read, 0)]);
        assert_eq!(answers(&slow, bound), None);
        let answer = SlowMessage { application: true, end_ns: 3000, ..message(WatchStage::Sockqueue, 0) };
        slow.extend(vec![answer.clone()]);
        let of_messages = remark(&slow, bound).unwrap();
        assert!(of_messages.starts_with("1 message took 500 ns or longer, the longest 1.00 µs"));
        let words = answers(&slow, bound).unwrap();
        assert!(words.starts_with("1 answer took 500 ns or longer from the application's read"), "{words}");
        assert!(words.ends_with("the longest 2.00 µs: ran 50.0 %"), "{words}");
        slow.extend(vec![answer.clone(); WatchSlow::MOST]);
        assert_eq!(remark(&slow, bound).unwrap(), "1 message took 500 ns or longer");
        (slow.lost, slow.applications_lost) = (5, 3);
        assert_eq!(remark(&slow, bound).unwrap(), "3 messages took 500 ns or longer");
        assert!(answers(&slow, bound).unwrap().starts_with("260 answers took"), "{slow:?}");
        assert_eq!(largest(&SlowMessage { stages: Vec::new(), ..answer }), "unknown");
    }

    #[test]
    fn a_stop_is_named_if_it_is_most_of_the_largest_stage() {
        let words = |stage, stopped_ns| largest(&message(stage, stopped_ns));
        assert!(words(WatchStage::Blocked, 501).ends_with(" % (stopped)"));
        assert!(words(WatchStage::Blocked, 500).ends_with(" %"));
        assert!(words(WatchStage::Runqueue, 501).ends_with(" %"));
    }

    #[test]
    fn a_used_up_quota_is_named_as_who_had_the_cpu() {
        let message = SlowMessage { throttled_ns: 990, ..message(WatchStage::Runqueue, 0) };
        assert_eq!(held(&message).as_deref(), Some("the CPU quota of its cgroup 990 ns"));
    }

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
    fn the_first_messages_are_before_any_quantile() {
        let words = |q| remark(&WatchSlow::default(), Some(SlowBound::Quantile(q))).unwrap();
        assert_eq!(
            words(0.999),
            "no message took at least the p99.9 of the messages before them, 10,000 or more"
        );
        assert!(words(0.9).ends_with(", 1,000 or more"), "{}", words(0.9));
    }

    #[test]
    fn what_netfathom_made_slow_is_counted_apart() {
        let bound = Some(SlowBound::Time(10_000_000));
        let words = |by_netfathom| {
            let slow = WatchSlow { by_netfathom, ..WatchSlow::default() };
            remark(&slow, bound).unwrap()
        };
        assert_eq!(words(0), "no message took 10.0 ms or longer");
        assert_eq!(
            words(2),
            "no message took 10.0 ms or longer, except 2 while netfathom itself held the CPU"
        );
        let slow = WatchSlow { by_netfathom: 3, applications_by_netfathom: 1, ..WatchSlow::default() };
        assert!(remark(&slow, bound).unwrap().contains(", except 2 while netfathom"));
        assert_eq!(
            answers(&slow, bound).unwrap(),
            "no answer took 10.0 ms or longer from the application's read, except 1 while netfathom itself held the CPU"
        );
    }
}
