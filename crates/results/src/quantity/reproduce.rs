//! Of `netfathom reproduce`.

use netfathom_model::record::{ReproduceResult, ReproducedRun};
use serde_json::Value;

use super::{Curve, Figures, Histogram, Pooled, Quantity, word};

impl Figures for ReproduceResult {
    /// What each of its measurements says, with the measurement's name before it.
    fn quantities(&self) -> Vec<Quantity> {
        self.runs.iter().flat_map(of_run).collect()
    }

    fn choices(&self) -> Vec<(&'static str, Value)> {
        let parts = self.runs.iter().map(|run| (run.name.clone(), super::plan(&run.measurement)));
        vec![("runs", Value::Object(parts.collect()))]
    }

    fn histograms(&self) -> Vec<Histogram<'_>> {
        let mut all = Vec::new();
        for run in &self.runs {
            all.extend(super::histograms(&run.measurement).into_iter().map(|h| h.within(&run.name)));
        }
        all
    }

    fn pooled(&self) -> Vec<Pooled> {
        let of_run = |run: &ReproducedRun| {
            let all = super::pooled(&run.measurement).into_iter();
            all.map(|pooled| Pooled { name: format!("{}: {}", run.name, pooled.name), ..pooled })
                .collect::<Vec<_>>()
        };
        self.runs.iter().flat_map(of_run).collect()
    }

    fn curves(&self) -> Vec<Curve> {
        let of_run = |run: &ReproducedRun| {
            let all = super::curves(&run.measurement).into_iter();
            all.map(|curve| Curve { name: format!("{}.{}", word(&run.name), curve.name), ..curve })
                .collect::<Vec<_>>()
        };
        self.runs.iter().flat_map(of_run).collect()
    }
}

fn of_run(run: &ReproducedRun) -> impl Iterator<Item = Quantity> {
    super::of(&run.measurement).into_iter().map(|quantity| Quantity {
        name: format!("{}.{}", word(&run.name), quantity.name),
        title: format!("{}: {}", run.name, quantity.title),
        ..quantity
    })
}
