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

/// `10 messages and 3 answers of the application took 10.0 ms or longer, the longest 41.2 ms: blocked 97.1 %`. The longest is
/// missing where none was kept.
pub(super) fn remark(slow: &WatchSlow, bound: Option<SlowBound>) -> Option<String> {
    let longest = slow.messages.iter().max_by_key(|message| message.total_ns());
    let longest = longest.map_or_else(String::new, |longest| {
        let held = held(longest).map_or_else(String::new, |held| format!(" ({held})"));
        format!(", the longest {}: {}{held}", number::time(longest.total_ns()), largest(longest))
    });
    Some(format!("{} took {}{longest}{}", taken(slow), named(bound?), without(slow)))
}

fn taken(slow: &WatchSlow) -> String {
    let (messages, answers) = (slow.seen_messages(), slow.seen_answers());
    let messages = (messages > 0).then(|| counted(messages, "message"));
    let answers = (answers > 0).then(|| format!("{} of the application", counted(answers, "answer")));
    let both: Vec<String> = messages.into_iter().chain(answers).collect();
    if both.is_empty() { "no message".into() } else { both.join(" and ") }
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

fn without(slow: &WatchSlow) -> String {
    match slow.by_netfathom {
        0 => String::new(),
        n => {
            let but = if slow.seen() == 0 { ", except" } else { "; besides" };
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
    let none = if message.application { "application" } else { "no stage" };
    let Some(most) = message.most() else { return none.into() };
    let application = if message.application { "application: " } else { "" };
    let share = most.sum_ns as f64 / (message.total_ns() as f64).max(1.0);
    let is_stopped = most.stage == WatchStage::Blocked && message.stopped_ns > most.sum_ns.unsigned_abs() / 2;
    let stopped = if is_stopped { " (stopped)" } else { "" };
    format!("{application}{} {}{stopped}", message.named(most.stage), number::percent(share))
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
    if let Some(longest) = messages.iter().find(|message| !message.application) {
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

/// Who had the CPU since the message came, and what of the wait for it that leaves: `redis-benchmark (7) 174 µs; 3.87 ms
/// unknown`. It explains the wait for a CPU alone, not why another stage is longer.
fn held(message: &SlowMessage) -> Option<String> {
    message.most().filter(|most| most.stage == WatchStage::Runqueue && most.sum_ns > 0)?;
    let (waited_ns, unknown_ns) = (message.waited_ns(), message.unknown_ns());
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
    let has_holders = messages.iter().any(|message| held(message).is_some());
    table = table.words(has_holders.then_some("CPU held by"));
    for message in messages {
        let at = message.begin_ns.saturating_sub(slow.began_ns);
        let peer = end_named(message.peer.as_deref(), message.local.as_deref());
        let mut cells = vec![largest(message), number::time(message.total_ns()), number::seconds(at), peer];
        cells.extend((!is_alone).then(|| message.direction.name().to_owned()));
        match held(message) {
            Some(by) => table.row_open(cells, &by),
            None => table.row(cells),
        };
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
    fn the_longest_is_of_messages_and_answers() {
        let mut slow = WatchSlow::default();
        let bound = Some(SlowBound::Time(500));
        slow.extend(vec![message(WatchStage::Read, 0)]);
        let words = |slow: &WatchSlow| remark(slow, bound).unwrap();
        assert_eq!(words(&slow), "1 message took 500 ns or longer, the longest 1.00 µs: read 100 %");
        let answer = SlowMessage { application: true, end_ns: 3000, ..message(WatchStage::Sockqueue, 0) };
        slow.extend(vec![answer.clone()]);
        let longest = "took 500 ns or longer, the longest 2.00 µs: application: ran 50.0 %";
        assert_eq!(words(&slow), format!("1 message and 1 answer of the application {longest}"));
        (slow.lost, slow.applications_lost) = (5, 3);
        assert_eq!(words(&slow), format!("3 messages and 4 answers of the application {longest}"));
        let alone = WatchSlow { applications: slow.kept, applications_lost: slow.lost, ..slow };
        assert_eq!(words(&alone), format!("7 answers of the application {longest}"));
        assert_eq!(largest(&SlowMessage { stages: Vec::new(), ..answer }), "application");
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
    fn who_had_the_cpu_stands_beside_a_wait_for_it_alone() {
        let named = |waited_ns, queued_ns| {
            let sum = |stage, sum_ns| WatchedSum { stage, sum_ns };
            let stages = vec![sum(WatchStage::Runqueue, waited_ns), sum(WatchStage::Sockqueue, queued_ns)];
            held(&SlowMessage { stages, throttled_ns: 170, ..message(WatchStage::Read, 0) }).is_some()
        };
        assert_eq!([named(600, 400), named(170, 830)], [true, false]);
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
    }
}
