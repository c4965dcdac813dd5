//! A record as it is written.

use netfathom_model::record::Record;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::quantity::{self, Curve, Histogram, Quantity, curves, histograms};

/// A record with its figures by name: other programs need not know each measurement to read them. This one does, and
/// makes them from the measurement.
#[derive(Serialize, JsonSchema)]
pub struct Written<'a> {
    #[serde(flatten)]
    record: &'a Record,
    /// What was measured by name, in one form for all measurements.
    figures: Figures<'a>,
}

/// What a record says, in one form for all measurements.
#[derive(Serialize, JsonSchema)]
struct Figures<'a> {
    measurement: &'static str,
    /// A value a trial, the main quantities first.
    quantities: Vec<Quantity>,
    /// What was seen over the time of a trial.
    series: Vec<Curve>,
    histograms: Vec<Histogram<'a>>,
}

impl<'a> Written<'a> {
    pub fn of(record: &'a Record) -> Self {
        let measurement = &record.measurement;
        let figures = Figures {
            measurement: measurement.name(),
            quantities: quantity::of(measurement),
            series: curves(measurement),
            histograms: histograms(measurement),
        };
        Self { record, figures }
    }

    pub fn json(&self) -> serde_json::Result<Vec<u8>> {
        let mut json = serde_json::to_vec(self)?;
        json.push(b'\n');
        Ok(json)
    }
}

/// The one field that every schema version has.
#[derive(Deserialize)]
pub(super) struct Version {
    schema_version: Option<serde_json::Value>,
}

impl Version {
    /// `None` where it is missing or no number.
    pub(super) fn number(&self) -> Option<u64> {
        self.schema_version.as_ref()?.as_u64()
    }
}
