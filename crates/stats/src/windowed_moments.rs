//! A distribution that also keeps its moments window by window.

use serde::{Deserialize, Serialize};

use crate::{Distribution, Moments};

/// Values over time: the whole, and the moments of each window.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Windowed {
    pub distribution: Distribution,
    pub windows: Vec<Moments>,
}

impl Windowed {
    /// Empty, with that many windows and `2^grain` buckets an octave.
    pub fn new(grain: u32, windows: usize) -> Self {
        Self { distribution: Distribution::new(grain), windows: vec![Moments::default(); windows] }
    }

    /// Adds a value to the whole and to a window; the last window also takes what comes later.
    #[inline]
    pub fn add(&mut self, window: usize, value: i64) {
        self.distribution.add(value);
        let last = self.windows.len().saturating_sub(1);
        if let Some(moments) = self.windows.get_mut(window.min(last)) {
            moments.add(value);
        }
    }

    #[inline]
    pub fn add_many(&mut self, window: usize, value: i64, count: u64) {
        self.distribution.add_many(value, count);
        let last = self.windows.len().saturating_sub(1);
        if let Some(moments) = self.windows.get_mut(window.min(last)) {
            moments.add_many(value, count);
        }
    }

    /// Adds the moments of several values to the whole and to a window; their histogram is the
    /// caller's to add ([`Distribution::histogram`]), one by one.
    #[inline]
    pub fn add_moments(&mut self, window: usize, values: &Moments) {
        self.distribution.moments.merge(values);
        let last = self.windows.len().saturating_sub(1);
        if let Some(moments) = self.windows.get_mut(window.min(last)) {
            moments.merge(values);
        }
    }

    /// Adds every value of another one of the same windows.
    pub fn merge(&mut self, other: &Self) {
        self.distribution.merge(&other.distribution);
        if other.windows.len() > self.windows.len() {
            self.windows.resize(other.windows.len(), Moments::default());
        }
        self.windows.iter_mut().zip(&other.windows).for_each(|(a, b)| a.merge(b));
    }

    /// The windows without the empty ones at the end.
    pub fn filled(&self) -> &[Moments] {
        let end = self.windows.iter().rposition(|m| m.n > 0).map_or(0, |last| last + 1);
        &self.windows[..end]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_add_up_to_the_whole() {
        let mut w = Windowed::new(5, 3);
        [(0, 5), (1, -2), (9, 7)].iter().for_each(|&(window, value)| w.add(window, value));
        let mut sum = Moments::default();
        w.windows.iter().for_each(|m| sum.merge(m));
        assert_eq!(sum, w.distribution.moments);
        assert_eq!(w.windows[2].n, 1);
    }

    #[test]
    fn many_at_once_are_as_many_one_by_one() {
        let (mut at_once, mut one_by_one) = (Windowed::new(5, 3), Windowed::new(5, 3));
        for (window, value, count) in [(0, 5, 3), (1, -2, 2), (9, 7, 0), (2, 1000, 1)] {
            at_once.add_many(window, value, count);
            (0..count).for_each(|_| one_by_one.add(window, value));
        }
        assert_eq!(at_once, one_by_one);
    }

    #[test]
    fn empty_windows_at_the_end_are_left_out() {
        let mut w = Windowed::new(5, 8);
        assert!(w.filled().is_empty());
        w.add(2, 1);
        assert_eq!(w.filled().len(), 3);
    }
}
