//! All that a run says by name, as its record has it for whoever reads it without this program.

use netfathom_model::record::Measurement;
use schemars::JsonSchema;
use serde::Serialize;

use super::{Curve, Histogram, Quantity, curves, histograms};

/// What a record says, in one form for all measurements.
#[derive(Serialize, JsonSchema)]
pub struct Figures<'a> {
    measurement: &'static str,
    /// A value a trial, the main quantities first.
    quantities: Vec<Quantity>,
    /// What was seen over the time of a trial.
    series: Vec<Curve>,
    histograms: Vec<Histogram<'a>>,
}

impl<'a> Figures<'a> {
    pub fn of(measurement: &'a Measurement) -> Self {
        Self {
            measurement: measurement.name(),
            quantities: super::of(measurement),
            series: curves(measurement),
            histograms: histograms(measurement),
        }
    }
}
