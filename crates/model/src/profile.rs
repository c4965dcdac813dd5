//! Rate over time. Every profile is a row of linear pieces, so one schedule serves all.

use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::units::{format_duration, format_rate, parse_duration_ns, parse_number};

/// The highest rate a plan may ask for; no engine of one machine reaches it.
pub const MAX_RATE_PER_S: f64 = 50e6;
/// The lowest rate: one message in ten seconds.
pub const MIN_RATE_PER_S: f64 = 0.1;
/// The longest trial.
pub const MAX_DURATION_NS: u64 = 24 * 3600 * 1_000_000_000;
/// The shortest trial.
pub const MIN_DURATION_NS: u64 = 10_000_000;

/// The shape of the rate over one trial. Written `kind:rates/duration`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", tag = "kind")]
pub enum Profile {
    /// `constant:50k/10s`
    Constant {
        /// Messages a second.
        rate_per_s: f64,
        /// Length of a trial.
        duration_ns: u64,
    },
    /// `ramp:1k..200k/10s`: the rate rises evenly.
    Ramp {
        /// Rate at the start.
        from_per_s: f64,
        /// Rate at the end.
        to_per_s: f64,
        /// Length of a trial.
        duration_ns: u64,
    },
    /// `triangle:1k..200k/10s`: up in the first half, down in the second.
    Triangle {
        /// Rate at both ends.
        from_per_s: f64,
        /// Rate in the middle.
        to_per_s: f64,
        /// Length of a trial.
        duration_ns: u64,
    },
    /// `steps:1k,10k,100k/10s`: equally long steps.
    Steps {
        /// The rate of each step.
        rates_per_s: Vec<f64>,
        /// Length of a trial, all steps together.
        duration_ns: u64,
    },
}

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
    fn messages(&self) -> f64 {
        (self.from_per_s + self.to_per_s) / 2.0 * self.length_s
    }

    /// When the message with that (fractional) number within the piece is due.
    ///
    /// The inverse of `n(t) = from t + (to - from) t^2 / 2 length`, in the form that
    /// does not cancel when the slope is small.
    fn due_s(&self, n: f64) -> f64 {
        let slope = (self.to_per_s - self.from_per_s) / self.length_s;
        let root = (self.from_per_s * self.from_per_s + 2.0 * slope * n).max(0.0).sqrt();
        self.start_s + 2.0 * n / (self.from_per_s + root)
    }
}

impl Profile {
    /// Length of a trial in nanoseconds.
    #[must_use]
    pub fn duration_ns(&self) -> u64 {
        match self {
            Self::Constant { duration_ns, .. }
            | Self::Ramp { duration_ns, .. }
            | Self::Triangle { duration_ns, .. }
            | Self::Steps { duration_ns, .. } => *duration_ns,
        }
    }

    /// The linear pieces, in order of time.
    #[must_use]
    pub fn pieces(&self) -> Vec<Piece> {
        let total_s = self.duration_ns() as f64 / 1e9;
        let ends: Vec<(f64, f64)> = match self {
            Self::Constant { rate_per_s, .. } => vec![(*rate_per_s, *rate_per_s)],
            Self::Ramp { from_per_s, to_per_s, .. } => vec![(*from_per_s, *to_per_s)],
            Self::Triangle { from_per_s, to_per_s, .. } => {
                vec![(*from_per_s, *to_per_s), (*to_per_s, *from_per_s)]
            }
            Self::Steps { rates_per_s, .. } => rates_per_s.iter().map(|&r| (r, r)).collect(),
        };
        let length_s = total_s / ends.len() as f64;
        let piece = |(i, (from_per_s, to_per_s))| Piece {
            start_s: i as f64 * length_s,
            length_s,
            from_per_s,
            to_per_s,
        };
        ends.into_iter().enumerate().map(piece).collect()
    }

    /// The highest rate of the profile.
    #[must_use]
    pub fn peak_per_s(&self) -> f64 {
        self.pieces().iter().fold(0.0, |top, p| top.max(p.from_per_s).max(p.to_per_s))
    }

    /// The wanted rate at a time from the start of the trial; 0 outside it.
    #[must_use]
    pub fn rate_at_s(&self, t_s: f64) -> f64 {
        let within = |p: &&Piece| (p.start_s..=p.start_s + p.length_s).contains(&t_s);
        self.pieces()
            .iter()
            .find(within)
            .map_or(0.0, |p| p.from_per_s + (p.to_per_s - p.from_per_s) * (t_s - p.start_s) / p.length_s)
    }

    /// How many messages the profile holds.
    #[must_use]
    pub fn messages(&self) -> u64 {
        self.pieces().iter().map(Piece::messages).sum::<f64>().round() as u64
    }

    /// The intended departures, from the start of the trial.
    #[must_use]
    pub fn schedule(&self) -> Schedule {
        Schedule { pieces: self.pieces(), index: 0, before: 0.0, next: 0, total: self.messages() }
    }

    /// When the message with that number is due, from the start of the trial; `None` of
    /// one that the profile does not hold.
    #[must_use]
    pub fn due_ns(&self, number: u64) -> Option<u64> {
        Schedule { next: number, ..self.schedule() }.next()
    }

    fn validated(self) -> Result<Self, ProfileError> {
        let duration_ns = self.duration_ns();
        if !(MIN_DURATION_NS..=MAX_DURATION_NS).contains(&duration_ns) {
            return Err(ProfileError::Duration(format_duration(duration_ns)));
        }
        for piece in self.pieces() {
            for rate in [piece.from_per_s, piece.to_per_s] {
                if !(MIN_RATE_PER_S..=MAX_RATE_PER_S).contains(&rate) {
                    return Err(ProfileError::Rate(format_rate(rate)));
                }
            }
        }
        if let Self::Ramp { from_per_s, to_per_s, .. } | Self::Triangle { from_per_s, to_per_s, .. } = self
            && from_per_s >= to_per_s
        {
            return Err(ProfileError::Backward(format_rate(from_per_s), format_rate(to_per_s)));
        }
        if self.messages() < 2 {
            return Err(ProfileError::Empty);
        }
        Ok(self)
    }
}

/// The intended departures of a profile, in nanoseconds from the start of the trial.
///
/// Computed from the message's number each time, so errors do not add up.
#[derive(Clone, Debug)]
pub struct Schedule {
    pieces: Vec<Piece>,
    index: usize,
    before: f64,
    next: u64,
    total: u64,
}

impl Iterator for Schedule {
    type Item = u64;

    #[inline]
    fn next(&mut self) -> Option<u64> {
        if self.next >= self.total {
            return None;
        }
        let mut piece = &self.pieces[self.index];
        while self.next as f64 - self.before >= piece.messages() && self.index + 1 < self.pieces.len() {
            self.before += piece.messages();
            self.index += 1;
            piece = &self.pieces[self.index];
        }
        let due = piece.due_s(self.next as f64 - self.before);
        self.next += 1;
        Some((due * 1e9) as u64)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let left = (self.total - self.next) as usize;
        (left, Some(left))
    }
}

impl ExactSizeIterator for Schedule {}

/// Why a text is no profile.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ProfileError {
    /// Not of the form `kind:rates/duration`.
    #[error(
        "`{0}` is not a profile: write constant:50k/10s, ramp:1k..200k/10s, triangle:1k..200k/10s or steps:1k,10k,100k/10s"
    )]
    Form(String),
    /// A number or a time that cannot be read.
    #[error("{0}")]
    Number(String),
    /// A rate beyond what any machine does, or none.
    #[error("a rate of {0} messages a second cannot be: choose from {MIN_RATE_PER_S} to 50M")]
    Rate(String),
    /// A ramp that does not rise.
    #[error("from {0} to {1} the rate does not rise: the first must be below the second")]
    Backward(String, String),
    /// A trial too short or too long.
    #[error("a trial of {0} cannot be: choose from 10ms to 86400s, a day")]
    Duration(String),
    /// Less than two messages.
    #[error("the profile holds less than two messages: raise its rate or its duration")]
    Empty,
}

impl FromStr for Profile {
    type Err = ProfileError;

    fn from_str(text: &str) -> Result<Self, ProfileError> {
        let form = || ProfileError::Form(text.to_owned());
        let (kind, rest) = text.split_once(':').ok_or_else(form)?;
        let (rates, duration) = rest.rsplit_once('/').ok_or_else(form)?;
        let duration_ns = parse_duration_ns(duration).map_err(ProfileError::Number)?;
        let number = |t: &str| parse_number(t).map_err(ProfileError::Number);
        let pair = || -> Result<(f64, f64), ProfileError> {
            let (from, to) = rates.split_once("..").ok_or_else(form)?;
            Ok((number(from)?, number(to)?))
        };
        let profile = match kind {
            "constant" => Self::Constant { rate_per_s: number(rates)?, duration_ns },
            "ramp" => {
                let (from_per_s, to_per_s) = pair()?;
                Self::Ramp { from_per_s, to_per_s, duration_ns }
            }
            "triangle" => {
                let (from_per_s, to_per_s) = pair()?;
                Self::Triangle { from_per_s, to_per_s, duration_ns }
            }
            "steps" => Self::Steps {
                rates_per_s: rates.split(',').map(number).collect::<Result<_, _>>()?,
                duration_ns,
            },
            _ => return Err(form()),
        };
        profile.validated()
    }
}

impl fmt::Display for Profile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let duration = format_duration(self.duration_ns());
        match self {
            Self::Constant { rate_per_s, .. } => {
                write!(f, "constant:{}/{duration}", format_rate(*rate_per_s))
            }
            Self::Ramp { from_per_s, to_per_s, .. } => {
                write!(f, "ramp:{}..{}/{duration}", format_rate(*from_per_s), format_rate(*to_per_s))
            }
            Self::Triangle { from_per_s, to_per_s, .. } => {
                write!(f, "triangle:{}..{}/{duration}", format_rate(*from_per_s), format_rate(*to_per_s))
            }
            Self::Steps { rates_per_s, .. } => {
                let rates: Vec<String> = rates_per_s.iter().map(|&r| format_rate(r)).collect();
                write!(f, "steps:{}/{duration}", rates.join(","))
            }
        }
    }
}

#[cfg(test)]
mod tests;
