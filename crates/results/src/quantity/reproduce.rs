//! Of `netfathom reproduce`.

use netfathom_model::record::{Measurement, ReproduceResult, ReproducedRun};
use serde_json::Value;

use super::{Curve, Figures, Histogram, Pooled, Quantity, word};

impl Figures for ReproduceResult {
    /// What each of its measurements says, with the measurement's name before it.
    fn quantities(&self) -> Vec<Quantity> {
        of_runs(self, super::of, |run, quantity| Quantity {
            name: format!("{}.{}", word(run), quantity.name),
            title: format!("{run}: {}", quantity.title),
            ..quantity
        })
    }

    fn choices(&self) -> Vec<(&'static str, Value)> {
        let parts = self.runs.iter().map(|run| (run.name.clone(), super::plan(&run.measurement)));
        vec![("runs", Value::Object(parts.collect()))]
    }

    fn histograms(&self) -> Vec<Histogram<'_>> {
        of_runs(self, super::histograms, |run, histogram| histogram.within(run))
    }

    fn pooled(&self) -> Vec<Pooled> {
        of_runs(self, super::pooled, |run, pooled| Pooled {
            name: format!("{run}: {}", pooled.name),
            ..pooled
        })
    }

    fn curves(&self) -> Vec<Curve> {
        of_runs(self, super::curves, |run, curve| Curve {
            name: format!("{}.{}", word(run), curve.name),
            ..curve
        })
    }
}

/// What the measurements of all runs have, each named after its run too.
fn of_runs<'a, T>(
    result: &'a ReproduceResult,
    of: fn(&'a Measurement) -> Vec<T>,
    named: fn(&str, T) -> T,
) -> Vec<T> {
    let of_run =
        |run: &'a ReproducedRun| of(&run.measurement).into_iter().map(move |part| named(&run.name, part));
    result.runs.iter().flat_map(of_run).collect()
}
