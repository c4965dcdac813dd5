//! Pictures of a record, drawn from the record alone.

mod beside;
mod carried;
mod costed;
mod digits;
pub mod html;
mod joined;
pub mod markdown;
mod messaged;
mod pooled;
mod standing;
mod swept;
pub mod terminal;
