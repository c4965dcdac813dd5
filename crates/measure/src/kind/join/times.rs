//! Times between two places, in constant memory whatever their number and duration.

use netfathom_model::record::{Distribution, Series};
use netfathom_stats as stats;
use netfathom_stats::{Histogram, Moments};

use crate::load::window::GRAIN;

/// Windows at most; one more, and each two become one.
const MOST_WINDOWS: usize = 120;
const SHORTEST_WINDOW_NS: i64 = 1_000_000;
/// No stack takes longer, nor are clocks apart by less that have different beginnings: beyond
/// it, a time says that two clocks were compared which are not one.
const APART_NS: i64 = 3_600_000_000_000;

/// Times, as a whole and window by window.
#[derive(Clone, Debug)]
pub struct Times {
    histogram: Histogram,
    windows: Vec<Moments>,
    window_ns: i64,
    /// When the first window begins; none before the first time.
    start_ns: Option<i64>,
    /// The latest window; its moments are not yet in `windows`.
    current: Current,
    /// Times of more than an hour, which are in none of the others.
    pub apart: u64,
    /// How far each may be off as its stamps were cut, all together.
    uncertainty_ns: u64,
}

/// Times as a record has them.
pub struct TimesSummary {
    pub times: Distribution,
    pub series: Series,
    /// The most messages a second of a window.
    pub peak_per_s: f64,
    /// How far the mean may be off as stamps were cut, either way.
    pub uncertainty_ns: f64,
}

#[derive(Clone, Copy, Debug, Default)]
struct Current {
    index: usize,
    begin_ns: i64,
    moments: Moments,
}

impl Default for Times {
    fn default() -> Self {
        Self {
            histogram: Histogram::new(GRAIN),
            windows: Vec::new(),
            window_ns: SHORTEST_WINDOW_NS,
            start_ns: None,
            current: Current::default(),
            apart: 0,
            uncertainty_ns: 0,
        }
    }
}

impl Times {
    /// Adds a time of a message that was at the first place at a moment, and how far it may be off.
    #[inline]
    pub fn add(&mut self, at_ns: i64, time_ns: i64, uncertainty_ns: u32) {
        if !(-APART_NS..=APART_NS).contains(&time_ns) {
            self.apart += 1;
            return;
        }
        self.histogram.add(time_ns);
        self.uncertainty_ns += u64::from(uncertainty_ns);
        let into = at_ns.wrapping_sub(self.current.begin_ns);
        if self.start_ns.is_none() || into < 0 || into >= self.window_ns {
            self.turn(at_ns);
        }
        self.current.moments.add(time_ns);
    }

    /// Goes to the window of a moment, which a log that is not in the order of time may have before the first one.
    #[cold]
    fn turn(&mut self, at_ns: i64) {
        self.flush();
        let mut start = *self.start_ns.get_or_insert(at_ns);
        let since = at_ns.saturating_sub(start).max(0);
        let until = start.saturating_sub(at_ns).max(0).cast_unsigned();
        let before = |window_ns: i64| until.div_ceil(window_ns.cast_unsigned()) as usize;
        while before(self.window_ns) + self.windows.len().max((since / self.window_ns) as usize + 1)
            > MOST_WINDOWS
        {
            let pairs = self.windows.chunks(2);
            self.windows = pairs
                .map(|pair| {
                    let mut both = Moments::default();
                    pair.iter().for_each(|moments| both.merge(moments));
                    both
                })
                .collect();
            self.window_ns = self.window_ns.saturating_mul(2);
        }
        let before = before(self.window_ns);
        self.windows.splice(0..0, std::iter::repeat_n(Moments::default(), before));
        start = start.saturating_sub((before as i64).saturating_mul(self.window_ns));
        self.start_ns = Some(start);
        let index = (at_ns.saturating_sub(start).max(0) / self.window_ns) as usize;
        let begin_ns = start.saturating_add(index as i64 * self.window_ns);
        self.current = Current { index, begin_ns, moments: Moments::default() };
    }

    fn flush(&mut self) {
        if self.current.moments.n == 0 {
            return;
        }
        if self.windows.len() <= self.current.index {
            self.windows.resize(self.current.index + 1, Moments::default());
        }
        self.windows[self.current.index].merge(&self.current.moments);
        self.current.moments = Moments::default();
    }

    pub fn count(&self) -> u64 {
        self.windows.iter().map(|window| window.n).sum::<u64>() + self.current.moments.n
    }

    pub fn summary(mut self) -> TimesSummary {
        self.flush();
        let mut all = stats::Distribution { moments: Moments::default(), histogram: self.histogram };
        self.windows.iter().for_each(|window| all.moments.merge(window));
        let most = self.windows.iter().map(|window| window.n).max().unwrap_or(0);
        let peak_per_s = most as f64 * 1e9 / self.window_ns as f64;
        let uncertainty_ns = self.uncertainty_ns as f64 / all.moments.n.max(1) as f64;
        let series = Series::of(self.window_ns as u64, &self.windows);
        TimesSummary { times: (&all).into(), series, peak_per_s, uncertainty_ns }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_grow_with_the_duration_and_lose_nothing() {
        let mut times = Times::default();
        let values = |i: i64| if i % 10 == 0 { -i } else { i };
        (0..10_000i64).for_each(|i| times.add(5 + i * 1_000_000, values(i), (i % 2) as u32));
        // Out of order, and before the begin.
        times.add(0, 7, 0);
        times.add(5_000_000_000, 8, 0);
        let TimesSummary { times: all, series, peak_per_s: peak, uncertainty_ns } = times.summary();
        assert!((uncertainty_ns - 5000.0 / 10_002.0).abs() < 1e-9);
        assert_eq!((all.n, all.negative), (10_002, 999));
        assert!(series.n.len() <= MOST_WINDOWS && series.n.len() > MOST_WINDOWS / 2);
        assert_eq!(series.n.iter().sum::<u64>(), 10_002);
        assert_eq!(series.sum_ns.iter().sum::<i64>(), (0..10_000).map(values).sum::<i64>() + 15);
        assert_eq!(series.window_ns, 128_000_000);
        assert!((peak - 1000.0).abs() < 10.0, "{peak}");
    }

    #[test]
    fn moments_of_any_clock_have_a_window() {
        let far = (1 << 62) - 1;
        for moments in [[far, -far], [-far, far], [i64::MAX, i64::MIN], [0, i64::MIN]] {
            let mut times = Times::default();
            moments.iter().chain(&[0, far, -far]).for_each(|&at_ns| times.add(at_ns, 5, 0));
            let TimesSummary { times: all, series, .. } = times.summary();
            assert_eq!((all.n, series.n.iter().sum::<u64>()), (5, 5), "{moments:?}");
        }
    }

    #[test]
    fn times_that_come_backwards_have_the_rate_of_those_that_come_in_order() {
        let rate = |moments: &mut dyn Iterator<Item = i64>| {
            let mut times = Times::default();
            moments.for_each(|i| times.add(i * 1_000_000, 5, 0));
            let TimesSummary { series, peak_per_s, .. } = times.summary();
            assert!(series.n.len() <= MOST_WINDOWS && series.n.iter().sum::<u64>() == 10_000);
            peak_per_s
        };
        let rates = [rate(&mut (0..10_000)), rate(&mut (0..10_000).rev())];
        assert!(rates.iter().all(|rate| (rate - 1000.0).abs() < 10.0), "{rates:?}");
    }

    #[test]
    fn clocks_that_are_not_one_spoil_no_sum() {
        let mut times = Times::default();
        for time in [i64::MIN, i64::MAX, 1 << 61, APART_NS + 1] {
            (0..1000).for_each(|_| times.add(time, time, u32::MAX));
        }
        times.add(i64::MAX, 5, 1);
        times.add(i64::MIN, 6, 3);
        assert_eq!(times.apart, 4000);
        let summary = times.summary();
        assert_eq!((summary.times.n, summary.times.sum_ns, summary.uncertainty_ns), (2, 11, 2.0));
    }
}
