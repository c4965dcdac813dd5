//! Pictures of a record, drawn from the record alone.

pub mod html;
pub mod listed;
pub mod markdown;
