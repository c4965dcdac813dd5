//! What is done with a record: keep it, read it, draw it. Nothing here knows how it was
//! measured.

pub mod render;
pub mod store;
