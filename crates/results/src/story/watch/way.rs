//! One direction: its stages, one after the other.

use netfathom_model::path::Direction;
use netfathom_model::record::{CpuWaits, Distribution, SlowMessage, WatchStage, WatchedStage, WatchedSum};

use crate::page::{Axis, Color, Fill, Look, Page, Series, Table, Waterfall, WaterfallStep};
use crate::story::stages::{PARTLY, new_table, row};
use crate::story::{contention, curves, distributions, number};

/// Where the time of what is sent begins, mostly.
pub(super) const CALL: &str = "send call";

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

/// Which way messages are watched.
pub(super) fn named(directions: &[Direction]) -> &'static str {
    match directions {
        [Direction::Rx] => "what comes in",
        [Direction::Tx] => "what is sent",
        _ => "what is sent, and what comes in",
    }
}

impl Way<'_> {
    /// The mean, and the tail if no other way stands beside it.
    pub fn answer(&self, beside: bool) -> String {
        let end = match self.direction {
            Direction::Rx => "read",
            Direction::Tx => "device",
        };
        let (mean, p99) = (number::mean(self.total.mean_ns), number::time(self.total.p99_ns));
        if beside {
            format!("{} {mean}", self.direction.verb())
        } else {
            format!("mean {mean} from {} to {end}, p99 {p99}", self.from)
        }
    }

    /// The stage that takes most; of waits for a CPU, who had it.
    pub fn most(&self, beside: bool, waits: &CpuWaits) -> Option<String> {
        let most = self.passed().max_by_key(|stage| stage.times.sum_ns)?;
        let share = number::percent(self.share(most));
        let it = match (beside, self.direction) {
            (false, _) => "the mean",
            (true, Direction::Rx) => "receive time",
            (true, Direction::Tx) => "send time",
        };
        let held = contention::most_of_wait(waits);
        let meaning = match held.filter(|_| most.stage == WatchStage::Runqueue) {
            Some((by, part)) => format!("{by} had the CPU for {} of those waits", number::percent(part)),
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

    /// With another way beside it, the short view has no room for all notes.
    pub fn stages(&self, page: &mut Page, beside: bool) {
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
        if beside {
            page.rest();
        }
        if self.passed().any(|stage| stage.times.n < self.total.n) {
            page.note(PARTLY);
        }
    }

    fn waterfall(&self, page: &mut Page) {
        let mut at = 0.0;
        let bar = |stage: &WatchedStage| {
            let from = at;
            at += self.part(stage);
            let ends = (from, at);
            let text = (number::mean(self.part(stage)), short_percent(self.share(stage)));
            step((stage.stage.name(), stage.stage.meaning()), (color(stage.stage), Fill::Full), ends, text)
        };
        let mut steps: Vec<WaterfallStep> = self.passed().map(bar).collect();
        let mean = self.total.mean_ns;
        let text = (number::mean(mean), number::percent(1.0));
        steps.push(step(("total", "mean over all timed messages"), ("ink", Fill::Sum), (0.0, mean), text));
        page.waterfall(Waterfall {
            about: about(self.direction).into(),
            unit: Axis::Time,
            steps,
            note: "A bar is the stage's part of the mean time over all messages, also over those that did not pass it.".into(),
        });
    }

    pub fn percentiles(&self, page: &mut Page) {
        let known: Vec<(&str, &'static str, &Distribution)> = [("total", "rx", self.total)]
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
        let times: Vec<_> = known.iter().map(|(_, _, times)| distributions::read(times)).collect();
        let series = |&(name, color, _): &(&str, &'static str, &Distribution)| {
            let look = if name == "total" { Look::Strong } else { Look::Thin };
            Series { label: name.into(), color, look, ..Series::default() }
        };
        let all = known.iter().map(series).zip(&times).collect();
        if let Some(chart) = curves::by_percentile(id, "Time by percentile", all) {
            page.chart(chart);
        }
        page.table(percentile_table(&known));
    }
}

fn about(direction: Direction) -> &'static str {
    match direction {
        Direction::Rx => "Stages of a message on its way in, one after the other",
        Direction::Tx => "Stages of a message that is sent, one after the other",
    }
}

/// The stages of a single message.
pub(super) fn waterfall_of(page: &mut Page, message: &SlowMessage) {
    let (mut at, whole) = (0.0, message.total_ns() as f64);
    let bar = |sum: &WatchedSum| {
        let (from, ns) = (at, sum.sum_ns as f64);
        at += ns;
        let text = (number::mean(ns), short_percent(ns / whole.max(1.0)));
        step((sum.stage.name(), sum.stage.meaning()), (color(sum.stage), Fill::Full), (from, at), text)
    };
    let mut steps: Vec<WaterfallStep> = message.stages.iter().map(bar).collect();
    let text = (number::mean(whole), number::percent(1.0));
    steps.push(step(("total", "the longest message"), ("ink", Fill::Sum), (0.0, whole), text));
    page.waterfall(Waterfall {
        about: about(message.direction).into(),
        unit: Axis::Time,
        steps,
        note: "The longest message that was kept. A stage that it passed several times is one bar.".into(),
    });
}

fn percentile_table(known: &[(&str, &'static str, &Distribution)]) -> Table {
    let mut table = Table::of("<stage|min|p50|p90|p99|p99.9|max");
    for (name, _, d) in known {
        let q =
            [d.min_ns, d.p50_ns, d.p90_ns, d.p99_ns, d.p999_ns, d.max_ns].map(|ns| number::quantile(d, ns));
        table.row([[(*name).to_owned()].as_slice(), &q].concat());
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
    (text, share): (String, String),
) -> WaterfallStep {
    WaterfallStep::Bar { name, about: about.into(), color, fill, ends, text, aside: None, share }
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
