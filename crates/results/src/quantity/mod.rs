//! What a run says, quantity by quantity, in one form for every measurement: what comparisons, lists and exports are
//! made of.

mod stack;

use netfathom_model::record::Measurement;

/// One thing that a run says about what was measured.
#[derive(Clone, Debug, PartialEq)]
pub struct Quantity {
    /// Its name, the same in every run of its kind, such as `tx.mean` or `tx.socket.mean`: lower-case words with dots.
    pub name: String,
    /// What it is, in words, such as `stack time out, mean`.
    pub title: String,
    /// What its values are counted in.
    pub unit: Unit,
    /// Which way is the better one.
    pub better: Better,
    /// Whether it is one of the few that the measurement is made for.
    pub main: bool,
    /// A value a trial, in the order in which they were made; of a measurement without trials one.
    pub trials: Vec<f64>,
}

/// What values are counted in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Nanoseconds.
    Nanoseconds,
    /// Things in a second: messages, calls, transactions.
    PerSecond,
    /// Bytes in a second.
    BytesPerSecond,
    /// A part of a whole, 0 to 1.
    Share,
    /// How many times one thing is of another.
    Ratio,
    /// How many.
    Count,
}

/// Which way of a quantity is the better one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Better {
    /// Times, losses, costs.
    Less,
    /// Rates.
    More,
}

/// All that a measurement says, the main quantities first. Trials that are there for the ruler's own cost are left out.
#[must_use]
pub fn of(measurement: &Measurement) -> Vec<Quantity> {
    let mut all = match measurement {
        Measurement::Stack(result) => stack::of(result),
        _ => Vec::new(),
    };
    all.retain(|quantity| !quantity.trials.is_empty() && quantity.trials.iter().all(|v| v.is_finite()));
    all.sort_by_key(|quantity| !quantity.main);
    all
}
