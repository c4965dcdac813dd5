//! Captures and message logs: read, decoded, joined and written.
//!
//! What comes in is not to be trusted: nothing here panics on it, allocates what it says, or
//! goes on for ever. No privilege is needed.

pub mod decode;
pub mod error;
pub mod input;
pub mod join;
pub mod log;
pub mod packet;
pub mod reader;
pub mod write;
