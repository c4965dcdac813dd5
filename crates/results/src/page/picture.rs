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
    /// The names of the x, where the axis is [`Axis::Named`].
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub names: Vec<String>,
    /// What an axis is of, where that is not always the same: [`Axis::Named`], [`Axis::Number`].
    #[serde(skip_serializing_if = "String::is_empty")]
    pub x_label: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub y_label: String,
    /// What the marks mean: name, color, shape.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub key: Vec<(String, String, &'static str)>,
    /// Parts of the x axis with a name.
    pub bands: Vec<Band>,
    /// Series stand on each other, the first on top.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub stacked: bool,
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

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Axis {
    /// Messages a second.
    #[default]
    Rate,
    LogRate,
    BitRate,
    LogBitRate,
    LogByteRate,
    Bytes,
    /// What has a name of its own at each place.
    Named,
    /// A number of what its label says.
    Number,
    LogNumber,
    /// Seconds since the beginning of a trial.
    Run,
    /// Trials in their order, from 1.
    Trial,
    /// Rounds of interleaved runs, from 1.
    Round,
    /// Nanoseconds.
    Time,
    /// The same, logarithmic; an x is its decimal logarithm.
    LogTime,
    /// By the nines: 1 for 90 %, 2 for 99 %.
    Percentile,
    /// A part of all, 0 to 1.
    Share,
    /// The natural logarithm of a multiple.
    Ratio,
}

#[derive(Clone, Debug, Default, Serialize)]
pub struct Series {
    pub label: String,
    /// Series of one group are shown and hidden together.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub group: Option<String>,
    pub color: Color,
    pub look: Look,
    /// Whether the line runs on over an x without a value.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub joined: bool,
    /// One an x.
    pub values: Vec<Option<f64>>,
    /// A mark and a whisker an x; empty where a line says it all.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub marks: Vec<Option<Mark>>,
}

impl Series {
    /// A curve, still without values.
    pub fn new(label: impl Into<String>, color: Color, look: Look) -> Self {
        Self { label: label.into(), color, look, ..Self::default() }
    }
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
    /// Bars of a histogram: each reaches to the next x.
    Area,
    Broad,
    Dashed,
    Dots,
    Faint,
    Layer,
    Points,
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

impl Look {
    /// Those of lines that stand back, unlike each other.
    pub const QUIET: [Self; 4] = [Self::Quiet, Self::QuietDashed, Self::QuietDotted, Self::QuietDashdot];
}

/// Groups of bars with their intervals on one scale.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Bars {
    #[serde(skip_serializing_if = "String::is_empty")]
    pub title: String,
    pub unit: Axis,
    /// Bars begin at zero and may lie below it; otherwise the scale is logarithmic.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub from_zero: bool,
    pub key: Vec<(String, Color)>,
    /// A value that all are held against, and its name.
    pub reference: Option<(String, f64)>,
    /// What the ends of bars are, unless intervals of 95 %.
    #[serde(skip_serializing_if = "str::is_empty")]
    pub whiskers: &'static str,
    pub groups: Vec<BarGroup>,
}

#[derive(Clone, Debug, Serialize)]
pub struct BarGroup {
    pub name: String,
    /// A word that is set off, and why.
    pub mark: Option<super::Cell>,
    pub bars: Vec<Bar>,
}

#[derive(Clone, Debug, Default, Serialize)]
pub struct Bar {
    pub name: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub about: String,
    pub color: Color,
    /// `None` where there is no bar.
    pub value: Option<f64>,
    /// The interval of the value.
    pub ends: Option<(f64, f64)>,
    /// What is nearer to zero than this would not be significant.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub band: Option<f64>,
    /// Whether chance alone could have made it.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub is_chance: bool,
    pub text: String,
}
