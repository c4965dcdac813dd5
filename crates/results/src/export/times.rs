//! Every set of times that a record holds, with its name.

use std::collections::BTreeMap;

use netfathom_model::record::{
    Distribution, JoinResult, LoadResult, LoadTrial, LoadTrialKind, Measurement, MessageCell, MessageResult,
    ReproduceResult, StackResult, Trial, TrialKind,
};
use netfathom_stats::bucket_bounds;

use crate::quantity::{cell_name, span_name, word};

/// Which measurements hold any.
pub const HAS: &str = "netfathom stack, load send, join, message and reproduce";

/// A set of times, its name and its place in the run.
pub struct TimeSet<'a> {
    /// Such as `tx.socket`; what quantities made of it begin with.
    pub name: String,
    /// The trial's index in the record; `None` where all trials are in one.
    pub trial: Option<u32>,
    /// When that trial began, from the start of the run, and how long messages left.
    pub span_ns: Option<(u64, u64)>,
    pub times: &'a Distribution,
}

impl TimeSet<'_> {
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

    fn within(self, run: &str) -> Self {
        Self { name: format!("{}.{}", word(run), self.name), ..self }
    }
}

/// All that hold a time, in the order of the record.
pub fn of(measurement: &Measurement) -> Vec<TimeSet<'_>> {
    let mut sets = match measurement {
        Measurement::Stack(result) => of_stack(result),
        Measurement::Load(result) => of_load(result),
        Measurement::Join(result) => of_join(result),
        Measurement::Message(result) => of_message(result),
        Measurement::Reproduce(result) => of_reproduce(result),
        Measurement::Capacity(_)
        | Measurement::Reverse(_)
        | Measurement::Transfer(_)
        | Measurement::Sweep(_)
        | Measurement::Cost(_) => Vec::new(),
    };
    sets.retain(|set| set.times.n > 0);
    tell_apart(&mut sets);
    sets
}

/// A name that stands twice in a trial gets a number, as quantities' names do.
fn tell_apart(sets: &mut [TimeSet<'_>]) {
    let mut seen = BTreeMap::new();
    for set in sets {
        let n = seen.entry((set.name.clone(), set.trial)).or_insert(0);
        *n += 1;
        if *n > 1 {
            set.name = format!("{}-{n}", set.name);
        }
    }
}

fn of_stack(result: &StackResult) -> Vec<TimeSet<'_>> {
    result.trials.iter().flat_map(of_stack_trial).collect()
}

/// What stands before the names of trials that the quantities leave out.
pub fn kind(trial: &Trial) -> &'static str {
    match trial.kind {
        TrialKind::Measured => "",
        TrialKind::Control => "control.",
        TrialKind::Witness => "witness.",
        TrialKind::Alternating => "alternating.",
    }
}

fn of_stack_trial(trial: &Trial) -> Vec<TimeSet<'_>> {
    let set = |name: String, times| TimeSet {
        name: format!("{}{name}", kind(trial)),
        trial: Some(trial.index),
        span_ns: Some((trial.started_after_ns, trial.load.span_ns)),
        times,
    };
    let mut sets = Vec::new();
    for path in &trial.paths {
        let way = path.direction.name();
        sets.push(set(way.into(), &path.total));
        let staged = path.stages.iter().filter_map(|s| Some((s.stage.name(), s.times.distribution()?)));
        sets.extend(staged.map(|(stage, times)| set(format!("{way}.{stage}"), times)));
    }
    sets.push(set("lag".into(), &trial.load.lag));
    sets.push(set("send_call".into(), &trial.load.send_call));
    sets
}

fn of_load(result: &LoadResult) -> Vec<TimeSet<'_>> {
    result.trials.iter().flat_map(of_load_trial).collect()
}

fn of_load_trial(trial: &LoadTrial) -> Vec<TimeSet<'_>> {
    let idle = trial.kind == LoadTrialKind::Idle;
    let set = |name: &str, times| TimeSet {
        name: name.into(),
        trial: Some(trial.index),
        span_ns: Some((trial.started_after_ns, trial.load.span_ns)),
        times,
    };
    let mut sets = Vec::new();
    if !idle {
        sets.extend([
            set("lag", &trial.load.lag),
            set("send_call", &trial.load.send_call),
            set("intervals", &trial.intervals),
            set("intervals.wanted", &trial.wanted_intervals),
        ]);
    }
    if let Some(echo) = &trial.echo {
        sets.extend(match idle {
            false => [set("echo.response", &echo.response), set("echo.service", &echo.service)],
            true => [set("echo.idle.response", &echo.response), set("echo.idle.service", &echo.service)],
        });
    }
    sets
}

fn of_join(result: &JoinResult) -> Vec<TimeSet<'_>> {
    let spans = result.spans.iter().enumerate();
    spans
        .map(|(place, span)| TimeSet {
            name: span_name(result, place),
            trial: None,
            span_ns: None,
            times: &span.times,
        })
        .collect()
}

fn of_message(result: &MessageResult) -> Vec<TimeSet<'_>> {
    result.cells.iter().flat_map(|cell| of_cell(result, cell)).collect()
}

fn of_cell<'a>(result: &MessageResult, cell: &'a MessageCell) -> Vec<TimeSet<'a>> {
    let prefix = cell_name(result, cell);
    let set = |name: String, times| TimeSet { name, trial: None, span_ns: None, times };
    let mut sets = vec![set(prefix.clone(), &cell.times)];
    sets.extend(cell.service.as_ref().map(|times| set(format!("{prefix}.service"), times)));
    sets.extend(cell.lag.as_ref().map(|times| set(format!("{prefix}.lag"), times)));
    sets
}

fn of_reproduce(result: &ReproduceResult) -> Vec<TimeSet<'_>> {
    let runs = result.runs.iter();
    runs.flat_map(|run| of(&run.measurement).into_iter().map(|set| set.within(&run.name))).collect()
}
