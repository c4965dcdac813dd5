//! Pictures of a report. A terminal and Markdown have the tables beside them.

use serde::Serialize;

/// A color of the style sheet by its meaning; light and dark pages have their own.
pub type Color = &'static str;

/// Curves over one x.
#[derive(Clone, Debug, Serialize)]
pub struct Chart {
    /// Unique on the page.
    pub id: String,
    pub title: String,
    /// What a curve shows, for those who do not see it.
    pub about: String,
    pub x: Axis,
    pub y: Axis,
    pub height: u32,
    /// Charts of one name zoom together.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sync: Option<String>,
    pub xs: Vec<f64>,
    /// Parts of the x axis with a name.
    pub bands: Vec<Band>,
    pub series: Vec<Series>,
    /// What a reader must know of the curves.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<&'static str>,
}

#[derive(Clone, Debug, Serialize)]
pub struct Band {
    pub from: f64,
    pub to: f64,
    pub label: String,
    pub shaded: bool,
}

/// What an axis counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Axis {
    /// Messages a second.
    Rate,
    /// Seconds since the beginning of a trial.
    Run,
    /// Nanoseconds.
    Time,
    /// The same, logarithmic.
    LogTime,
    /// By the nines: 1 for 90 %, 2 for 99 %.
    Percentile,
}

#[derive(Clone, Debug, Serialize)]
pub struct Series {
    pub label: String,
    /// Series of one group are shown and hidden together.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub group: Option<String>,
    pub color: Color,
    pub look: Look,
    /// One an x.
    pub values: Vec<Option<f64>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Look {
    Dashed,
    Dots,
    Faint,
    Strong,
    Thin,
}

/// Groups of bars on one logarithmic scale.
#[derive(Clone, Debug, Serialize)]
pub struct Bars {
    pub unit: Axis,
    /// What the colors mean.
    pub key: Vec<(String, Color)>,
    /// A value that all are held against, and its name.
    pub reference: Option<(String, f64)>,
    pub groups: Vec<BarGroup>,
}

#[derive(Clone, Debug, Serialize)]
pub struct BarGroup {
    pub name: String,
    /// A word that is set off, and why.
    pub mark: Option<super::Cell>,
    pub bars: Vec<Bar>,
}

#[derive(Clone, Debug, Serialize)]
pub struct Bar {
    pub name: &'static str,
    /// What it means.
    pub about: &'static str,
    pub color: Color,
    /// `None` where there is no bar.
    pub value: Option<f64>,
    /// The interval of the value.
    pub ends: Option<(f64, f64)>,
    pub text: String,
}
