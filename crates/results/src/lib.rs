//! What is done with a record: keep it, read it, draw it. Nothing here knows how it was
//! measured.

pub mod compare;
pub mod draw;
pub mod export;
pub mod page;
pub mod quantity;
pub mod render;
mod schema;
pub mod store;
pub mod story;

pub use schema::schema;
