//! The search for the highest rate that holds, apart from how a rate is tried.
//!
//! Both thresholds lie on the same axis: a rate on schedule is sustained as well. So
//! the second search begins with all that the first has found out.

use netfathom_model::record::{Probe, Search};

/// The lowest rate that is tried.
pub const FLOOR_PER_S: f64 = 1000.0;
/// The search ends when what held and what did not are so close.
const BRACKET: f64 = 1.03;
/// A rate did not hold when it failed so often: others may have the processor for a moment.
const TRIES: usize = 3;
/// What failed long ago is tried so often again, before it is believed.
const TRIES_AGAIN: usize = 2;
/// The search goes so far above what a burst reached.
const ABOVE_FLAT_OUT: f64 = 1.1;
/// Where even that holds, it goes on in steps of this.
const RAISE: f64 = 1.5;
/// It gives up so far above the first upper end.
const MOST_RAISED: f64 = 4.0;

/// The highest rate that a search tries, where a burst reached `flat_out_per_s`.
pub fn ceiling_per_s(flat_out_per_s: f64) -> f64 {
    (MOST_RAISED * top_per_s(flat_out_per_s)).round()
}

fn top_per_s(flat_out_per_s: f64) -> f64 {
    (ABOVE_FLAT_OUT * flat_out_per_s).max(FLOOR_PER_S * RAISE).round()
}

/// Searches by holding rates with `probe`, which tells nothing when it is to end: then there
/// is no search either.
pub fn search<E>(
    flat_out_per_s: f64,
    probe: impl FnMut(f64) -> Result<Option<Probe>, E>,
) -> Result<Option<Search>, E> {
    found(probe, |tried| tried.both(flat_out_per_s))
}

/// Searches for the sustained rate alone, from below a rate that was sustained otherwise.
pub fn sustained<E>(
    top_per_s: f64,
    probe: impl FnMut(f64) -> Result<Option<Probe>, E>,
) -> Result<Option<Search>, E> {
    found(probe, |tried| Ok((tried.highest(|p| p.sustained, top_per_s, MOST_RAISED * top_per_s)?, None)))
}

/// What `look` finds: the highest sustained rate, and the highest on schedule.
fn found<E, P: FnMut(f64) -> Result<Option<Probe>, E>>(
    probe: P,
    look: impl FnOnce(&mut Tried<P>) -> Result<(Option<f64>, Option<f64>), Halt<E>>,
) -> Result<Option<Search>, E> {
    let mut tried = Tried { probe, probes: Vec::new() };
    match look(&mut tried) {
        Ok((sustained_per_s, capacity_per_s)) => {
            Ok(Some(Search { probes: tried.probes, capacity_per_s, sustained_per_s }))
        }
        Err(halt) => halt.map_or(Ok(None), Err),
    }
}

/// How far the next rate that did not hold lies above the highest that did: the truth lies between.
pub fn step_per_s(search: &Search, held_per_s: f64, good: fn(&Probe) -> bool) -> f64 {
    let held = |rate: f64| search.probes.iter().any(|p| p.wanted_per_s == rate && good(p));
    let above = search.probes.iter().map(|p| p.wanted_per_s).filter(|&r| r > held_per_s && !held(r));
    above.reduce(f64::min).map_or(0.0, |failed| failed - held_per_s)
}

/// Why a search ended early; `None` if it was stopped.
type Halt<E> = Option<E>;

type Good = fn(&Probe) -> bool;

/// All that is known so far, and how to learn more.
struct Tried<P> {
    probe: P,
    probes: Vec<Probe>,
}

impl<E, P: FnMut(f64) -> Result<Option<Probe>, E>> Tried<P> {
    /// The highest sustained rate, and the highest on schedule.
    fn both(&mut self, flat_out_per_s: f64) -> Result<(Option<f64>, Option<f64>), Halt<E>> {
        let (top, ceiling) = (top_per_s(flat_out_per_s), ceiling_per_s(flat_out_per_s));
        let Some(sustained) = self.highest(|p| p.sustained, top, ceiling)? else { return Ok((None, None)) };
        let in_time = self.highest(|p| p.in_time, sustained, sustained)?;
        Ok((Some(sustained), in_time))
    }

    /// The highest good rate, to within the bracket; `None` if there is none down to the floor.
    fn highest(&mut self, good: Good, top: f64, ceiling: f64) -> Result<Option<f64>, Halt<E>> {
        let held = self.rates(good).fold(FLOOR_PER_S, f64::max);
        let (mut low, mut high) = (held.min(top), top);
        loop {
            let mut risen = 0;
            while high > low * BRACKET {
                let rate = self.pivot(low, high);
                if self.holds(rate, good, TRIES)? {
                    (low, risen) = (rate, risen + 1);
                } else {
                    (high, risen) = (rate, 0);
                }
            }
            // The floor was taken for good so far.
            if !self.holds(low, good, TRIES)? {
                return Ok(None);
            }
            // Only a rate that failed by mistake lets everything below it hold up to itself.
            let again = if risen > 1 { self.count(high) + TRIES_AGAIN } else { 0 }.max(TRIES);
            if low >= ceiling || high > low && !self.holds(high, good, again)? {
                return Ok(Some(low));
            }
            low = high;
            high = self.next_failed(low, good).unwrap_or((low * RAISE).round()).min(ceiling);
        }
    }

    /// A rate about half way; one that was tried already where there is one near.
    fn pivot(&self, low: f64, high: f64) -> f64 {
        let quarter = (high / low).sqrt().sqrt();
        let middle = (low * high).sqrt().round();
        let near = |rate: &f64| (low * quarter..=high / quarter).contains(rate);
        let known = self.probes.iter().map(|p| p.wanted_per_s).filter(near);
        known.min_by(|a, b| (a / middle).ln().abs().total_cmp(&(b / middle).ln().abs())).unwrap_or(middle)
    }

    /// Tries a rate until it is good or has failed so often, all earlier times included.
    fn holds(&mut self, rate: f64, good: Good, tries: usize) -> Result<bool, Halt<E>> {
        while !self.rates(good).any(|r| r == rate) {
            if self.count(rate) >= tries {
                return Ok(false);
            }
            let Some(probe) = (self.probe)(rate).map_err(Some)? else { return Err(None) };
            self.probes.push(probe);
        }
        Ok(true)
    }

    fn count(&self, rate: f64) -> usize {
        self.probes.iter().filter(|p| p.wanted_per_s == rate).count()
    }

    fn rates(&self, good: Good) -> impl Iterator<Item = f64> {
        self.probes.iter().filter(move |p| good(p)).map(|p| p.wanted_per_s)
    }

    /// The next higher rate that failed as often as it was allowed to.
    fn next_failed(&self, above: f64, good: Good) -> Option<f64> {
        let failed = |&rate: &f64| {
            rate > above && self.count(rate) >= TRIES && !self.rates(good).any(|held| held == rate)
        };
        self.probes.iter().map(|p| p.wanted_per_s).filter(failed).min_by(f64::total_cmp)
    }
}

#[cfg(test)]
mod tests;
