//! A record as it is written.

use netfathom_model::record::Record;
use schemars::JsonSchema;
use serde::Serialize;

use crate::quantity::AllFigures;

/// A record with its figures by name: other programs need not know each measurement to read them. This one does, and
/// makes them from the measurement.
#[derive(Serialize, JsonSchema)]
pub struct Written<'a> {
    #[serde(flatten)]
    record: &'a Record,
    /// What was measured by name, in one form for all measurements.
    figures: AllFigures<'a>,
}

impl<'a> Written<'a> {
    pub fn of(record: &'a Record) -> Self {
        Self { record, figures: AllFigures::of(&record.measurement) }
    }

    pub fn json(&self) -> serde_json::Result<Vec<u8>> {
        let mut json = serde_json::to_vec(self)?;
        json.push(b'\n');
        Ok(json)
    }
}
