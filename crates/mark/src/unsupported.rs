//! Where there is no Linux of 64 bits: marks are nothing there.

use crate::Status;

#[inline]
pub fn mark(_: &str, _: impl FnOnce() -> u64) {}

pub fn status() -> Status {
    Status::default()
}
