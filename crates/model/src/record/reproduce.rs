//! What `netfathom reproduce` produced: an experiment, its tables beside the original, and
//! whether the source's claims hold here.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Measurement;
use crate::plan::ReproducePlan;

/// What `netfathom reproduce` produced.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct ReproduceResult {
    /// What was asked for.
    pub plan: ReproducePlan,
    /// Its title, such as `Time of outgoing messages as the rate rises`.
    pub title: String,
    /// Where it comes from: author, year, what.
    pub source: String,
    /// What differs from the original, one sentence each.
    pub differences: Vec<String>,
    /// The measurements it is made of, each with its name within the experiment.
    pub runs: Vec<ReproducedRun>,
    /// The source's tables with our rows beside theirs.
    pub tables: Vec<BesideTable>,
    /// The same as pictures.
    pub figures: Vec<Figure>,
    /// What the source says, and whether it holds here.
    pub claims: Vec<Claim>,
}

/// One measurement of an experiment.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct ReproducedRun {
    /// Its name within the experiment, such as `outgoing`.
    pub name: String,
    /// What was measured.
    pub measurement: Measurement,
}

/// A table of the source, with rows of this machine beside its own.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct BesideTable {
    /// What it is about.
    pub title: String,
    /// The columns after the first, each with its unit, such as `mean, us`.
    pub columns: Vec<String>,
    /// The rows, those that are compared beside each other.
    pub rows: Vec<BesideRow>,
    /// What must be known to read it.
    pub note: Option<String>,
}

/// One row: of the source, or of this machine.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct BesideRow {
    /// Its source, such as `Borodin, platform 1` or `here`.
    pub who: String,
    /// Whether it was measured here.
    pub here: bool,
    /// One a column; `None` where there is no value.
    pub cells: Vec<Option<Cell>>,
}

/// One value.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Cell {
    /// In the unit of its column.
    pub value: f64,
    /// Half its 95 % interval, where there is one.
    pub half_width: Option<f64>,
    /// As the source prints it, where that is no number, such as `<0`.
    pub printed: Option<String>,
}

/// A picture: lines or points over a common axis.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Figure {
    /// What it shows.
    pub title: String,
    /// The horizontal axis with its unit; of bars the things that are compared.
    pub x: String,
    /// The vertical axis with its unit.
    pub y: String,
    /// How it is drawn.
    pub kind: FigureKind,
    /// What is drawn.
    pub series: Vec<FigureSeries>,
}

/// How a figure is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FigureKind {
    /// A line through the points.
    Lines,
    /// The same over a logarithmic vertical axis.
    LogLines,
    /// A bar a point, the points by their labels.
    Bars,
    /// The same over a logarithmic vertical axis.
    LogBars,
}

/// One line, or the bars of one color.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FigureSeries {
    /// Its source.
    pub name: String,
    /// Whether it was measured here.
    pub here: bool,
    /// In order.
    pub points: Vec<FigurePoint>,
}

/// One point or bar.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FigurePoint {
    /// Place on the horizontal axis; of bars their order.
    pub x: f64,
    /// Height.
    pub y: f64,
    /// Half its 95 % interval, where there is one.
    pub half_width: Option<f64>,
    /// What a bar stands for.
    pub label: Option<String>,
}

/// Something that is held against what was measured.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Claim {
    /// Who makes it.
    #[serde(rename = "whose")]
    pub origin: Origin,
    /// What it says.
    pub says: String,
    /// On what it rests there.
    pub there: String,
    /// What was found here.
    pub here: String,
    /// Whether it holds here.
    pub holds: Holds,
}

/// Who makes a claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "Whose")]
pub enum Origin {
    /// The source makes it.
    Source,
    /// This project asks it, for the source leaves it open.
    Ours,
}

/// Whether a claim holds here.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Holds {
    /// It does, beyond what trials differ among themselves.
    Yes,
    /// The opposite does.
    No,
    /// Inconclusive: the measurement decides neither.
    CannotTell,
}

named! { Holds: Yes = "holds", No = "does not hold", CannotTell = "inconclusive" }
