//! Windows of time over a trial: a power of two long, so that the kernel finds one by a shift.

use netfathom_bpf::stack::WINDOWS;
use netfathom_model::profile::Profile;
use serde::{Deserialize, Serialize};

/// The plan must want at least this part of its highest rate in a window of peak intensity.
const PEAK_SHARE: f64 = 0.9;

/// Three digits, for what a run is about: stack time and lag.
pub const GRAIN: u32 = 10;
/// Buckets of at most 0.8 %, for its parts: they are many, and each goes into the record.
pub const PART_GRAIN: u32 = 7;

/// Where a trial's windows begin and how long they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Windows {
    /// Start of the trial, CLOCK_MONOTONIC.
    pub start_ns: u64,
    /// A window is `2^shift` ns long.
    pub shift: u32,
}

impl Windows {
    /// The shortest windows that cover the trial with the number that the kernel has.
    pub fn shift_for(duration_ns: u64) -> u32 {
        (0..63).find(|&shift| duration_ns >> shift < WINDOWS as u64).unwrap_or(63)
    }

    /// The window of a time; times before the start fall into the first.
    #[inline]
    pub fn of(&self, time_ns: u64) -> usize {
        (time_ns.saturating_sub(self.start_ns) >> self.shift) as usize
    }

    pub fn length_ns(&self) -> u64 {
        1 << self.shift
    }

    /// The windows of peak intensity: those in which the plan wants at least 90 % of its
    /// highest rate. Cut off at the plan's end.
    pub fn peak(&self, profile: &Profile) -> Vec<usize> {
        let length_s = self.length_ns() as f64 / 1e9;
        let threshold = PEAK_SHARE * profile.peak_per_s();
        let wanted = |i: usize| profile.rate_at_s((i as f64 + 0.5) * length_s);
        (0..WINDOWS).filter(|&i| wanted(i) >= threshold).collect()
    }

    /// How much of a window lies before an end, given from the start of the trial; in seconds.
    pub fn within_s(&self, window: usize, end_ns: u64) -> f64 {
        let start = window as u64 * self.length_ns();
        end_ns.saturating_sub(start).min(self.length_ns()) as f64 / 1e9
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn windows(profile: &Profile) -> Windows {
        Windows { start_ns: 1000, shift: Windows::shift_for(profile.duration_ns()) }
    }

    #[test]
    fn a_trial_fits_its_windows() {
        for seconds in [1, 5, 10, 3600] {
            let duration = seconds * 1_000_000_000;
            let shift = Windows::shift_for(duration);
            assert!((WINDOWS as u64 / 2 - 1..WINDOWS as u64).contains(&(duration >> shift)));
        }
    }

    #[test]
    fn the_peak_of_a_ramp_is_its_end() {
        let profile: Profile = "ramp:1k..100k/10s".parse().unwrap();
        let w = windows(&profile);
        let peak = w.peak(&profile);
        let start_s = peak[0] as f64 * w.length_ns() as f64 / 1e9;
        assert!((8.8..9.2).contains(&start_s));
        assert!(peak.iter().all(|&i| w.within_s(i, profile.duration_ns()) > 0.0));
    }

    #[test]
    fn a_constant_rate_is_peak_throughout() {
        let profile: Profile = "constant:5k/2s".parse().unwrap();
        let w = windows(&profile);
        let covered: f64 = w.peak(&profile).iter().map(|&i| w.within_s(i, profile.duration_ns())).sum();
        assert!((covered - 2.0).abs() < 0.02);
    }
}
