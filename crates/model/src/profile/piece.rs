//! A stretch in which the rate changes evenly, and how its departures are computed.

/// A stretch in which the rate changes evenly.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Piece {
    /// Start, from the start of the trial.
    pub start_s: f64,
    /// Length.
    pub length_s: f64,
    /// Rate at the start.
    pub from_per_s: f64,
    /// Rate at the end.
    pub to_per_s: f64,
}

impl Piece {
    /// Messages due within the piece, with a fraction.
    pub(super) fn messages(&self) -> f64 {
        (self.from_per_s + self.to_per_s) / 2.0 * self.length_s
    }

    /// What the departures of this piece are computed from.
    pub(super) fn course(&self) -> Course {
        let start_ns = self.start_s * 1e9;
        if self.from_per_s == self.to_per_s {
            // No message is due in a piece without a rate: any finite interval does.
            return Course::Even { start_ns, interval_ns: (1e9 / self.from_per_s).min(f64::MAX) };
        }
        Course::Sloped {
            start_ns,
            from_per_s: self.from_per_s,
            squared: self.from_per_s * self.from_per_s,
            twice_slope: 2.0 * (self.to_per_s - self.from_per_s) / self.length_s,
        }
    }
}

/// A piece, prepared so that one departure costs as little as can be: the sender asks for
/// millions a second.
#[derive(Clone, Copy, Debug)]
pub(super) enum Course {
    /// The rate stays: no square root.
    Even {
        /// Start, from the start of the trial.
        start_ns: f64,
        /// Between two messages.
        interval_ns: f64,
    },
    /// The rate rises or falls.
    Sloped {
        /// Start, from the start of the trial.
        start_ns: f64,
        /// Rate at the start.
        from_per_s: f64,
        /// Its square.
        squared: f64,
        /// Twice the rate's change a second.
        twice_slope: f64,
    },
}

impl Course {
    /// When the message with that (fractional) number within the piece is due, rounded to
    /// the nanosecond.
    ///
    /// On a slope it is the inverse of `n(t) = from t + slope t^2 / 2`, in the form that does
    /// not cancel when the slope is small.
    #[inline]
    pub(super) fn due_ns(&self, n: f64) -> u64 {
        let due = match *self {
            Self::Even { start_ns, interval_ns } => start_ns + n * interval_ns,
            Self::Sloped { start_ns, from_per_s, squared, twice_slope } => {
                let root = (squared + twice_slope * n).max(0.0).sqrt();
                // A slope from 0 divides 0 by 0 at its first message.
                start_ns + 2e9 * n / (from_per_s + root).max(f64::MIN_POSITIVE)
            }
        };
        // Through a signed integer, which is a single instruction on x86-64; it is never below 0.
        (due + 0.5) as i64 as u64
    }
}
