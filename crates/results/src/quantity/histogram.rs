//! Times as histograms: of each trial, and of all trials in one.

use netfathom_model::record::{Distribution, Measurement};
use netfathom_stats::bucket_bounds;
use schemars::JsonSchema;
use serde::Serialize;

use super::{figures, make_names_unique, word};

/// A set of times, its name and its place in the run.
#[derive(Serialize, JsonSchema)]
pub struct Histogram<'a> {
    /// Such as `tx.socket`; what quantities made of it begin with.
    pub name: String,
    /// The trial's index in the record; `None` where all trials are in one.
    pub trial: Option<u32>,
    /// When that trial began, from the start of the run, and how long messages left.
    #[serde(skip)]
    pub span_ns: Option<(u64, u64)>,
    pub times: &'a Distribution,
}

impl<'a> Histogram<'a> {
    /// Of all trials.
    pub(super) fn of_run((name, times): (String, &'a Distribution)) -> Self {
        Self { name, trial: None, span_ns: None, times }
    }

    /// The buckets that hold anything: lower bound, upper bound (exclusive), count. One that no time can have,
    /// which only a foreign record holds, is left out.
    pub fn buckets(&self) -> impl Iterator<Item = (u64, u64, u64)> + '_ {
        let grain = self.times.grain.min(16);
        let last = netfathom_stats::bucket_index(i64::MAX as u64, grain) as u32;
        let known = self.times.buckets.iter().filter(move |bucket| bucket.0 < last);
        known.map(move |&(index, count)| {
            let (low, high) = bucket_bounds(index as usize, grain);
            (low, high, count)
        })
    }

    /// The same in a run of an experiment.
    pub(super) fn within(self, run: &str) -> Self {
        Self { name: format!("{}.{}", word(run), self.name), ..self }
    }
}

/// A distribution of times of a whole run, and of what.
#[derive(Clone, Debug)]
pub struct Pooled {
    /// What it is of, the same in every run of its kind.
    pub name: String,
    pub times: Distribution,
}

impl Pooled {
    pub(super) fn new(name: String, times: &Distribution) -> Self {
        Self { name, times: times.clone() }
    }
}

/// Those of each trial that hold a time, in the order of the record.
pub fn histograms(measurement: &Measurement) -> Vec<Histogram<'_>> {
    let mut all = figures(measurement).histograms();
    all.retain(|histogram| histogram.times.n > 0);
    make_names_unique(all.iter_mut().map(|set| (set.trial, &mut set.name)));
    all
}

/// The main distributions of a run; empty where it keeps none.
pub fn pooled(measurement: &Measurement) -> Vec<Pooled> {
    figures(measurement).pooled().into_iter().filter(|pooled| pooled.times.n > 0).collect()
}
