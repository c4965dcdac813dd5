//! The arithmetic of netfathom. No I/O, no unsafe, no knowledge of what the numbers mean.
//!
//! Values are signed nanoseconds unless a name says otherwise. Negative values are kept
//! and counted, never clamped.

mod distribution;
mod histogram;
mod interval;
mod moments;
mod windowed;

pub use distribution::Distribution;
pub use histogram::{Histogram, bucket_bounds, bucket_index};
pub use interval::{Estimate, Median, between_trials, difference, median, paired_ratio, ratio};
pub use moments::Moments;
pub use windowed::Windowed;
