//! What netfathom's own programs took.

use netfathom_stats::{Contrast, Estimate};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A wider interval, as a part of the value, says too little.
const WIDEST: f64 = 0.5;

/// What the kernel programs took in samples of the run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WatchPrograms {
    /// How long was sampled.
    pub sampled_ns: u64,
    /// Messages meanwhile, both ways.
    pub messages: u64,
    /// Runs of programs meanwhile.
    pub runs: u64,
    /// The time in them, on all CPUs together: without what it takes to call them.
    pub ns: u64,
    /// How far the samples differ.
    #[serde(default)]
    pub spread: WatchSpread,
}

/// Sums over samples of time in programs, and of messages: they make the interval of the one by the other.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WatchSpread {
    /// The time, squared.
    pub ns_squared: f64,
    /// The messages, squared.
    pub messages_squared: f64,
    /// The time times the messages.
    pub ns_messages: f64,
}

impl WatchPrograms {
    /// Of one CPU, 0 to 1 and beyond.
    pub fn share(&self) -> f64 {
        self.ns as f64 / self.sampled_ns.max(1) as f64
    }

    /// The time in programs by the messages of the same samples. `None` where these show too little: messages came in fewer
    /// than two of them, or the interval is wider than ± 50 %.
    pub fn each_message(&self) -> Option<Estimate> {
        let WatchSpread { ns_squared, messages_squared, ns_messages } = self.spread;
        let messages = self.messages as f64;
        // As many as would have these messages if all had the same number: a sample without messages shows nothing of one.
        let samples = messages * messages / messages_squared;
        if !(2.0..f64::INFINITY).contains(&samples) {
            return None;
        }
        let value = self.ns as f64 / messages;
        // What samples took beyond their messages' part, squared.
        let beyond = ns_squared - 2.0 * value * ns_messages + value * value * messages_squared;
        let error = (beyond.max(0.0) * samples / (samples - 1.0)).sqrt() / messages;
        let half_width = Contrast { value, error, degrees: samples - 1.0 }.half_width(0.95);
        (half_width < WIDEST * value).then_some(Estimate { value, half_width })
    }

    /// Both samples together.
    pub fn add(&mut self, other: &Self) {
        self.sampled_ns += other.sampled_ns;
        self.messages += other.messages;
        self.runs += other.runs;
        self.ns += other.ns;
        self.spread.add(&other.spread);
    }
}

impl WatchSpread {
    /// Of a single sample.
    #[must_use]
    pub fn of(ns: u64, messages: u64) -> Self {
        let (ns, messages) = (ns as f64, messages as f64);
        Self { ns_squared: ns * ns, messages_squared: messages * messages, ns_messages: ns * messages }
    }

    fn add(&mut self, other: &Self) {
        self.ns_squared += other.ns_squared;
        self.messages_squared += other.messages_squared;
        self.ns_messages += other.ns_messages;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of samples with this time in programs, and these messages.
    fn each(samples: &[(u64, u64)]) -> Option<Estimate> {
        let mut programs = WatchPrograms::default();
        for &(ns, messages) in samples {
            let spread = WatchSpread::of(ns, messages);
            programs.add(&WatchPrograms { ns, messages, spread, ..WatchPrograms::default() });
        }
        programs.each_message()
    }

    #[test]
    fn a_message_has_the_time_of_the_samples_that_it_came_in() {
        let steady = each(&[(1_100, 10), (2_000, 20), (900, 10), (2_000, 20)]).unwrap();
        assert!(steady.holds(100.0) && steady.half_width > 0.0 && steady.half_width < 20.0, "{steady:?}");
        // Samples without any make the rest wider, and count for no sample.
        let idle = each(&[(1_100, 10), (50, 0), (2_000, 20), (900, 10), (50, 0), (50, 0), (2_000, 20)]);
        let idle = idle.unwrap();
        assert!(idle.value > steady.value && idle.half_width > steady.half_width, "{idle:?} {steady:?}");
    }

    #[test]
    fn too_few_messages_have_no_time_each() {
        assert_eq!(each(&[]), None);
        assert_eq!(each(&[(1_000, 0), (2_000, 0)]), None);
        let burst = [(50, 0), (50, 0), (2_000, 1_000), (50, 0)];
        assert_eq!(each(&burst), None);
        let unlike = [(1_000, 10), (50, 0), (90, 10), (4_000, 12)];
        assert_eq!(each(&unlike), None);
    }
}
