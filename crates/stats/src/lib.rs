//! The arithmetic of netfathom. No I/O, no unsafe, no knowledge of what the numbers mean.
//!
//! Values are signed nanoseconds unless a name says otherwise. Negative values are kept
//! and counted, never clamped.

mod contrast;
mod distribution;
mod histogram;
mod interval;
mod moments;
mod pcost;
mod polish;
mod windowed_moments;

pub use contrast::{Contrast, corrected};
pub use distribution::Distribution;
pub use histogram::{Histogram, bucket_bounds, bucket_index};
pub use interval::{
    DECIDED, Decision, Estimate, Interval, Median, batches, between_sequential_trials, between_trials,
    decide, decided_interval, decided_interval_of, decided_width, difference, mean, median, paired_ratio,
    paired_ratio_by, ratio,
};
pub use moments::Moments;
pub use pcost::pcost;
pub use polish::{Polished, middle_of, polish};
pub use windowed_moments::Windowed;
