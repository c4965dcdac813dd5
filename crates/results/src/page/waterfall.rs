//! Bars that begin where the one before them ended.

use serde::Serialize;

use super::{Axis, Color};

/// Steps of a way on one scale.
#[derive(Clone, Debug, Serialize)]
pub struct Waterfall {
    /// What it shows, for those who do not see it.
    pub about: String,
    pub unit: Axis,
    pub steps: Vec<WaterfallStep>,
    /// What a reader must know of the bars.
    pub note: String,
}

#[derive(Clone, Debug, Serialize)]
#[serde(tag = "step", rename_all = "snake_case")]
pub enum WaterfallStep {
    Bar {
        name: &'static str,
        about: String,
        color: Color,
        fill: Fill,
        ends: (f64, f64),
        text: String,
        /// What must be known of the text.
        aside: Option<String>,
        share: String,
    },
    /// There is no value.
    Missing { name: &'static str, about: String, why: String },
    /// A place that is passed between two steps.
    Border { name: &'static str },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Fill {
    Full,
    /// Beside the sum, not in it.
    Hatched,
    /// The sum of the others.
    Sum,
}
