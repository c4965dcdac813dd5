//! Rate over time. Every profile is a row of linear pieces, so one schedule serves all; only
//! the departures of a poisson profile are drawn.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::units::{format_duration, format_rate};

mod piece;
mod schedule;
mod table;
mod text;

pub use piece::Piece;
pub use schedule::Schedule;
pub use table::MAX_POINTS;
pub use text::ProfileError;

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
    /// `triangle:1k..200k/10s`: up in the first half, down in the second;
    /// `triangle:1k..200k,cap=90k/10s`: on the same slopes, but nowhere above the cap.
    Triangle {
        /// Rate at both ends.
        from_per_s: f64,
        /// Rate in the middle, if there is no cap.
        to_per_s: f64,
        /// The highest rate, which is then held between the slopes.
        #[serde(skip_serializing_if = "Option::is_none")]
        cap_per_s: Option<f64>,
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
    /// `poisson:50k/10s`: as many messages as a constant rate has, at independent random
    /// times.
    Poisson {
        /// Messages a second, on average.
        rate_per_s: f64,
        /// Length of a trial.
        duration_ns: u64,
    },
    /// `csv:FILE`: from point to point the rate runs evenly.
    Table {
        /// Seconds from the start of the trial, and messages a second; from second 0 on.
        points: Vec<(f64, f64)>,
    },
}

impl Profile {
    /// Length of a trial in nanoseconds.
    pub fn duration_ns(&self) -> u64 {
        match self {
            Self::Constant { duration_ns, .. }
            | Self::Ramp { duration_ns, .. }
            | Self::Triangle { duration_ns, .. }
            | Self::Steps { duration_ns, .. }
            | Self::Poisson { duration_ns, .. } => *duration_ns,
            Self::Table { points } => points.last().map_or(0, |(end_s, _)| (end_s * 1e9).round() as u64),
        }
    }

    /// The linear pieces, in order of time.
    pub fn pieces(&self) -> Vec<Piece> {
        let between = |ends: &[(f64, f64)]| Piece {
            start_s: ends[0].0,
            length_s: ends[1].0 - ends[0].0,
            from_per_s: ends[0].1,
            to_per_s: ends[1].1,
        };
        let total_s = self.duration_ns() as f64 / 1e9;
        match self {
            Self::Constant { rate_per_s, .. } | Self::Poisson { rate_per_s, .. } => {
                vec![between(&[(0.0, *rate_per_s), (total_s, *rate_per_s)])]
            }
            Self::Ramp { from_per_s, to_per_s, .. } => {
                vec![between(&[(0.0, *from_per_s), (total_s, *to_per_s)])]
            }
            Self::Triangle { from_per_s: from, to_per_s: to, cap_per_s, .. } => {
                let top = cap_per_s.unwrap_or(*to);
                let rise_s = total_s / 2.0 * (top - from) / (to - from);
                let points = [(0.0, *from), (rise_s, top), (total_s - rise_s, top), (total_s, *from)];
                // Without a cap the third of them repeats the second.
                points.windows(2).map(between).filter(|piece| piece.length_s > 0.0).collect()
            }
            Self::Steps { rates_per_s, .. } => {
                let length_s = total_s / rates_per_s.len() as f64;
                let step = |(i, &rate): (usize, &f64)| Piece {
                    start_s: i as f64 * length_s,
                    length_s,
                    from_per_s: rate,
                    to_per_s: rate,
                };
                rates_per_s.iter().enumerate().map(step).collect()
            }
            Self::Table { points } => points.windows(2).map(between).collect(),
        }
    }

    /// The highest rate of the profile.
    pub fn peak_per_s(&self) -> f64 {
        self.pieces().iter().fold(0.0, |top, p| top.max(p.from_per_s).max(p.to_per_s))
    }

    /// The wanted rate at a time from the start of the trial; 0 outside it.
    pub fn rate_at_s(&self, t_s: f64) -> f64 {
        let within = |p: &&Piece| (p.start_s..=p.start_s + p.length_s).contains(&t_s);
        self.pieces()
            .iter()
            .find(within)
            .map_or(0.0, |p| p.from_per_s + (p.to_per_s - p.from_per_s) * (t_s - p.start_s) / p.length_s)
    }

    /// How many messages the profile holds.
    pub fn messages(&self) -> u64 {
        self.pieces().iter().map(Piece::messages).sum::<f64>().round() as u64
    }

    /// The intended departures, from the start of the trial. The seed decides those of a
    /// poisson profile; the others need none.
    pub fn schedule(&self, seed: u64) -> Schedule {
        Schedule::new(self, seed)
    }

    /// When the messages with these numbers are due, from the start of the trial; `None` of
    /// one that the profile does not hold. Numbers that rise are found in one walk over the
    /// schedule; one that falls begins another.
    pub fn due_of(&self, seed: u64, numbers: impl IntoIterator<Item = u64>) -> Vec<Option<u64>> {
        let mut schedule = self.schedule(seed);
        let mut next = 0;
        let mut last = (u64::MAX, None);
        let mut due_of = |number: u64| {
            if number != last.0 {
                if number < next {
                    (schedule, next) = (self.schedule(seed), 0);
                }
                last = (number, schedule.nth((number - next) as usize));
                next = number.saturating_add(1);
            }
            last.1
        };
        numbers.into_iter().map(&mut due_of).collect()
    }

    fn validated(self) -> Result<Self, ProfileError> {
        let duration_ns = self.duration_ns();
        if !(MIN_DURATION_NS..=MAX_DURATION_NS).contains(&duration_ns) {
            let trial = format_duration(duration_ns);
            return refused(format!("a trial of {trial} cannot be: choose from 10ms to 86400s, a day"));
        }
        self.rates_fit()?;
        if self.messages() < 2 {
            return refused("the profile holds less than two messages: raise its rate or its duration");
        }
        Ok(self)
    }

    fn rates_fit(&self) -> Result<(), ProfileError> {
        // A table may pause.
        let least = if matches!(self, Self::Table { .. }) { 0.0 } else { MIN_RATE_PER_S };
        if let Some(&rate) = self.rates().iter().find(|rate| !(least..=MAX_RATE_PER_S).contains(*rate)) {
            let rate = format_rate(rate);
            return refused(format!(
                "a rate of {rate} messages a second cannot be: choose from {MIN_RATE_PER_S} to 50M"
            ));
        }
        if let Self::Ramp { from_per_s: from, to_per_s: to, .. }
        | Self::Triangle { from_per_s: from, to_per_s: to, .. } = self
            && from >= to
        {
            let [from, to] = [from, to].map(|&rate| format_rate(rate));
            return refused(format!(
                "from {from} to {to} the rate does not rise: the first must be below the second"
            ));
        }
        if let Self::Triangle { from_per_s: from, to_per_s: to, cap_per_s: Some(cap), .. } = self
            && !(cap > from && cap < to)
        {
            let [cap, from, to] = [cap, from, to].map(|&rate| format_rate(rate));
            return refused(format!(
                "cap={cap} does not cut the triangle {from}..{to}: choose a rate between the two"
            ));
        }
        Ok(())
    }

    /// Every rate that was written down.
    fn rates(&self) -> Vec<f64> {
        match self {
            Self::Constant { rate_per_s, .. } | Self::Poisson { rate_per_s, .. } => vec![*rate_per_s],
            Self::Ramp { from_per_s, to_per_s, .. } => vec![*from_per_s, *to_per_s],
            Self::Triangle { from_per_s, to_per_s, cap_per_s, .. } => {
                [Some(*from_per_s), Some(*to_per_s), *cap_per_s].into_iter().flatten().collect()
            }
            Self::Steps { rates_per_s, .. } => rates_per_s.clone(),
            Self::Table { points } => points.iter().map(|point| point.1).collect(),
        }
    }
}

fn refused<T>(why: impl Into<String>) -> Result<T, ProfileError> {
    Err(ProfileError(why.into()))
}

#[cfg(test)]
mod tests;
