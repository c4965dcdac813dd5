//! The load: messages that leave at their time, whatever became of those before.
//!
//! From the inside out: a `sender` follows a schedule through an `engine`; a `flight` is
//! several of them with a far end; a `shot` is a flight with everything that is known of it
//! afterwards.

pub mod accounting;
pub mod allow;
pub mod answers;
pub mod contention;
pub mod control;
pub mod engine;
pub mod error;
pub mod flight;
pub mod frame;
pub mod instance;
pub mod judge;
pub mod lateness;
pub mod message_log;
pub mod precision;
pub mod reader;
pub mod receive;
pub mod remote;
pub mod report;
pub mod sender;
pub mod sent;
pub mod sequence_window;
pub mod shot;
pub mod streamed;
pub mod tally;
pub mod tap;
pub mod window;
