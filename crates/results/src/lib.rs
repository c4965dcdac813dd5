//! What is done with a record: keep it, read it, draw it. Nothing here knows how it was
//! measured.

pub mod compare;
pub mod draw;
pub mod export;
pub mod page;
pub mod quantity;
pub mod render;
pub mod store;
pub mod story;

/// The schema of the record that this build writes, JSON Schema 2020-12; checked in as
/// `schema/record-v1.schema.json`.
pub fn schema() -> serde_json::Value {
    schemars::schema_for!(store::Written).into()
}
