//! Of `netfathom message`.

use std::iter;

use netfathom_model::layer::Side;
use netfathom_model::plan::MessageTest;
use netfathom_model::record::{MessageCell, MessageResult, MessageTrial};
use netfathom_model::verdict::{Level, Verdict};

use super::{Figures, Histogram, Make, Pooled, Quantity, word};

impl Figures for MessageResult {
    /// What each cell reached, named `LAYER.BYTES.PLACEMENT.PROCESSORS`, such as `write-nodelay.1024.uu.same-core.rate`.
    fn quantities(&self) -> Vec<Quantity> {
        self.cells.iter().flat_map(|cell| of_cell(self, cell)).collect()
    }

    /// That of its cell. Names of cells on pairs of CPUs that share the same begin alike: the worst of these counts.
    fn level(&self, verdict: &Verdict, name: &str) -> Level {
        let is_of = |cell: &&MessageCell| name.starts_with(&format!("{}.", cell_name(self, cell)));
        let doubted = self.cells.iter().filter(|cell| !cell.verdict.is_valid());
        let levels = doubted.filter(is_of).map(|cell| cell.verdict.level);
        levels.max().unwrap_or_default().max(verdict.of_whole())
    }

    fn histograms(&self) -> Vec<Histogram<'_>> {
        self.cells.iter().flat_map(|cell| histograms_of(self, cell)).collect()
    }

    fn pooled(&self) -> Vec<Pooled> {
        // Not by the place of its processors in the list, which is another one in another run.
        self.cells.iter().map(|cell| Pooled::new(cell_name(self, cell), &cell.times)).collect()
    }
}

/// What the processors of a cell share, in words.
fn shares(result: &MessageResult, cell: &MessageCell) -> &'static str {
    result.pairs.get(cell.pair).map_or("CPUs unknown", |pair| pair.shares.name())
}

/// `LAYER.BYTES.PLACEMENT.PROCESSORS`.
pub fn cell_name(result: &MessageResult, cell: &MessageCell) -> String {
    let (layer, place) = (cell.layer.to_string(), cell.placement.name());
    format!("{}.{}.{}.{}", word(&layer), cell.bytes, word(place), word(shares(result, cell)))
}

fn of_cell(result: &MessageResult, cell: &MessageCell) -> Vec<Quantity> {
    let (prefix, shares, place) = (cell_name(result, cell), shares(result, cell), cell.placement.name());
    let who = format!("{}, {} bytes, {place}, {shares}", cell.layer, cell.bytes);
    let of = |make: Make, what: &str, title: &str, value: &dyn Fn(&MessageTrial) -> Option<f64>| {
        let values = cell.trials.iter().filter_map(value).collect();
        make(format!("{prefix}.{what}"), format!("{who}: {title}"), values)
    };
    let timed = |ns: fn(&MessageTrial) -> Option<i64>| {
        move |trial: &MessageTrial| cell.median_ns(trial).and(ns(trial)).map(|ns| ns as f64)
    };
    let cpu = |end: Side| move |trial: &MessageTrial| trial.cpu_ns_per_message(end);
    let there_and_back = result.plan.test == MessageTest::Pingpong;
    vec![
        of(Quantity::rate, "rate", result.plan.test.counts(), &MessageTrial::per_s).main(!there_and_back),
        of(Quantity::time, "p50", "time, p50", &|t| cell.median_ns(t)).main(there_and_back),
        of(Quantity::time, "p99", "time, p99", &timed(|t| Some(t.p99_ns))).main(there_and_back),
        of(Quantity::time, "p999", "time, p99.9", &timed(|t| t.p999_ns)),
        of(Quantity::time, "max", "time, longest", &timed(|t| t.max_ns)),
        of(Quantity::share, "lost", "messages that did not come", &lost),
        of(Quantity::time, "client.cpu", "CPU time of the client a message", &cpu(Side::Client)),
        of(Quantity::time, "server.cpu", "CPU time of the server a message", &cpu(Side::Server)),
    ]
}

fn lost(trial: &MessageTrial) -> Option<f64> {
    (trial.sent > 0).then(|| trial.lost as f64 / trial.sent as f64)
}

fn histograms_of<'a>(result: &MessageResult, cell: &'a MessageCell) -> Vec<Histogram<'a>> {
    let prefix = cell_name(result, cell);
    let beside = [("service", cell.service.as_ref()), ("lag", cell.lag.as_ref())];
    let beside = beside.into_iter().filter_map(|(name, times)| Some((format!("{prefix}.{name}"), times?)));
    iter::once((prefix.clone(), &cell.times)).chain(beside).map(Histogram::of_run).collect()
}
