//! The schema that a record says it has.

use serde::Deserialize;

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
