//! The looks at a stream that are kept: as many as a record may hold, evenly spread.

use netfathom_model::record::TransferSample;

/// The most looks that are kept: an odd number, so that the last one stays when every second one is kept.
const MOST: usize = 1023;
/// Between the first looks; a transfer that is over soon has them, too.
const FIRST_PERIOD_NS: u64 = 1_000_000;

#[derive(Debug)]
pub(super) struct SampleSeries {
    pub samples: Vec<TransferSample>,
    period_ns: u64,
    /// When the next look is due, on the one clock.
    pub due_ns: u64,
}

impl Default for SampleSeries {
    fn default() -> Self {
        Self { samples: Vec::new(), period_ns: FIRST_PERIOD_NS, due_ns: 0 }
    }
}

impl SampleSeries {
    /// Keeps a look that was taken at that time. When there are too many every second one goes,
    /// and from then on half as many come.
    pub fn keep(&mut self, sample: TransferSample, now_ns: u64) {
        self.samples.push(sample);
        if self.samples.len() == MOST {
            let mut is_kept = false;
            self.samples.retain(|_| {
                is_kept = !is_kept;
                is_kept
            });
            self.period_ns *= 2;
        }
        self.skip(now_ns);
    }

    /// Lets the next look be due a period later than this one was, or than now if that is past.
    pub fn skip(&mut self, now_ns: u64) {
        self.due_ns += self.period_ns;
        if self.due_ns <= now_ns {
            self.due_ns = now_ns + self.period_ns;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn however_long_it_takes_the_looks_are_few_and_even() {
        let mut seen = SampleSeries::default();
        for look in 0..100_000_u64 {
            let now_ns = 5_000_000_000 + look * FIRST_PERIOD_NS;
            if seen.due_ns <= now_ns {
                seen.keep(TransferSample { at_ns: look, ..TransferSample::default() }, now_ns);
            }
        }
        let kept = &seen.samples;
        assert!((MOST / 2..MOST).contains(&kept.len()), "{}", kept.len());
        let apart: Vec<u64> = kept.windows(2).map(|two| two[1].at_ns - two[0].at_ns).collect();
        assert!(apart.iter().all(|&ms| ms == apart[0]), "{apart:?}");
        assert_eq!(kept[0].at_ns, 0);
    }

    #[test]
    fn a_look_that_came_late_does_not_bring_two() {
        let mut seen = SampleSeries::default();
        seen.keep(TransferSample::default(), 10 * FIRST_PERIOD_NS);
        assert_eq!(seen.due_ns, 11 * FIRST_PERIOD_NS);
        seen.keep(TransferSample::default(), 11 * FIRST_PERIOD_NS + 300);
        assert_eq!(seen.due_ns, 12 * FIRST_PERIOD_NS, "by its deadline, not by when it came");
    }
}
