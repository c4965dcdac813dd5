//! Pictures of a record, drawn from the record alone.

mod beside;
mod carried;
pub mod compared;
mod costed;
pub mod html;
mod joined;
pub mod listed;
pub mod markdown;
mod messaged;
mod place;
mod pooled;
pub(crate) mod shortened;
mod standing;
mod steers;
mod swept;
pub mod terminal;

pub use steers::steers;
