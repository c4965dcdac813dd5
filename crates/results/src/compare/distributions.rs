//! The distributions that records keep, by the name of what they are of.

use netfathom_model::record::{Distribution, Measurement, StageSummaryTimes};
use netfathom_stats as stats;

use super::Run;
use crate::quantity::{cell_name, span_name};

/// A distribution of times, and of what.
#[derive(Clone, Debug)]
pub struct Spread {
    /// What it is of, the same in every run of its kind.
    pub name: String,
    pub times: Distribution,
}

/// The main distributions of a measurement; empty where it keeps none.
#[must_use]
pub fn spreads(measurement: &Measurement) -> Vec<Spread> {
    let named = |name: String, times: &Distribution| Spread { name, times: times.clone() };
    let all = match measurement {
        Measurement::Stack(stack) => stack
            .summaries
            .iter()
            .flat_map(|path| {
                let way = path.direction.name();
                let stages = path.stages.iter().filter_map(move |stage| match &stage.times {
                    StageSummaryTimes::Measured(times) => {
                        Some(named(format!("{way}, stage {}", stage.stage.name()), times))
                    }
                    StageSummaryTimes::Unavailable(_) => None,
                });
                std::iter::once(named(format!("{way}, stack time"), &path.total)).chain(stages)
            })
            .collect(),
        Measurement::Load(load) => load
            .summary
            .iter()
            .flat_map(|summary| {
                let echo = summary.echo_loaded.as_ref();
                let answer = echo.map(|echo| named("response time under load".into(), &echo.response));
                std::iter::once(named("lag".into(), &summary.lag)).chain(answer)
            })
            .collect(),
        Measurement::Join(join) => join
            .spans
            .iter()
            .enumerate()
            .map(|(place, span)| named(span_name(join, place), &span.times))
            .collect(),
        Measurement::Message(message) => message
            .cells
            .iter()
            .map(|cell| {
                // Not by the place of its processors in the list, which is another one in another run.
                named(cell_name(message, cell), &cell.times)
            })
            .collect(),
        Measurement::Reproduce(experiment) => experiment
            .runs
            .iter()
            .flat_map(|run| {
                let of_run = spreads(&run.measurement).into_iter();
                of_run.map(|spread| Spread { name: format!("{}: {}", run.name, spread.name), ..spread })
            })
            .collect(),
        Measurement::Capacity(_)
        | Measurement::Reverse(_)
        | Measurement::Transfer(_)
        | Measurement::Sweep(_)
        | Measurement::Cost(_) => Vec::new(),
    };
    all.into_iter().filter(|spread: &Spread| spread.times.n > 0).collect()
}

/// Those that both sides have, the runs of a side merged.
pub(super) fn both(pairs: &[(&Run, &Run)]) -> Vec<(Spread, Spread)> {
    let a = merged(pairs.iter().map(|pair| spreads(&pair.0.record.measurement)));
    let b = merged(pairs.iter().map(|pair| spreads(&pair.1.record.measurement)));
    a.into_iter()
        .filter_map(|of_a| {
            let of_b = b.iter().find(|of_b| of_b.name == of_a.name)?.clone();
            Some((of_a, of_b))
        })
        .collect()
}

fn merged(runs: impl Iterator<Item = Vec<Spread>>) -> Vec<Spread> {
    let mut all: Vec<Spread> = Vec::new();
    for spread in runs.flatten() {
        match all.iter_mut().find(|known| known.name == spread.name) {
            // Buckets of another width do not add up.
            Some(known) if known.times.grain != spread.times.grain => {}
            Some(known) => {
                let mut sum = stats::Distribution::from(&known.times);
                sum.merge(&(&spread.times).into());
                known.times = (&sum).into();
            }
            None => all.push(spread),
        }
    }
    all
}
