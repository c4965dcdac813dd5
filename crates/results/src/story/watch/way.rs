//! One direction: its stages, one after the other.

use std::iter;

use netfathom_model::path::Direction;
use netfathom_model::record::{
    CpuWaits, Distribution, SlowMessage, WatchResult, WatchStage, WatchedStage, WatchedSum,
};

use crate::page::{Axis, Color, Fill, Look, Page, Series, Table, Waterfall, WaterfallStep};
use crate::story::stages::{PARTLY, each, new_table, row};
use crate::story::{contention, curves, number};

/// Where the time of what is sent begins, mostly.
pub(super) const CALL: &str = "send call";
/// Where the call is not seen: a part of the way, with one stage.
pub(super) const QUEUE: &str = "the device's queue";

/// A smaller part of a wait, with an unknown holder, is left to the table.
pub(super) const LEAST_UNKNOWN: f64 = 0.05;

pub(super) struct Way<'a> {
    pub direction: Direction,
    /// What of it is not seen.
    pub lacks: Vec<&'static str>,
    /// Where its time begins.
    pub from: &'static str,
    pub total: &'a Distribution,
    pub stages: &'a [WatchedStage],
    /// What is no part of the total: name, note and times.
    pub beside: Vec<(&'static str, &'static str, Option<&'a Distribution>)>,
}

/// The whole times, received and sent.
pub(super) fn totals(result: &WatchResult) -> impl Iterator<Item = &Distribution> {
    iter::once(&result.total).chain(result.send.as_ref().map(|send| &send.total))
}

/// Which way messages are watched.
pub(super) fn named(directions: &[Direction]) -> &'static str {
    match directions {
        [Direction::Rx] => "what comes in",
        [Direction::Tx] => "what is sent",
        _ => "what is sent, and what comes in",
    }
}

impl Way<'_> {
    /// Whether no hook sees where it begins.
    fn is_cut(&self) -> bool {
        self.from == QUEUE
    }

    /// The mean, and the tail if no other way stands beside it.
    pub fn answer(&self, beside: bool) -> String {
        let end = match self.direction {
            Direction::Rx => "read",
            Direction::Tx => "device",
        };
        let (mean, p99) = (number::mean(self.total.mean_ns), number::time(self.total.p99_ns));
        if beside && self.is_cut() {
            format!("{} {mean} (from {QUEUE} on)", self.direction.name())
        } else if beside {
            format!("{} {mean}", self.direction.name())
        } else {
            format!("mean {mean} from {} to {end}, p99 {p99}", self.from)
        }
    }

    /// The stage that takes most; of waits for a CPU, who had it. Where the call is not seen, one stage is left.
    pub fn most(&self, beside: bool, waits: &CpuWaits) -> Option<String> {
        if self.is_cut() {
            return None;
        }
        let most = self.passed().max_by_key(|stage| stage.times.sum_ns)?;
        let share = number::percent(self.share(most));
        let it = match (beside, self.direction) {
            (false, _) => "the mean",
            (true, Direction::Rx) => "receive time",
            (true, Direction::Tx) => "send time",
        };
        let held = contention::most_of_wait(waits);
        let meaning = match held.filter(|_| most.stage == WatchStage::Runqueue) {
            Some((by, part)) => {
                let rest = match waits.unknown() {
                    rest if rest >= LEAST_UNKNOWN => {
                        format!("; for {} it is unknown who had it", number::percent(rest))
                    }
                    _ => String::new(),
                };
                let (had, part) = (by.first.had("the CPU"), number::percent(part));
                format!("{} {had} for {part} of those waits{rest}", by.named(&waits.holders))
            }
            None => most.stage.meaning().to_owned(),
        };
        Some(format!("{share} of {it} is {}: {meaning}", most.stage.name()))
    }

    fn share(&self, stage: &WatchedStage) -> f64 {
        self.part(stage) / self.total.mean_ns.max(f64::MIN_POSITIVE)
    }

    /// A stage's part of the mean, over all messages: also over those that did not pass it.
    fn part(&self, stage: &WatchedStage) -> f64 {
        stage.times.sum_ns as f64 / self.total.n.max(1) as f64
    }

    /// What no message passed has no row.
    fn passed(&self) -> impl Iterator<Item = &WatchedStage> {
        self.stages.iter().filter(|stage| stage.times.n > 0)
    }

    /// On a long page, the short view has no room for all notes.
    pub fn stages(&self, page: &mut Page, is_long: bool) {
        page.main(&match self.direction {
            Direction::Rx => format!("Receive (rx): {} to application", self.from),
            Direction::Tx if self.from == CALL => "Send (tx): application to device".into(),
            Direction::Tx => format!("Send (tx): {} to device", self.from),
        });
        self.lacks.iter().for_each(|lacks| page.text(lacks));
        if self.total.n == 0 {
            page.text("n/a: no message has times");
            return;
        }
        self.waterfall(page);
        let most = self.passed().map(|stage| self.share(stage)).fold(f64::MIN_POSITIVE, f64::max);
        let mut table = new_table();
        for stage in self.passed() {
            row(&mut table, stage.stage.name(), &stage.times, Some(self.share(stage)), most);
        }
        row(&mut table, "total", self.total, Some(1.0), most);
        let known = self.beside.iter().filter_map(|&(name, note, times)| Some((name, note, times?)));
        let known: Vec<_> = known.filter(|(.., times)| times.n > 0).collect();
        for (name, _, times) in &known {
            row(&mut table, name, times, None, most);
        }
        page.table(table);
        for (name, note, _) in &known {
            let mark = name.trim_start_matches(char::is_alphabetic).trim_start();
            page.note(&format!("{mark} not part of the total: {note}"));
        }
        if is_long {
            page.rest();
        }
        if self.passed().any(|stage| stage.times.n < self.total.n) {
            page.note(PARTLY);
        }
    }

    fn waterfall(&self, page: &mut Page) {
        let part = |stage: &WatchedStage| {
            let aside = each(&stage.times, self.total.n);
            (stage.stage, self.part(stage), aside, self.share(stage))
        };
        let total = ("mean over all timed messages", self.total.mean_ns);
        let note = "A bar is the stage's part of the mean time over all messages, also over those that did not pass it.";
        waterfall(page, self.direction, self.passed().map(part), total, note);
    }

    pub fn percentiles(&self, page: &mut Page) {
        let known: Vec<(&str, Color, &Distribution)> = [("total", "rx", self.total)]
            .into_iter()
            .chain(self.passed().map(|stage| (stage.stage.name(), color(stage.stage), &stage.times)))
            .filter(|(_, _, times)| times.n > 0)
            .collect();
        if known.is_empty() {
            return;
        }
        let (heading, id) = match self.direction {
            Direction::Rx => ("Percentiles", "watch-percentiles"),
            Direction::Tx => ("Percentiles of what was sent", "watch-percentiles-tx"),
        };
        page.heading(heading);
        let all = known.iter().map(|&(name, color, times)| {
            let look = if name == "total" { Look::Strong } else { Look::Thin };
            (Series::new(name, color, look), times)
        });
        page.chart(curves::by_percentile(id, "Time by percentile", all.collect()));
        page.table(percentile_table(&known));
    }
}

/// The stages of a single message.
pub(super) fn waterfall_of(page: &mut Page, message: &SlowMessage) {
    let whole = message.total_ns() as f64;
    let part = |sum: &WatchedSum| (sum.stage, sum.sum_ns as f64, None, sum.sum_ns as f64 / whole.max(1.0));
    let note = "The longest message that was kept. A stage that it passed several times is one bar.";
    let parts = message.stages.iter().map(part);
    waterfall(page, message.direction, parts, ("the longest message", whole), note);
}

/// A stage with its time, what must be known of that, and its share.
type Part = (WatchStage, f64, Option<String>, f64);

/// Stages one after the other, and their sum.
fn waterfall(
    page: &mut Page,
    direction: Direction,
    parts: impl Iterator<Item = Part>,
    (about, total): (&'static str, f64),
    note: &str,
) {
    let mut at = 0.0;
    let bar = |(stage, ns, aside, share): Part| {
        let from = at;
        at += ns;
        let text = (number::mean(ns), aside, short_percent(share));
        step((stage.name(), stage.meaning()), (color(stage), Fill::Full), (from, at), text)
    };
    let mut steps: Vec<WaterfallStep> = parts.map(bar).collect();
    let text = (number::mean(total), None, number::percent(1.0));
    steps.push(step(("total", about), ("ink", Fill::Sum), (0.0, total), text));
    let about = match direction {
        Direction::Rx => "Stages of a message on its way in, one after the other",
        Direction::Tx => "Stages of a message that is sent, one after the other",
    };
    page.waterfall(Waterfall { about: about.into(), unit: Axis::Time, steps, note: note.into() });
}

fn percentile_table(known: &[(&str, Color, &Distribution)]) -> Table {
    let mut table = Table::of("<stage|min|p50|p90|p99|p99.9|max");
    for (name, _, d) in known {
        table.row([(*name).to_owned()].into_iter().chain(number::quantiles(d)));
    }
    table
}

/// A share that fits beside a bar.
fn short_percent(share: f64) -> String {
    if share < 0.001 { "<0.1 %".into() } else { number::percent(share) }
}

fn step(
    (name, about): (&'static str, &'static str),
    (color, fill): (Color, Fill),
    ends: (f64, f64),
    (text, aside, share): (String, Option<String>, String),
) -> WaterfallStep {
    WaterfallStep::Bar { name, about: about.into(), color, fill, ends, text, aside, share }
}

fn color(stage: WatchStage) -> Color {
    match stage {
        WatchStage::Protocol => "stage-protocol",
        WatchStage::Lock | WatchStage::Tsq => "stage-backlog",
        WatchStage::Hole => "stage-device",
        WatchStage::Wakeup | WatchStage::Cwnd => "stage-wakeup",
        WatchStage::Runqueue | WatchStage::Rwnd => "stage-runqueue",
        WatchStage::Blocked | WatchStage::Sndbuf => "stage-driver",
        WatchStage::Sockqueue | WatchStage::Sendq => "stage-sockqueue",
        WatchStage::Read => "stage-read",
        WatchStage::Socket => "stage-socket",
        WatchStage::Cork => "stage-copy",
        WatchStage::Nagle => "stage-enqueue",
        WatchStage::Pacing => "stage-entry",
        WatchStage::Qdisc => "stage-qdisc",
    }
}
