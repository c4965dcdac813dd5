//! Captures and message logs: read, decoded, joined and written.
//!
//! What comes in is not to be trusted: nothing here panics on it, allocates what it says, or
//! goes on for ever. No privilege is needed.
//!
//! ```text
//! capture -> input -> reader -> decode --+
//!                                        +-- join -> sightings -> spans -> record
//! log     -> input -> log ---------------+
//! ```
//!
//! `join` reads both side by side. What one has and the other has not yet waits in a table of fixed size; a packet pulls
//! the log on, as far as its message should be there. A sighting is one message with all its times on the log's clock.

mod buffer;
pub mod decode;
pub mod error;
pub mod input;
pub mod join;
pub mod log;
pub mod packet;
pub mod reader;
pub mod write;
