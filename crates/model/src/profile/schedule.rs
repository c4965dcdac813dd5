//! The intended departures of a profile, one after the other, in constant memory.

use std::vec;

use super::Profile;
use super::piece::{Course, Piece};
use crate::random::SplitMix64;

/// The intended departures of a profile, in nanoseconds from the start of the trial and in
/// order: all of them, or every n-th ([`Schedule::lane`]).
///
/// In a profile of pieces each is computed from the message's number, so errors do not add
/// up and skipping costs nothing; those of a poisson profile have to be drawn one by one.
#[derive(Clone, Debug)]
pub struct Schedule {
    source: Source,
    next: u64,
    step: u64,
    total: u64,
}

#[derive(Clone, Debug)]
enum Source {
    Pieces(Pieces),
    Poisson(Poisson),
}

impl Schedule {
    pub(super) fn new(profile: &Profile, seed: u64) -> Self {
        let total = profile.messages();
        let source = match profile {
            Profile::Poisson { duration_ns, .. } => Source::Poisson(Poisson::new(seed, *duration_ns, total)),
            _ => Source::Pieces(Pieces::new(profile.pieces())),
        };
        Self { source, next: 0, step: 1, total }
    }

    /// One lane of several: of the departures still to come the one with the number `first`,
    /// from 0, and every `step`-th after it. The lanes `0..step` together are the whole.
    ///
    /// # Panics
    /// If `step` is 0.
    pub fn lane(mut self, first: u64, step: u64) -> Self {
        assert!(step > 0, "a lane takes every step-th departure, from 1 on");
        self.skip_departures(first);
        self.step = self.step.saturating_mul(step);
        self
    }

    fn skip_departures(&mut self, count: u64) {
        self.next = self.next.saturating_add(self.step.saturating_mul(count));
    }
}

impl Iterator for Schedule {
    type Item = u64;

    #[inline]
    fn next(&mut self) -> Option<u64> {
        if self.next >= self.total {
            return None;
        }
        let due_ns = match &mut self.source {
            Source::Pieces(pieces) => pieces.due_ns(self.next),
            Source::Poisson(poisson) => poisson.due_ns(self.next),
        };
        self.next = self.next.saturating_add(self.step);
        Some(due_ns)
    }

    fn nth(&mut self, n: usize) -> Option<u64> {
        self.skip_departures(n as u64);
        self.next()
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let left = self.total.saturating_sub(self.next).div_ceil(self.step) as usize;
        (left, Some(left))
    }
}

impl ExactSizeIterator for Schedule {}

/// Walks the pieces; asked for numbers that only rise.
#[derive(Clone, Debug)]
struct Pieces {
    course: Course,
    /// Messages before the current piece, and with it.
    before: f64,
    until: f64,
    rest: vec::IntoIter<Piece>,
}

impl Pieces {
    fn new(pieces: Vec<Piece>) -> Self {
        let nothing = Course::Even { start_ns: 0.0, interval_ns: 0.0 };
        let mut walk = Self { course: nothing, before: 0.0, until: 0.0, rest: pieces.into_iter() };
        walk.advance();
        walk
    }

    #[cold]
    fn advance(&mut self) {
        if let Some(piece) = self.rest.next() {
            self.course = piece.course();
            self.before = self.until;
            self.until += piece.messages();
        }
    }

    #[inline]
    fn due_ns(&mut self, number: u64) -> u64 {
        // Signed, as the CPU has it; no profile holds 2^63 messages.
        let n = number as i64 as f64;
        while n >= self.until && self.rest.len() > 0 {
            self.advance();
        }
        self.course.due_ns(n - self.before)
    }
}

/// A Poisson process with a given number of messages: its times are then
/// independent and uniform over the trial (Cox and Lewis, 1966), in order.
///
/// They are drawn in order (J. L. Bentley and J. B. Saxe, "Generating sorted lists of random
/// numbers", ACM TOMS 6(3), 1980): the earliest of k uniform times in what is left of the
/// trial lies at `left (1 - U^(1/k))`.
#[derive(Clone, Debug)]
struct Poisson {
    random: SplitMix64,
    at_ns: f64,
    end_ns: f64,
    /// How many are still to be drawn, and how many have been.
    left: u64,
    drawn: u64,
}

impl Poisson {
    fn new(seed: u64, duration_ns: u64, messages: u64) -> Self {
        Self {
            random: SplitMix64::new(seed),
            at_ns: 0.0,
            end_ns: duration_ns as f64,
            left: messages,
            drawn: 0,
        }
    }

    #[inline]
    fn draw(&mut self) {
        let exponent = self.random.next_unit().ln() / self.left as f64;
        self.at_ns += (self.end_ns - self.at_ns) * one_minus_exp(exponent);
        self.left -= 1;
        self.drawn += 1;
    }

    /// When the message of that number is due; asked for numbers that only rise.
    #[inline]
    fn due_ns(&mut self, number: u64) -> u64 {
        while self.drawn <= number && self.left > 0 {
            self.draw();
        }
        (self.at_ns + 0.5) as i64 as u64
    }
}

/// `1 - e^x` of an x that is not above 0, without the loss of digits of a small one. Nearly
/// all are small, and five terms of the series are then exact and cheaper than the library.
#[inline]
fn one_minus_exp(x: f64) -> f64 {
    if x > -1e-3 {
        return -x * (1.0 + x / 2.0 * (1.0 + x / 3.0 * (1.0 + x / 4.0 * (1.0 + x / 5.0))));
    }
    -x.exp_m1()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_series_is_the_function() {
        for x in [-0.0, -1e-18, -1e-9, -1e-5, -9.99e-4, -1.001e-3, -0.5, -30.0] {
            let (ours, library) = (one_minus_exp(x), -f64::exp_m1(x));
            assert!((ours - library).abs() <= 4.0 * f64::EPSILON * library, "{x}: {ours} and {library}");
        }
    }
}
