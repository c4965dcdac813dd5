//! The JSON schema of a record.

use crate::store::Written;

/// The schema of the record that this build writes, JSON Schema 2020-12; checked in as
/// `schema/record-v1.schema.json`.
pub fn schema() -> serde_json::Value {
    schemars::schema_for!(Written).into()
}
