//! Pictures of a report. A terminal and Markdown have the tables beside them.

use serde::Serialize;

/// A color of the style sheet by its meaning; light and dark pages have their own.
pub type Color = &'static str;

/// Curves over one x.
#[derive(Clone, Debug, Default, Serialize)]
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
    /// The names of the x, and of what they are names, where the axis is [`Axis::Named`].
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub names: Vec<String>,
    #[serde(skip_serializing_if = "str::is_empty")]
    pub named: &'static str,
    /// What the marks mean: name, color, shape.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub key: Vec<(String, String, &'static str)>,
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
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Axis {
    /// Messages a second.
    #[default]
    Rate,
    BitRate,
    LogBitRate,
    Bytes,
    /// What has a name of its own at each place.
    Named,
    /// Seconds since the beginning of a trial.
    Run,
    /// Nanoseconds.
    Time,
    /// The same, logarithmic.
    LogTime,
    /// By the nines: 1 for 90 %, 2 for 99 %.
    Percentile,
}

#[derive(Clone, Debug, Default, Serialize)]
pub struct Series {
    pub label: String,
    /// Series of one group are shown and hidden together.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub group: Option<String>,
    pub color: Color,
    pub look: Look,
    /// One an x.
    pub values: Vec<Option<f64>>,
    /// A mark and a whisker an x; empty where a line says it all.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub marks: Vec<Option<Mark>>,
}

#[derive(Clone, Debug, Serialize)]
pub struct Mark {
    pub color: String,
    pub shape: &'static str,
    /// The ends of its interval.
    pub ends: (f64, f64),
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Look {
    Dashed,
    Dots,
    Faint,
    #[default]
    Strong,
    Thin,
    Steps,
    /// Lines that marks stand on.
    Quiet,
    QuietDashed,
    QuietDotted,
    QuietDashdot,
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
