//! The values of a quantity, trial by trial, A above B on one axis.

use crate::compare::Compared;

use crate::story::compare::words;

/// Dots that are drawn of one side.
const MOST_DOTS: usize = 300;

/// The picture. All places are percent of its width.
pub(super) struct Trials {
    pub name: String,
    pub title: String,
    pub from: String,
    pub to: String,
    /// Both sides: the name, its dots, its mean, and the mean in words.
    pub sides: Vec<(&'static str, Vec<String>, String, String)>,
    pub left_out: usize,
}

impl Trials {
    pub fn of(quantity: &Compared) -> Self {
        let all = || quantity.a.iter().chain(&quantity.b).copied();
        let (low, high) = (all().fold(f64::INFINITY, f64::min), all().fold(f64::NEG_INFINITY, f64::max));
        let span = high - low;
        // A margin, so that dots stand whole.
        let place = |value: f64| {
            let at = if span > 0.0 { (value - low) / span } else { 0.5 };
            format!("{:.3}%", 3.0 + 94.0 * at)
        };
        let side = |name, values: &[f64], mean: f64| {
            let dots = values.iter().take(MOST_DOTS).map(|&v| place(v)).collect();
            (name, dots, place(mean.clamp(low, high)), words::value(quantity.unit, mean))
        };
        let over = |values: &[f64]| values.len().saturating_sub(MOST_DOTS);
        Self {
            name: quantity.name.clone(),
            title: quantity.title.clone(),
            from: words::value(quantity.unit, low),
            to: words::value(quantity.unit, high),
            sides: vec![side("A", &quantity.a, quantity.a_mean), side("B", &quantity.b, quantity.b_mean)],
            left_out: over(&quantity.a) + over(&quantity.b),
        }
    }
}
