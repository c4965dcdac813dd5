//! Captures: read, decoded and written, against files made by hand and by other programs, and
//! against other readers.

mod damaged;
mod decoded;
mod formats;
#[path = "../fuzzed/mod.rs"]
mod fuzzed;
mod made;
mod oracle;
mod packed;
mod programs;
mod smoke;
mod written;
