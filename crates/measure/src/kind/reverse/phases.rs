//! The four parts of a trial: where they begin and end, which windows of time they hold, and
//! what the inbound load is to do in them.

use std::ops::Range;

use netfathom_model::plan::ReversePlan;
use netfathom_model::profile::Profile;
use netfathom_model::record::Phase;
use netfathom_stats::Moments;

use crate::load::window::Windows;

/// How many there are; they are equally long.
const COUNT: u64 = Phase::ALL.len() as u64;

#[derive(Clone, Copy, Debug)]
pub struct Phases {
    pub duration_ns: u64,
    /// Its windows, which begin with it.
    pub windows: Windows,
}

impl Phases {
    /// The edges of the parts, from the start of the trial: one more than there are parts.
    pub fn edges_ns(&self) -> impl Iterator<Item = u64> + use<> {
        let duration_ns = u128::from(self.duration_ns);
        (0..=COUNT).map(move |n| (duration_ns * u128::from(n) / u128::from(COUNT)) as u64)
    }

    /// Start and end of a part, from the start of the trial.
    pub fn bounds_ns(&self, phase: Phase) -> Range<u64> {
        let edge = |n: usize| self.edges_ns().nth(n).unwrap_or(self.duration_ns);
        edge(phase as usize)..edge(phase as usize + 1)
    }

    /// The windows that lie wholly within a part. Those across an edge belong to none: they
    /// would blur what the parts are to be compared for.
    pub fn windows_of(&self, phase: Phase) -> Range<usize> {
        let length_ns = self.windows.length_ns();
        let bounds = self.bounds_ns(phase);
        bounds.start.div_ceil(length_ns) as usize..(bounds.end / length_ns) as usize
    }

    pub fn window_count(&self) -> usize {
        self.duration_ns.div_ceil(self.windows.length_ns()) as usize
    }

    /// Messages a second in a part, from a count a window.
    pub fn per_s(&self, phase: Phase, counts: &[u64]) -> f64 {
        let windows = self.windows_of(phase);
        let time_s = windows.len() as f64 * self.windows.length_ns() as f64 / 1e9;
        let count: u64 = windows.filter_map(|i| counts.get(i)).sum();
        if time_s > 0.0 { count as f64 / time_s } else { 0.0 }
    }

    /// The mean of a part's windows; `None` where nothing was taken in them.
    pub fn mean(&self, phase: Phase, windows: &[Moments]) -> Option<f64> {
        let mut moments = Moments::default();
        self.windows_of(phase).filter_map(|i| windows.get(i)).for_each(|window| moments.merge(window));
        moments.mean()
    }

    /// The part of the messages that an echo sends back at a time, CLOCK_MONOTONIC: none
    /// before the rise and after the peak.
    pub fn answered_share(&self, now_ns: u64) -> f64 {
        let at_ns = now_ns.saturating_sub(self.windows.start_ns);
        let rise = self.bounds_ns(Phase::Rise);
        match at_ns {
            _ if rise.contains(&at_ns) => (at_ns - rise.start) as f64 / (rise.end - rise.start) as f64,
            _ if self.bounds_ns(Phase::Peak).contains(&at_ns) => 1.0,
            _ => 0.0,
        }
    }

    /// Start of the inbound load and its end, CLOCK_MONOTONIC.
    pub fn inbound_ns(&self) -> Range<u64> {
        let start_ns = self.windows.start_ns;
        start_ns + self.bounds_ns(Phase::Rise).start..start_ns + self.bounds_ns(Phase::Peak).end
    }
}

/// The inbound load, from the start of its rise: up to the peak, and on at the peak.
pub fn inbound(plan: &ReversePlan) -> Profile {
    let quarter_s = plan.duration_ns as f64 / COUNT as f64 / 1e9;
    let peak = plan.inbound_peak_per_s;
    Profile::Table {
        points: vec![(0.0, plan.inbound_from_per_s), (quarter_s, peak), (2.0 * quarter_s, peak)],
    }
}

#[cfg(test)]
mod tests {
    use netfathom_model::plan::{Family, Variant};

    use super::*;

    fn phases(duration_ns: u64) -> Phases {
        let windows = Windows { start_ns: 5000, shift: Windows::shift_for(duration_ns) };
        Phases { duration_ns, windows }
    }

    #[test]
    fn the_parts_follow_each_other_and_fill_the_trial() {
        for duration_ns in [400_000_000, 1_200_000_001, 7_777_777_777, 3_600_000_000_000] {
            let phases = phases(duration_ns);
            let bounds = Phase::ALL.map(|phase| phases.bounds_ns(phase));
            assert_eq!((bounds[0].start, bounds[3].end), (0, duration_ns));
            for (one, next) in bounds.iter().zip(&bounds[1..]) {
                assert_eq!(one.end, next.start);
                assert!((one.end - one.start).abs_diff(duration_ns / 4) <= 1);
            }
        }
    }

    #[test]
    fn a_window_across_an_edge_belongs_to_no_part() {
        for duration_ns in [400_000_000, 1_200_000_000, 10_000_000_000] {
            let phases = phases(duration_ns);
            let length_ns = phases.windows.length_ns();
            for phase in Phase::ALL {
                let (bounds, windows) = (phases.bounds_ns(phase), phases.windows_of(phase));
                assert!(windows.start as u64 * length_ns >= bounds.start);
                assert!(windows.end as u64 * length_ns <= bounds.end);
                // Of the whole part nothing but its two edges is left out.
                assert!(windows.len() as u64 * length_ns + 2 * length_ns > bounds.end - bounds.start);
            }
            assert!(phases.window_count() > phases.windows_of(Phase::After).end - 1);
        }
    }

    #[test]
    fn a_rate_counts_the_windows_of_its_part_alone() {
        let phases = phases(1 << 30);
        let mut counts = vec![0; phases.window_count()];
        let peak = phases.windows_of(Phase::Peak);
        counts[peak.clone()].fill(10);
        let expected = 10.0 * 1e9 / phases.windows.length_ns() as f64;
        assert!((phases.per_s(Phase::Peak, &counts) - expected).abs() < 1e-6);
        for other in [Phase::Before, Phase::Rise, Phase::After] {
            assert_eq!(phases.per_s(other, &counts), 0.0);
        }
        // A series that ends early counts for nothing, and is not read beyond its end.
        assert_eq!(phases.per_s(Phase::Peak, &counts[..peak.start]), 0.0);
    }

    #[test]
    fn a_mean_is_that_of_its_part() {
        let phases = phases(1 << 30);
        let mut windows = vec![Moments::default(); phases.window_count()];
        windows[phases.windows_of(Phase::Before).start].add(100);
        windows[phases.windows_of(Phase::Peak).start].add(300);
        assert_eq!(phases.mean(Phase::Before, &windows), Some(100.0));
        assert_eq!(phases.mean(Phase::Peak, &windows), Some(300.0));
        assert_eq!(phases.mean(Phase::After, &windows), None);
    }

    #[test]
    fn an_echo_answers_more_and_more_and_then_no_more() {
        let phases = phases(4_000_000_000);
        let at = |ns: u64| phases.answered_share(phases.windows.start_ns + ns);
        assert_eq!((at(0), at(999_999_999), at(1_000_000_000)), (0.0, 0.0, 0.0));
        assert!((at(1_250_000_000) - 0.25).abs() < 1e-9 && (at(1_750_000_000) - 0.75).abs() < 1e-9);
        assert_eq!((at(2_000_000_000), at(2_999_999_999)), (1.0, 1.0));
        assert_eq!((at(3_000_000_000), at(9_000_000_000)), (0.0, 0.0));
        // A clock before the start is no time of the rise.
        assert_eq!(phases.answered_share(0), 0.0);
    }

    #[test]
    fn the_inbound_load_rises_to_its_peak_and_ends_with_it() {
        let plan = ReversePlan {
            family: Family::Ipv4,
            variants: vec![Variant::Ignored],
            trials: 1,
            duration_ns: 4_000_000_000,
            inbound_from_per_s: 1000.0,
            inbound_peak_per_s: 21_000.0,
            size_bytes: 64,
            tapped: false,
            cpus: None,
            to: None,
            allow: None,
        };
        let profile = inbound(&plan);
        assert_eq!((profile.rate_at_s(0.5), profile.rate_at_s(1.5)), (11_000.0, 21_000.0));
        assert_eq!(profile.messages(), 11_000 + 21_000);
        let phases = phases(plan.duration_ns);
        let on = phases.inbound_ns();
        assert_eq!(on.end - on.start, profile.duration_ns());
        assert_eq!(on.start - phases.windows.start_ns, 1_000_000_000);
    }
}
