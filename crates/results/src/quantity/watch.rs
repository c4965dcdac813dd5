//! Of `netfathom watch`.

use netfathom_model::path::Direction;
use netfathom_model::record::{
    Distribution, SlowMessage, WatchDrop, WatchFound, WatchPrograms, WatchResult, WatchSend, WatchSlow,
    WatchedStage,
};

use super::{Better, Counter, Figures, Gauge, Histogram, MAIN, Quantity, Unit, of_times, word};

mod sides;

pub(crate) use sides::Beside;

impl Figures for WatchResult {
    /// The times of messages in each direction, their stages, and the application's own.
    fn quantities(&self) -> Vec<Quantity> {
        let stages = |way: &str, stages: &[WatchedStage]| {
            let of_stage = |stage: &WatchedStage| {
                let name = stage.stage.name();
                of_times(&format!("{way}.{name}"), &format!("stage {name}"), &[], [&stage.times])
            };
            stages.iter().flat_map(of_stage).collect::<Vec<_>>()
        };
        let mut all = Vec::from(of_times("rx", "link layer to read", MAIN, [&self.total]));
        all.extend(stages("rx", &self.stages));
        if let Some(times) = &self.application {
            all.extend(of_times("application", "last byte read to first byte sent", MAIN, [times]));
        }
        if let Some(times) = &self.answer {
            all.extend(of_times("answer", "first byte sent to next byte read, of clients", MAIN, [times]));
        }
        if let Some(send) = &self.send {
            all.extend(of_times("tx", "send call to device", MAIN, [&send.total]));
            all.extend(stages("tx", &send.stages));
            all.extend(of_times("tx.acknowledged", "device to acknowledgment", &[], [&send.acknowledged]));
        }
        let seconds = self.followed_ns() as f64 / 1e9;
        let rate = |seen: u64| (seconds > 0.0).then(|| seen as f64 / seconds);
        let lost = |name: &str, title: &str, packets| Quantity {
            better: Better::Less,
            ..Quantity::rate(name, title, rate(packets))
        };
        let mut rates = Vec::new();
        if self.plan.watches(Direction::Rx) {
            rates.push(Quantity::rate("rate", "messages that came", rate(self.account.seen)));
            let untimed = [1.0 - self.account.share_timed()];
            rates.push(Quantity::share("untimed", "messages without times", untimed));
        }
        for account in self.send.iter().map(|send| &send.account) {
            rates.push(Quantity::rate("tx.rate", "messages that were sent", rate(account.seen)));
            let untimed = [1.0 - account.share_timed()];
            rates.push(Quantity::share("tx.untimed", "sent messages without times", untimed));
            rates.push(lost("retransmitted", "TCP segments that were retransmitted", account.retransmitted));
        }
        // A threshold needs the side without any, too.
        let packets = self.drops.iter().fold(0_u64, |sum, drop| sum.saturating_add(drop.packets));
        rates.push(lost("drops", "packets that the kernel dropped", packets));
        // A long table is cut, and times alone do not show under which load they were taken.
        all.splice(..0, rates);
        all.extend(self.drops.iter().map(|WatchDrop { direction, reason, packets }| {
            let way = direction.name();
            let name = format!("drops.{way}.{}", word(reason));
            lost(&name, &format!("packets that the kernel dropped, {way} {reason}"), *packets)
        }));
        // With slow messages they are counted once, perhaps while none came.
        let counted = |of: &&WatchPrograms| of.sampled_ns > 0 && (of.messages > 0 || self.slow.is_none());
        for programs in self.programs.iter().filter(counted) {
            let share = [programs.share()];
            all.push(Quantity::share("overhead", "part of a CPU that netfathom's programs took", share));
        }
        all
    }

    fn slow(&self) -> Option<Result<&[SlowMessage], &'static str>> {
        let slow = self.slow.as_ref().map(|slow| slow.messages.as_slice());
        Some(slow.ok_or("it kept no single messages; watch again with --slow 10ms, say"))
    }

    fn counters(&self) -> Vec<Counter> {
        let followed = count("followed", "How long messages were followed", self.followed_ns());
        let mut all = vec![Counter { unit: Unit::Nanoseconds, ..followed }];
        if self.plan.watches(Direction::Rx) {
            let a = &self.account;
            all.extend(messages("rx", a.seen, &a.outcomes()));
            let waited =
                count("cpu_wait", "How long the reading threads waited for a CPU", self.waits.waited_ns);
            all.push(Counter { unit: Unit::Nanoseconds, ..waited });
            all.push(count("read_bytes", "Bytes that applications read", a.bytes_read));
            all.push(count(
                "unseen_switches",
                "Context switches of followed threads that no BPF program saw",
                a.unseen_switches,
            ));
        }
        all.push(count(
            "missed_events",
            "Events that a busy BPF program did not see",
            self.account.missed_events,
        ));
        if let Some(WatchSend { account: a, .. }) = &self.send {
            all.extend(messages("tx", a.seen, &a.outcomes()));
            all.push(count("retransmitted_segments", "Retransmitted TCP segments", a.retransmitted));
        }
        all.extend(self.drops.iter().map(|drop| Counter {
            labels: vec![("direction", drop.direction.name().into()), ("reason", drop.reason.clone())],
            ..count("dropped_packets", "Packets that the kernel dropped, by reason", drop.packets)
        }));
        let slow = |of: &WatchSlow| {
            [
                count("slow_messages", "Messages beyond --slow", of.seen_messages()),
                count("slow_answers", "Answers of servers beyond --slow", of.seen_answers()),
            ]
        };
        all.extend(self.slow.iter().flat_map(slow));
        let late = |of: &WatchFound| {
            [
                count("late_processes", "Processes of the target found after the start", of.late_processes),
                count("late_sockets", "UDP sockets of these processes that were found late", self.late),
            ]
        };
        all.extend(self.found.iter().flat_map(late));
        all
    }

    fn gauges(&self) -> Vec<Gauge> {
        let of = |of: &WatchFound| {
            [
                Gauge { name: "processes", title: "Processes of the target that live", value: of.processes },
                Gauge { name: "sockets", title: "Sockets that these processes have open", value: of.sockets },
            ]
        };
        self.found.iter().flat_map(of).collect()
    }

    fn target(&self) -> Option<String> {
        Some(self.plan.target.arguments())
    }

    fn histograms(&self) -> Vec<Histogram<'_>> {
        sets(self).map(Histogram::of_run).collect()
    }
}

fn count(name: &'static str, title: &'static str, value: u64) -> Counter {
    Counter { name, title, unit: Unit::Count, labels: Vec::new(), value }
}

/// Those that were seen, and those that became something: the rest waits.
fn messages(direction: &'static str, seen: u64, outcomes: &[(&'static str, u64)]) -> Vec<Counter> {
    let way = ("direction", direction.to_owned());
    let seen =
        Counter { labels: vec![way.clone()], ..count("seen_messages", "Messages seen, by direction", seen) };
    let ended = outcomes.iter().map(|&(outcome, value)| Counter {
        labels: vec![way.clone(), ("outcome", outcome.into())],
        ..count("messages", "Messages by direction and outcome; the times are of the outcome timed", value)
    });
    [seen].into_iter().chain(ended).collect()
}

/// What quantities made of it begin with, and the times.
fn sets(of: &WatchResult) -> impl Iterator<Item = (String, &Distribution)> {
    let total = of.plan.watches(Direction::Rx).then(|| ("rx".to_owned(), &of.total));
    let stages = of.stages.iter().map(|stage| (format!("rx.{}", stage.stage.name()), &stage.times));
    let application = of.application.iter().map(|times| ("application".to_owned(), times));
    let answer = of.answer.iter().map(|times| ("answer".to_owned(), times));
    total.into_iter().chain(stages).chain(application).chain(answer).chain(of.send.iter().flat_map(sent))
}

fn sent(send: &WatchSend) -> impl Iterator<Item = (String, &Distribution)> {
    let stages = send.stages.iter().map(|stage| (format!("tx.{}", stage.stage.name()), &stage.times));
    let acknowledged = ("tx.acknowledged".to_owned(), &send.acknowledged);
    [("tx".to_owned(), &send.total)].into_iter().chain(stages).chain([acknowledged])
}
